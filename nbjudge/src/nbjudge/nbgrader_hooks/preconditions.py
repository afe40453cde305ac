"""What must be true before anything is graded: a sandbox that hides the course, and a sound assignment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import Exchange
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets.config import Config

from nbjudge.course.configuration import check_settings, config_folders, read_config
from nbjudge.course.course import Assignment
from nbjudge.course.folders import folders_of
from nbjudge.course.gradebook import not_generated_reason, sqlite_file
from nbjudge.errors import CourseError, GradingStoppedError, SettingsError
from nbjudge.sandbox.bubblewrap import refusal, shown_to_students
from nbjudge.sandbox.exposed_paths import readable
from nbjudge.settings import GradingSettings, execute_remarks

WITHOUT_SANDBOX = (
    "To grade work you trust without a sandbox, say so: --RunAndJudge.sandbox=False (or "
    "c.RunAndJudge.sandbox = False in nbgrader_config.py)."
)
NO_SANDBOX = (
    "GRADING WITHOUT THE SANDBOX: student code runs as you, and can read and change whatever you can: "
    "the checks, the solutions, the gradebook."
)


class JudgingSettings(GradingSettings, NbGraderPreprocessor):  # type: ignore[misc]
    """The options of `RunAndJudge`, and what must hold before anything is graded with them."""

    parent: Any  # nbgrader's exporter

    def __init__(self, **kwargs: Any) -> None:
        try:
            check_settings(kwargs.get("config") or Config())
        except SettingsError as error:
            raise GradingStoppedError(f"Nothing was graded. {error}") from error
        super().__init__(**kwargs)

    def modules_of(self, assignment: Assignment) -> tuple[str, ...]:
        return (*assignment.modules, *self.modules)

    def refuse_other_changed_arguments(self, assignment: Assignment) -> None:
        """Raise CourseError where `changed_arguments` is set elsewhere than the tutor reads it."""
        chosen = self.config.get("RunAndJudge", {}).get(
            "changed_arguments", assignment.course.changed_arguments
        )
        if chosen != assignment.course.changed_arguments:
            raise CourseError(
                f"RunAndJudge.changed_arguments is {chosen!r} for this run, and in nbgrader_config.py it is "
                f"{assignment.course.changed_arguments!r}. Set it there: the tutor reads it, too."
            )

    def refuse_without_sandbox(self) -> None:
        """No sandbox, no grading, unless that was asked for; then it is said at every run."""
        reason = refusal() if self.sandbox else None
        if reason is not None:
            raise GradingStoppedError(f"Nothing was graded. {reason} {WITHOUT_SANDBOX}")
        if not self.sandbox:
            self.log.warning(NO_SANDBOX)
        for remark in execute_remarks(self.limits, self.config):
            self.log.warning(remark)

    def refuse_readable_paths(self, coursedir: CourseDirectory) -> None:
        """No grading where the sandbox would show the course, its exchange or its settings to students."""
        if not self.sandbox:
            return
        try:
            reason = readable(protected_paths(coursedir, self.config), shown_to_students(self.helpers))
        except CourseError as error:  # a helper that is not there
            reason = str(error)
        if reason is not None:
            raise GradingStoppedError(f"Nothing was graded. {reason}")


def protected_paths(coursedir: Any, config: Config) -> list[tuple[str, Path]]:
    """Those of the course that nbgrader has open, each with what a person would call it.

    Raises CourseError where a configuration does not load.
    """
    root = Path(coursedir.root)
    paths = [("The course", root)]
    # Any of the folders may be a link, or lie elsewhere.
    paths += [(f"The course's folder {step}", path) for step, path in folders_of(coursedir).by_step().items()]
    gradebook = sqlite_file(coursedir.db_url)
    if gradebook is not None:
        paths.append(("The gradebook", root / gradebook))
    files = (file for folder in config_folders(root) for file in sorted(folder.glob("*_config.*")))
    paths += [("The configuration", file) for file in files if file.suffix in (".py", ".json")]
    whole = read_config(root)
    whole.merge(config)  # such as what the command line says
    exchange = Exchange(config=whole)
    return [*paths, ("The exchange", Path(exchange.root)), ("The exchange's cache", Path(exchange.cache))]


def refuse_not_generated(coursedir: Any, config: Any) -> None:
    """Stop the run if the assignment is not in the gradebook; nbgrader would repeat that for each student."""
    try:
        reason = not_generated_reason(folders_of(coursedir), coursedir.assignment_id, config)
    except CourseError as error:
        reason = str(error)
    if reason is not None:
        raise GradingStoppedError(f"Nothing was graded. {reason}")


def refuse_broken_assignment(assignment: Assignment) -> None:
    """Stop the run before the first student if the author made a mistake in the assignment."""
    try:
        problems = assignment.problems
    except CourseError as error:
        problems = [str(error)]
    if problems:
        raise GradingStoppedError(f"Nothing was graded. {problems[0]}")
