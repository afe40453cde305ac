"""A grader for nbgrader courses, whose tests are not in the process that student code runs in.

`check` is all that the hidden region of a notebook needs of it, `configure` all that a configuration does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbjudge.configure import configure

__version__ = "0.1.0"

if TYPE_CHECKING:
    from nbjudge.grading.in_kernel import Points


def check(name: str, seed: int | None = None) -> Points:
    """Judge the exercise `name` as this kernel defines it; the result counts as the cell's points.

    Raises `CourseError` when no course surrounds the working folder or it has no such exercise.
    """
    # Here rather than above: whoever only looks what is to be graded need not wait for it.
    from nbjudge.grading.in_kernel import judge_here

    return judge_here(name, seed)


__all__ = ["check", "configure"]
