"""Moved to `nbjudge.plugin`."""

from attention_lab.moved import say_moved
from nbjudge.plugin import Rebuild, RunAndJudge, SubmissionExporter

__all__ = ["Rebuild", "RunAndJudge", "SubmissionExporter"]
say_moved("attention_lab.grading.nbgrader_plugin", "nbjudge.plugin")
