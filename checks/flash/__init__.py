"""Lesson 11, attention without the matrix: parts, their merging, and attention block by block."""
