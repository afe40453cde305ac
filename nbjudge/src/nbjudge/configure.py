"""The one line by which a course is graded with this package: `configure(c)` in its nbgrader_config.py."""

from __future__ import annotations

from typing import Any

# What nbgrader runs over a submission by default, with its own two steps exchanged. They are named, not
# imported: code that only wants to know where the folders are need not wait for them.
SANITIZE = ("nbgrader.preprocessors.OverwriteKernelspec", "nbjudge.nbgrader_hooks.CheckMetadata")
AUTOGRADE = (
    "nbgrader.preprocessors.IgnorePattern",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbjudge.nbgrader_hooks.CheckMetadata",
)
MERGE, RUN = "nbjudge.nbgrader_hooks.MergeSubmission", "nbjudge.nbgrader_hooks.RunAndJudge"
# By the last word of their names: done by this package's own two steps.
REPLACED = ("ClearOutput", "DeduplicateIds", "OverwriteCells", "Execute", "ClearMetadataPreprocessor")


def configure(config: Any) -> None:
    """Have a course's submissions graded in the sandbox, judged from outside, and fed back without scripts.

    Preprocessors of the course's own stay, in their order, behind the step that this package puts first. Call
    it last, or set what you want otherwise after it.

    Parameters
    ----------
    config
        The configuration that `get_config()` returns.
    """
    autograde = config.Autograde
    autograde.exporter_class = "nbjudge.nbgrader_hooks.SubmissionExporter"
    autograde.sanitize_preprocessors = _with_first(MERGE, autograde.get("sanitize_preprocessors"), SANITIZE)
    autograde.autograde_preprocessors = _with_first(RUN, autograde.get("autograde_preprocessors"), AUTOGRADE)
    config.GenerateFeedback.exporter_class = "nbjudge.feedback.FeedbackExporter"


def _with_first(first: str, chosen: Any, default: tuple[str, ...]) -> list[Any]:
    preprocessors = chosen if isinstance(chosen, list) else default
    return [first, *(each for each in preprocessors if each != first and _last_word(each) not in REPLACED)]


def _last_word(preprocessor: Any) -> str:
    name = preprocessor if isinstance(preprocessor, str) else preprocessor.__name__
    return str(name).rpartition(".")[2]
