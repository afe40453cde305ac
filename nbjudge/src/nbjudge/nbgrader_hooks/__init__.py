"""Where the grader meets nbgrader: the classes that `nbgrader_config.py` names."""

from nbjudge.nbgrader_hooks.exporter import SubmissionExporter
from nbjudge.nbgrader_hooks.preprocessors import CheckMetadata, MergeSubmission, RunAndJudge

__all__ = ["CheckMetadata", "MergeSubmission", "RunAndJudge", "SubmissionExporter"]
