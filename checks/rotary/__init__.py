"""Lesson 10, positions that turn: rotary angles, the two layouts, and attention with a cache."""
