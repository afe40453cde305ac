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
    from nbjudge.batch.changed_submissions import make_plan
    from nbjudge.batch.coordinator import GradedSubmission
    from nbjudge.batch.grade_command import LOG_FILE, Options, grade_plan
    from nbjudge.batch.workers import default_worker_count
    from nbjudge.course.configuration import configure
    from nbjudge.errors import CourseError
    from nbjudge.grading.check_in_kernel import Points
    from nbjudge.judge.verdict import Finding
    from nbjudge.record.graded_notebook import GradedNotebook, read_graded
    from nbjudge.sandbox.bubblewrap import sandbox_refusal
    from nbjudge.skeletons.notebooks import Form
    from nbjudge.try_checks.command import problems_of_checks, try_all

# The modules of the public names.
_MODULES = {
    "nbjudge.api": "grade_notebook",
    "nbjudge.authoring": "Exercise Step Variable case",
    "nbjudge.batch.changed_submissions": "make_plan",
    "nbjudge.batch.coordinator": "GradedSubmission",
    "nbjudge.batch.grade_command": "LOG_FILE Options grade_plan",
    "nbjudge.batch.workers": "default_worker_count",
    "nbjudge.course.configuration": "configure",
    "nbjudge.errors": "CourseError",
    "nbjudge.judge.verdict": "Finding",
    "nbjudge.record.graded_notebook": "GradedNotebook read_graded",
    "nbjudge.sandbox.bubblewrap": "sandbox_refusal",
    "nbjudge.skeletons.notebooks": "Form",
    "nbjudge.try_checks.command": "problems_of_checks try_all",
}
PUBLIC = {name: module for module, names in _MODULES.items() for name in names.split()}


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
    """Import a public name when it is first used."""
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, getattr(import_module(PUBLIC[name]), name))


__all__ = [
    "CourseError",
    "Exercise",
    "Finding",
    "Form",
    "GradedNotebook",
    "GradedSubmission",
    "LOG_FILE",
    "Options",
    "Step",
    "Variable",
    "case",
    "check",
    "configure",
    "default_worker_count",
    "grade_notebook",
    "grade_plan",
    "make_plan",
    "problems_of_checks",
    "read_graded",
    "sandbox_refusal",
    "try_all",
]
