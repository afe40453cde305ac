"""What one grader made of a set of assignments, and how two graders differ cell by cell."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

VERDICTS = ("equal", "better", "WORSE")  # for the student

# By cell: points, most points, whether someone has to mark it; and nbgrader's comments by cell.
Scores = dict[str, dict[str, Any]]

DELETED = (
    "The student deleted this test cell. Stock nbgrader leaves it to a person; nbjudge runs the course's "
    "own cell."
)
STDERR = "Stock nbgrader gives 0 for a warning or other text on stderr; nbjudge does not."
NO_GRADE = "Stock nbgrader gave up on this student and has no graded notebook."


@dataclass(frozen=True)
class Graded:
    """What one grader made of all the assignments it was given, in the folder `root`."""

    root: Path

    @cached_property
    def report(self) -> dict[str, Any]:
        return json.loads((self.root / "report.json").read_text())

    @property
    def scores(self) -> Scores:
        """By "assignment student notebook"."""
        return self.report["scores"]

    @property
    def refused(self) -> list[str]:
        """Whose notebooks were graded only after `nbgrader update`, as "assignment student"."""
        return self.report["refused"]

    def notebook(self, work: str) -> dict[str, Any]:
        """The graded notebook of an "assignment student notebook" whose names hold no spaces."""
        assignment, student, name = work.split()
        return json.loads(self.file(assignment, student, name).read_text())

    def file(self, assignment: str, student: str, name: str) -> Path:
        """The path of a graded notebook."""
        return self.root / "autograded" / student / assignment / f"{name}.ipynb"


@dataclass(frozen=True)
class Comparison:
    """One graded cell of one student: `verdict` is "equal", "better" or "WORSE" (for the student)."""

    work: str
    cell: str
    stock: tuple[float | None, bool] | None  # points, and whether a person has to mark it
    ours: tuple[float | None, bool] | None
    verdict: str
    reason: str


def compare(stock: Graded, ours: Graded, accepted: Mapping[str, str] | None = None) -> list[Comparison]:
    """Compare every graded cell of two runs over the same class of six.

    Parameters
    ----------
    stock, ours
        The class graded by stock nbgrader and by nbjudge.
    accepted
        Reasons for differences that are known, by a regular expression that matches
        "assignment student notebook cell".

    Returns
    -------
    list of Comparison
        One for each cell that at least one of the graders has, in the gradebook's order. A difference
        without a known reason has an empty `reason`.
    """
    return [
        _compared(stock, ours, work, cell, accepted or {})
        for work in dict.fromkeys([*stock.scores, *ours.scores])
        for cell in dict.fromkeys([*_grades(stock, work), *_grades(ours, work)])
    ]


def _compared(stock: Graded, ours: Graded, work: str, cell: str, accepted: Mapping[str, str]) -> Comparison:
    before, after = (_grade(each, work, cell) for each in (stock, ours))
    verdict = _verdict(before, after)
    reason = "" if verdict == "equal" else _reason(stock, ours, work, cell, before)
    for pattern, listed in accepted.items():
        if verdict != "equal" and re.search(pattern, f"{work} {cell}"):
            reason = listed
    return Comparison(work, cell, before, after, verdict, reason)


def _grades(graded: Graded, work: str) -> dict[str, Any]:
    return graded.scores.get(work, {}).get("grades", {})


def _grade(graded: Graded, work: str, cell: str) -> tuple[float | None, bool] | None:
    grade = _grades(graded, work).get(cell)
    return None if grade is None else (grade[0], bool(grade[2]))


def _verdict(stock: tuple[float | None, bool] | None, ours: tuple[float | None, bool] | None) -> str:
    if stock == ours:
        return "equal"
    if ours is None:
        return "WORSE"
    if stock is None:
        return "better"
    points = ((ours[0] or 0) - (stock[0] or 0), stock[1] - ours[1])
    return "better" if points > (0, 0) else "WORSE"


def _reason(
    stock: Graded, ours: Graded, work: str, cell: str, before: tuple[float | None, bool] | None
) -> str:
    about = stock.scores.get(work) or ours.scores[work]
    file = stock.file(about["assignment"], about["student"], about["notebook"])
    if before is None or not file.exists():
        return NO_GRADE
    if "deleted-test" in about["student"] and before[1]:
        return DELETED
    if not before[0] and _has_stderr(file, cell):
        return STDERR
    return ""


def _has_stderr(file: Path, cell_name: str) -> bool:
    for cell in json.loads(file.read_text())["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == cell_name:
            outputs = cell.get("outputs", [])
            return any(output.get("name") == "stderr" for output in outputs) and not any(
                output["output_type"] == "error" for output in outputs
            )
    return False
