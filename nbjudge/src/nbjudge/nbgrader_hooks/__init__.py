"""Where the grader meets nbgrader: the classes that `nbgrader_config.py` names."""

from nbjudge.nbgrader_hooks.exporter import SubmissionExporter
from nbjudge.nbgrader_hooks.preprocessors import MergeSubmission, RunAndJudge

__all__ = ["MergeSubmission", "RunAndJudge", "SubmissionExporter"]
