"""An instructor's decisions on points: stored in `regrades/ASSIGNMENT.json`, applied at each grading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
from nbformat import NotebookNode

from nbjudge.atomic_files import write_atomically
from nbjudge.cell_metadata import recorded_answer
from nbjudge.course.course import Assignment
from nbjudge.course.folders import CourseFolders
from nbjudge.errors import CourseError
from nbjudge.judge.verdict import Points, Regrade, Verdict
from nbjudge.record.graded_cell import read_verdict, write_regrade


@dataclass(frozen=True)
class Decision:
    """What one answer to one exercise is worth, and why."""

    exercise: str
    answer: str  # as `same_answer` knows it
    student: str  # whose answer it was that was looked at
    points: Points
    reason: str
    day: str
    groups: Mapping[str, bool]  # whether each case group agreed when it was decided

    def holds_for(self, answer: str, student: str, verdict: Verdict) -> bool:
        """Whether an answer gets these points: the same code and, of another student, the same verdict.

        Work that could not be run (`answer` is empty) has no code to compare: it is no one else's.
        """
        if (self.exercise, self.answer) != (verdict.exercise, answer):
            return False
        outcomes = (
            self.groups.get(group.name, group.is_earned) == group.is_earned for group in verdict.groups
        )
        return student == self.student or (answer != "" and all(outcomes))


def decision_for(
    decisions: Iterable[Decision], answer: str, student: str, verdict: Verdict
) -> Decision | None:
    """What was decided for an answer; a decision about this very student comes first."""
    holding = [each for each in decisions if each.holds_for(answer, student, verdict)]
    return next((each for each in holding if each.student == student), next(iter(holding), None))


def read_decisions(folders: CourseFolders, assignment: str) -> list[Decision]:
    """Those of an assignment. Raises CourseError where the file is there and cannot be read."""
    file = folders.decisions(assignment)
    try:
        return msgspec.json.decode(file.read_bytes(), type=list[Decision])
    except FileNotFoundError:
        return []
    except (OSError, msgspec.DecodeError) as error:
        raise CourseError(
            f"The regrades in {file} cannot be read ({error}): fix the file or remove it."
        ) from error


def write_decisions(folders: CourseFolders, assignment: str, decisions: Sequence[Decision]) -> None:
    """Write them in place of those that are there; without any the file goes."""
    file = folders.decisions(assignment)
    try:
        if decisions:
            file.parent.mkdir(exist_ok=True)
            write_atomically(file, msgspec.json.format(msgspec.json.encode(decisions)) + b"\n")
        else:
            file.unlink(missing_ok=True)
    except OSError as error:
        raise CourseError(f"{file} cannot be written ({error.strerror}): nothing was changed.") from error


def apply_regrades(notebook: NotebookNode, assignment: Assignment, student: str) -> dict[str, float]:
    """Give the points that were decided to the answers of a student's graded notebook, which is changed.

    Returns the points by exercise, of the exercises that a decision changed. Raises CourseError if the
    assignment's decisions cannot be read.
    """
    decisions = read_decisions(assignment.course.folders, assignment.folder)
    given = {}
    for cell in notebook.cells:
        answer, verdict = recorded_answer(cell), read_verdict(cell)
        if verdict is None:
            continue
        decision = decision_for(decisions, answer, student, verdict)
        if decision is not None:
            points = min(decision.points, verdict.max_points)  # the exercise may be worth less by now
            regraded = write_regrade(cell, Regrade(points, decision.reason, decision.day))
            given[regraded.exercise] = regraded.points
    return given
