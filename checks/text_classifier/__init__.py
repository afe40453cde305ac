"""Lesson 8: a text classifier around any attention layer, and its training."""
