"""Lesson 13: your layers inside a real model."""
