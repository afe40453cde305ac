"""The grader. `check` is all that a lesson's hidden region needs of it."""

from attention_lab.grading.check import check

__all__ = ["check"]
