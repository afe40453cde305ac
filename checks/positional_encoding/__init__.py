"""Lesson 7, positional encoding: telling tokens their positions."""
