"""What `check` does in a kernel that runs the hidden region of a graded cell.

When nbjudge grades, hidden regions never reach a kernel. Under stock nbgrader, or when an author runs the
source notebook, `check` runs here, inside the kernel, and judges the same cases. Such a grade is only as
trustworthy as any test inside the kernel.
"""

from __future__ import annotations

import secrets
import sys
from pathlib import Path

from nbjudge.calls import caller_of
from nbjudge.course.course import find_course
from nbjudge.judge.scoring import judge_exercise
from nbjudge.judge.verdict import Verdict
from nbjudge.probe.respond import reader_of
from nbjudge.record.graded_cell import as_html, as_text


class Points(float):
    """Points that display their verdict in a notebook; nbgrader reads the number."""

    verdict: Verdict

    def __repr__(self) -> str:
        return f"{float(self):g}"

    def _repr_html_(self) -> str:
        return as_html(self.verdict)


def check_in_kernel(name: str, seed: int | None = None) -> Points:
    """Judge the exercise `name` as this kernel defines it. See `nbjudge.check`."""
    assignment, exercise = find_course(Path.cwd()).exercise(name)
    names = vars(sys.modules["__main__"])
    answer = reader_of(names, name) if exercise.is_variable else names.get(name)
    seed = secrets.randbits(48) if seed is None else seed
    verdict = judge_exercise(exercise, assignment.reference_answer(name), caller_of(answer), seed)
    print(as_text(verdict))
    points = Points(verdict.points)
    points.verdict = verdict
    return points
