"""Lesson 8, the capstone: a text classifier, trained, measured and put to use."""
