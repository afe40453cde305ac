"""The page a student gets back: nbgrader's feedback, made from the graded notebook.

Named in `nbgrader_config.py` as `nbjudge.feedback.FeedbackExporter`. The page is one
file without scripts that asks nothing of any network.
"""

from nbjudge.feedback.feedback_exporter import FeedbackExporter

__all__ = ["FeedbackExporter"]
