"""The limits of lesson 12: one group calls the answer with two dozen functions."""

from attention_lab.authoring import Limits

LIMITS = Limits(cell=60, answer=30, notebook=600)
