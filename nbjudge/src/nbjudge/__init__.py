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

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from nbjudge.api import grade_notebook as grade_notebook
    from nbjudge.authoring import Exercise as Exercise
    from nbjudge.authoring import Step as Step
    from nbjudge.authoring import Variable as Variable
    from nbjudge.authoring import case as case
    from nbjudge.batch.changed_submissions import make_plan as make_plan
    from nbjudge.batch.coordinator import GradedSubmission as GradedSubmission
    from nbjudge.batch.grade_command import LOG_FILE as LOG_FILE
    from nbjudge.batch.grade_command import Options as Options
    from nbjudge.batch.grade_command import grade_plan as grade_plan
    from nbjudge.batch.workers import default_worker_count as default_worker_count
    from nbjudge.course.configuration import configure as configure
    from nbjudge.errors import CourseError as CourseError
    from nbjudge.grading.check_in_kernel import Points as Points
    from nbjudge.judge.verdict import Finding as Finding
    from nbjudge.record.graded_notebook import GradedNotebook as GradedNotebook
    from nbjudge.record.graded_notebook import read_graded as read_graded
    from nbjudge.sandbox.bubblewrap import sandbox_refusal as sandbox_refusal
    from nbjudge.skeletons.notebooks import Form as Form
    from nbjudge.try_checks.command import problems_of_checks as problems_of_checks
    from nbjudge.try_checks.command import try_all as try_all


def lazily(package: str, modules: dict[str, str]) -> tuple[Callable[[str], Any], list[str]]:
    """Return a package's `__getattr__`, which imports a name when it is first used, and its `__all__`.

    `modules` has the names that come from each module, separated by spaces.
    """
    homes = {name: module for module, names in modules.items() for name in names.split()}

    def import_name(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return import_name, sorted(homes)


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


__getattr__, __all__ = lazily(
    __name__,
    {
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
    },
)
__all__ += ["check"]
