"""Lesson 5, multi-head attention: several heads side by side."""
