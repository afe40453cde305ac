"""Lesson 3, the mask: who may attend to whom."""
