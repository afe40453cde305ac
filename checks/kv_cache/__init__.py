"""Lesson 9, one token at a time: keys and values that are kept, generation with them, and fewer of them."""
