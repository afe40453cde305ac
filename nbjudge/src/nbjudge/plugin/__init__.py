"""Where the grader meets nbgrader: the classes that `nbgrader_config.py` names."""

from nbjudge.plugin.exporter import SubmissionExporter
from nbjudge.plugin.preprocessors import Rebuild, RunAndJudge

__all__ = ["Rebuild", "RunAndJudge", "SubmissionExporter"]
