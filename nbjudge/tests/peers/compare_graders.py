"""Grade assignments with stock nbgrader and with nbjudge, and see how the two differ cell by cell."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

DRIVER = Path(__file__).parent / "grade_course.py"
STOCK = "c = get_config()\n"
OURS = f"{STOCK}from nbjudge import configure\n\nconfigure(c)\n"
LOG = "grading.log"
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
    """Compare every graded cell that at least one of two runs over the same class has.

    `accepted` has reasons for differences that are known, by a regular expression that matches "assignment
    student notebook cell". A difference without a known reason has an empty `reason`.
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


def run_both(
    folder: Path, chosen: Sequence[str], configs: Mapping[str, str] | None = None
) -> dict[str, Graded]:
    """Grade what `grade_course.py` knows as `chosen`, in folders of the graders' names, "stock" and "ours".

    `configs` are their nbgrader_config.py, by default those of a course before and after it adopts nbjudge.
    Raises RuntimeError when a grader's process fails; the message holds the end of its log.
    """
    configs = configs or {"stock": STOCK, "ours": OURS}
    runs = {name: _start(folder / name, name, chosen, config) for name, config in configs.items()}
    for name, run in runs.items():
        if run.wait():
            log = (folder / name / LOG).read_text(errors="replace")
            raise RuntimeError(f"Grading with {name} failed; its log ends with:\n{log[-3000:]}")
    return {name: Graded(folder / name) for name in configs}


def _start(root: Path, grader: str, chosen: Sequence[str], config: str) -> subprocess.Popen[bytes]:
    root.mkdir()
    (root / "nbgrader_config.py").write_text(config)
    with (root / LOG).open("wb") as log:
        return subprocess.Popen(
            [sys.executable, DRIVER, grader, *chosen],
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # nbgrader calls alembic by its name; it is installed beside the interpreter.
            env=os.environ
            | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
            | {"IPYTHONDIR": str(root / "ipython"), "OMP_NUM_THREADS": "1"},
        )
