"""Attention Lab: a notebook course on self-attention, and the grader that judges it."""

__version__ = "0.1.0"
