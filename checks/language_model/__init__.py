"""Lesson 14 · Language model."""
