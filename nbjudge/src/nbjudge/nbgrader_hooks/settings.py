"""What a course may set about running and judging, in `nbgrader_config.py` or on nbgrader's command line."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool, Dict, Enum, Float, Integer, List, Unicode

from nbjudge.authoring.exercise import CHANGED_ARGUMENTS
from nbjudge.authoring.limits import MEBIBYTE, Limits
from nbjudge.course.course import Assignment
from nbjudge.course.generated import BUILD_COMMAND
from nbjudge.errors import CourseError
from nbjudge.nbgrader_hooks import execute_settings
from nbjudge.nbgrader_hooks.protected_paths import protected_paths
from nbjudge.sandbox.bubblewrap import refusal, shown_to_students
from nbjudge.sandbox.exposed_paths import readable

WITHOUT_SANDBOX = (
    "To grade work you trust without a sandbox, say so: --RunAndJudge.sandbox=False (or "
    "c.RunAndJudge.sandbox = False in nbgrader_config.py)."
)
NO_SANDBOX = (
    "GRADING WITHOUT THE SANDBOX: student code runs as you, and can read and change whatever you can: "
    "the checks, the solutions, the gradebook."
)


class JudgingSettings(NbGraderPreprocessor):  # type: ignore[misc]
    """The settings of `RunAndJudge`."""

    sandbox = Bool(
        True,
        help="Whether student code runs inside bubblewrap. Without it, it runs as the person who grades, "
        "and can read and change whatever that person can.",
    ).tag(config=True)
    modules = List(
        Unicode(),
        help="Modules that the sandbox imports once for all notebooks, besides those that cells import.",
    ).tag(config=True)
    helpers = List(
        Unicode(),
        help="Modules of the course's own that notebooks import (a_course.plots): the sandbox shows these, "
        "and of their packages nothing else.",
    ).tag(config=True)
    kernel_names = Dict(
        Unicode(),
        help="Kernels that notebooks name and this machine does not have, and those that run in their place, "
        'such as {"rt_grader": "python3"}.',
    ).tag(config=True)
    build_command = Unicode(
        BUILD_COMMAND,
        help="The command that enters an assignment into the gradebook, as messages name it.",
    ).tag(config=True)
    cell_seconds = Float(
        30, help="Seconds that one cell may run; by default `c.Execute.timeout`, where a course has set that."
    ).tag(config=True)
    answer_seconds = Float(10, help="Seconds that the answers to one case group may take.").tag(config=True)
    notebook_seconds = Float(300, help="Seconds that a whole notebook may take.").tag(config=True)
    output_mebibytes = Integer(16, help="How much a notebook may show.").tag(config=True)
    memory_mebibytes = Integer(3072, help="Memory of a notebook (sandbox only).").tag(config=True)
    disk_mebibytes = Integer(512, help="Files that a notebook may write (sandbox only).").tag(config=True)
    file_mebibytes = Integer(256, help="The largest of these files (sandbox only).").tag(config=True)
    processes = Integer(64, help="Processes and threads of a notebook (sandbox only).").tag(config=True)
    open_files = Integer(512, help="Open files of a process (sandbox only).").tag(config=True)

    grade_despite_failing_cells = Bool(
        False,
        help="Whether to grade an assignment with a failing cell of its own although its solution loses "
        "points in an automatically graded cell, with a warning: right work may get 0 there.",
    ).tag(config=True)
    changed_arguments = Enum(
        CHANGED_ARGUMENTS,
        CHANGED_ARGUMENTS[0],
        help="What it costs that an answer changes an argument it is given, in exercises that do not say it: "
        '"remark" costs nothing and is said in feedback, "one group" costs the first case group that shows '
        'the change and whose values are right, "all groups" every group that shows it. Read from '
        "nbgrader_config.py, for grading, the tutor and `nbjudge try` alike.",
    ).tag(config=True)

    def __init__(self, **kwargs: Any) -> None:
        _refuse_unknown_settings(type(self), kwargs.get("config") or {})
        super().__init__(**kwargs)

    def modules_of(self, assignment: Assignment) -> tuple[str, ...]:
        return (*assignment.modules, *self.modules)

    @property
    def limits(self) -> Limits:
        """The course's limits; an assignment may have its own."""
        limits = Limits(
            cell=self.cell_seconds,
            answer=self.answer_seconds,
            notebook=self.notebook_seconds,
            output=self.output_mebibytes * MEBIBYTE,
            memory=self.memory_mebibytes * MEBIBYTE,
            disk=self.disk_mebibytes * MEBIBYTE,
            file=self.file_mebibytes * MEBIBYTE,
            processes=self.processes,
            open_files=self.open_files,
        )
        return execute_settings.with_execute_timeouts(limits, self.config, self._own_settings)

    @property
    def _own_settings(self) -> Mapping[str, Any]:
        """The settings of this class that the course has set."""
        sections = (self.config.get(each.__name__, {}) for each in type(self).mro())
        return {name: value for section in sections for name, value in section.items()}

    def refuse_other_changed_arguments(self, assignment: Assignment) -> None:
        """Raise CourseError where `changed_arguments` is set elsewhere than the tutor reads it."""
        chosen = self.config.RunAndJudge.get("changed_arguments", assignment.course.changed_arguments)
        if chosen != assignment.course.changed_arguments:
            raise CourseError(
                f"RunAndJudge.changed_arguments is {chosen!r} for this run, and in nbgrader_config.py it is "
                f"{assignment.course.changed_arguments!r}. Set it there: the tutor reads it, too."
            )

    def refuse_without_sandbox(self) -> None:
        """No sandbox, no grading, unless that was asked for; then it is said at every run."""
        reason = refusal() if self.sandbox else None
        if reason is not None:
            raise SystemExit(f"Nothing was graded. {reason} {WITHOUT_SANDBOX}")
        if not self.sandbox:
            self.log.warning(NO_SANDBOX)
        for remark in execute_settings.remarks(self.limits, self.config, self._own_settings):
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
            raise SystemExit(f"Nothing was graded. {reason}")


def _refuse_unknown_settings(owner: type[JudgingSettings], config: Mapping[str, Any]) -> None:
    """A misspelt setting would be a default that nobody chose."""
    known = owner.class_trait_names(config=True)
    for section in (owner.__name__, JudgingSettings.__name__):
        for name in config.get(section, {}):
            if name not in known:
                near, names = get_close_matches(name, known, 1), ", ".join(sorted(known))
                advice = f"Did you mean {near[0]}?" if near else f"There are {names}."
                raise SystemExit(
                    f"Nothing was graded. nbjudge has no setting c.{section}.{name} (nbgrader_config.py or "
                    f"command line). {advice}"
                )
