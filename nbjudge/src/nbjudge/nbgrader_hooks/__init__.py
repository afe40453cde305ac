"""Where the grader meets nbgrader: the classes that `nbgrader_config.py` names."""

from nbjudge.nbgrader_hooks.plugins import CheckMetadata, MergeSubmission, RunAndJudge, SubmissionExporter

__all__ = ["CheckMetadata", "MergeSubmission", "RunAndJudge", "SubmissionExporter"]
