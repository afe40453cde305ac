"""Moved to `nbjudge.feedback`."""

from attention_lab.moved import say_moved
from nbjudge.feedback import FeedbackExporter

__all__ = ["FeedbackExporter"]
say_moved("attention_lab.feedback.exporter", "nbjudge.feedback")
