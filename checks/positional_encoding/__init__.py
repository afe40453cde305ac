"""Lesson 7, positional encoding: telling tokens where they stand."""
