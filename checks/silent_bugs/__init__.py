"""Lesson 12: broken attention functions, and the check that finds them."""
