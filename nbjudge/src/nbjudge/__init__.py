"""A grader for nbgrader courses: student code runs in a sandbox, and is judged from outside of it.

A course calls `configure` in its nbgrader_config.py. Its checks are files of `Exercise` objects, whose groups
yield one `case` per call of the student's answer. `grade_notebook` grades one notebook from Python, and
`check` is for the hidden region of a notebook.

Examples
--------
An exercise with one group of cases, one mistake that is named, and one call that is not allowed:

>>> from nbjudge import Exercise, Step, case
>>> library_mean = Step("a library's mean", {"statistics": ("mean", "fmean")})
>>> mean = Exercise("mean", results=("mean",), not_allowed=(library_mean,))
>>> @mean.group("short lists", points=2)
... def short_lists(draw):
...     yield case([1.0, 2.0, 6.0])
>>> @mean.mistake("The sum is not divided by the number of values.")
... def not_divided(values):
...     return sum(values)
>>> mean.points
2
>>> [mistake.name for mistake in mean.mistakes]
['not_divided']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from nbjudge.api import grade_notebook
    from nbjudge.authoring import Exercise, Step, Variable, case
    from nbjudge.course.configuration import configure
    from nbjudge.grading.check_in_kernel import Points


# The modules of the public names.
PUBLIC = {
    "configure": "nbjudge.course.configuration",
    "grade_notebook": "nbjudge.api",
    **dict.fromkeys(("Exercise", "Step", "Variable", "case"), "nbjudge.authoring"),
}


def check(name: str, seed: int | None = None) -> Points:
    """Judge an exercise as this kernel defines it; the result counts as the cell's points.

    Parameters
    ----------
    name : str
        The exercise, and the name of the student's function, class or variable.
    seed : int, optional
        From which the inputs are drawn; by default another one each time.

    Returns
    -------
    Points
        A float that shows its verdict in a notebook.

    Raises
    ------
    CourseError
        If no course surrounds the working folder, or it has no such exercise.
    """
    # Imported here, so that `import nbjudge` stays fast.
    from nbjudge.grading.check_in_kernel import check_in_kernel

    return check_in_kernel(name, seed)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import nbjudge` stays fast."""
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, getattr(import_module(PUBLIC[name]), name))


__all__ = ["Exercise", "Step", "Variable", "case", "check", "configure", "grade_notebook"]
