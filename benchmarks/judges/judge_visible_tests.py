"""The visible tests of the course's own lessons as a judge: what students can run before they hand in."""

from __future__ import annotations

import contextlib
from types import ModuleType
from typing import Any

from nbconvert.exporters.exporter import ResourcesDict
from nbgrader.preprocessors import ClearHiddenTests

from answers import all_exercises, course
from judging import Opinion
from nbjudge.course import Assignment, read_config, read_notebook
from nbjudge.course.loading import as_python, in_folder, without_windows
from workers import WorkerError, run_in_child


class VisibleTestsJudge:
    """The visible part of each graded cell, run after the lesson's set-up cell and the answer."""

    name = "visible tests"

    def __init__(self) -> None:
        self._course = course()
        self.exercises = all_exercises()
        self._clear = ClearHiddenTests(config=read_config(self._course.root))
        self._spaces: dict[str, dict[str, Any]] = {}

    def judge(self, exercise: str, code: str) -> Opinion:
        """Run the answer and its visible test in a child process; the message is that of the test."""
        assignment, _ = self._course.exercise(exercise)
        space = self._after_set_up(assignment)
        try:
            message = run_in_child(_test, assignment, space, code, self._tests(assignment)[exercise])
        except WorkerError as error:
            message = str(error)
        return Opinion(not message, message)

    def _after_set_up(self, assignment: Assignment) -> dict[str, Any]:
        """The names that the set-up cell binds. It is the course's own code and runs in this process."""
        if assignment.name not in self._spaces:
            space = vars(ModuleType("__main__"))
            for cell in read_notebook(assignment.source_path).cells:
                mark = cell.metadata.get("nbgrader", {})
                if mark.get("grade_id") == "setup" or mark.get("solution") and cell.cell_type == "code":
                    with in_folder(assignment.source_path.parent), without_windows():
                        exec(compile(as_python(cell.source), "cell", "exec", dont_inherit=True), space)
            self._spaces[assignment.name] = space
        return self._spaces[assignment.name]

    def _tests(self, assignment: Assignment) -> dict[str, str]:
        """The visible part of each graded cell, by the name of its exercise."""
        tests = {}
        for cell in read_notebook(assignment.source_path).cells:
            name = assignment.exercise_of_cell.get(cell.metadata.get("nbgrader", {}).get("grade_id", ""))
            if name:
                self._clear.preprocess_cell(cell, ResourcesDict(), 0)
                tests[name] = as_python(cell.source)
        return tests


def _test(assignment: Assignment, space: dict[str, Any], code: str, test: str) -> str:
    """In the child: the sentence that the test stops at; empty if it passes."""
    with in_folder(assignment.source_path.parent), contextlib.suppress(SystemExit):
        try:
            exec(compile(code, "<answer>", "exec", dont_inherit=True), space)
            exec(compile(test, "<test>", "exec", dont_inherit=True), space)
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:2000]
        return ""
    return "The answer ended the process."
