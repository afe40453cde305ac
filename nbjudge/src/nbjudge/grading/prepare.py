"""What must be right before a notebook of a course is run: the same for a class and for a single file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nbgrader.exchange.default import Exchange
from traitlets.config import Config

from nbjudge.course.assignment_forms import template_of
from nbjudge.course.configuration import config_folders, read_config
from nbjudge.course.course import Assignment, Course
from nbjudge.course.gradebook import course_directory, other_cells_reason, sqlite_file
from nbjudge.errors import CourseError, SandboxError
from nbjudge.sandbox.bubblewrap import readable, refusal, shown_to_students
from nbjudge.settings import GradingSettings, execute_remarks

WITHOUT_SANDBOX = (
    "To grade work you trust without a sandbox, say so: --RunAndJudge.sandbox=False (or "
    "c.RunAndJudge.sandbox = False in nbgrader_config.py)."
)
NO_SANDBOX = (
    "GRADING WITHOUT THE SANDBOX: student code runs as you, and can read and change whatever you can: "
    "the checks, the solutions, the gradebook."
)


def prepare(course: Course, settings: GradingSettings) -> list[str]:
    """Refuse to grade where student code could not be run, or could read what it must not.

    Returns what the person who grades should know, in sentences. Raises SandboxError if there is no
    sandbox on this machine and the course requires one; CourseError if it would show the course, its
    exchange or its settings to students, or if an option differs from what the tutor reads.
    """
    _refuse_other_changed_arguments(course, settings)
    reason = refusal() if settings.sandbox else None
    if reason is not None:
        raise SandboxError(f"{reason} {WITHOUT_SANDBOX}")
    if settings.sandbox:
        reason = readable(
            protected_paths(course, settings.config), shown_to_students(settings.exposed_modules)
        )
        if reason is not None:
            raise CourseError(reason)
    return [*([] if settings.sandbox else [NO_SANDBOX]), *execute_remarks(settings.limits, settings.config)]


def refuse_problems(assignments: Iterable[Assignment]) -> None:
    """Raise CourseError where the author must fix an assignment before a student can be graded."""
    for assignment in assignments:
        if assignment.problems:
            raise CourseError(assignment.problems[0])


def refuse_other_cells(assignments: Iterable[Assignment], config: Config) -> None:
    """Raise CourseError where the gradebook has other cells than a source, so that grades cannot be kept."""
    for each in assignments:
        form = template_of(each, config)
        reason = other_cells_reason(each.course.folders, each.folder, each.name, form, config)
        if reason is not None:
            raise CourseError(reason)


def protected_paths(course: Course, config: Config) -> list[tuple[str, Path]]:
    """Those of a course that no student may read, each with what a person would call it.

    Raises CourseError where a configuration does not load.
    """
    root = course.root
    paths = [("The course", root)]
    # Any of the folders may be a link, or lie elsewhere.
    paths += [(f"The course's folder {step}", path) for step, path in course.folders.by_step().items()]
    gradebook = sqlite_file(course_directory(root, config).db_url)
    if gradebook is not None:
        paths.append(("The gradebook", root / gradebook))
    files = (file for folder in config_folders(root) for file in sorted(folder.glob("*_config.*")))
    paths += [("The configuration", file) for file in files if file.suffix in (".py", ".json")]
    whole = read_config(root)
    whole.merge(config)  # such as what the command line says
    exchange = Exchange(config=whole)
    return [*paths, ("The exchange", Path(exchange.root)), ("The exchange's cache", Path(exchange.cache))]


def _refuse_other_changed_arguments(course: Course, settings: GradingSettings) -> None:
    """Raise CourseError where `changed_arguments` is set elsewhere than the tutor reads it."""
    if settings.changed_arguments != course.changed_arguments:
        raise CourseError(
            f"RunAndJudge.changed_arguments is {settings.changed_arguments!r} for this run, and in "
            f"nbgrader_config.py it is {course.changed_arguments!r}. Set it there: the tutor reads it, too."
        )
