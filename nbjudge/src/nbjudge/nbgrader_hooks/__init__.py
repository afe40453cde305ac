"""Where the grader meets nbgrader: the classes that `nbgrader_config.py` names."""

from nbjudge.nbgrader_hooks.preprocessors import CheckMetadata, MergeSubmission, RunAndJudge
from nbjudge.nbgrader_hooks.submission_exporter import SubmissionExporter

__all__ = ["CheckMetadata", "MergeSubmission", "RunAndJudge", "SubmissionExporter"]
