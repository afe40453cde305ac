"""A graded answer that is a variable: `mean_height = ...` in place of a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ClassVar

from nbjudge.authoring.cases import Case
from nbjudge.authoring.exercise import Exercise, Tolerance
from nbjudge.errors import CourseError
from nbjudge.values.packing import copy_value


class Variable(Exercise):
    """A graded answer that is the value of a variable, as the student's notebook has it at the graded cell.

    The right value is the solution notebook's, of which all cells up to the graded one run. Mistakes and
    accepted alternatives are functions that return a value. Their arguments are names of the solution
    notebook: each gets the value of its name at the graded cell, ``mean_height`` itself among them.

    Parameters
    ----------
    name
        The name of the variable.
    points
        What the right value is worth: the points of the graded cell.
    axes
        The axes of an array in their order, for messages: ``("people", "measurements")``.
    tolerance
        How far a right value may be from the solution's.
    cell, mistakes_from
        See `Exercise`.

    Examples
    --------
    >>> from nbjudge import Variable
    >>> mean_height = Variable("mean_height", points=2, cell="test_mean_height")
    >>> @mean_height.mistake("The heights are in inches: one inch is 2.54 cm.")
    ... def in_inches(heights):
    ...     return heights.mean()
    >>> mean_height.points
    2
    """

    is_variable: ClassVar[bool] = True

    def __init__(
        self,
        name: str,
        points: float,
        axes: tuple[str, ...] = (),
        tolerance: Tolerance = Exercise.tolerance,
        cell: str = "",
        mistakes_from: tuple[str, ...] = (),
    ) -> None:
        super().__init__(
            name, (f"`{name}`",), (axes,), tolerance=tolerance, cell=cell, mistakes_from=mistakes_from
        )
        self.needed = {name}  # the names that the answers of its checks look up
        self.values: Mapping[str, Any] = {}  # of these names, once the solution notebook has run
        self.group("value", points)(lambda draw: [Case((), reads_variable=True)])

    def right_value(self) -> Any:
        """The solution's value; it is to `nbjudge.judge` what a function is in other exercises."""
        return copy_value(self.values[self.name])

    def as_called(self, answer: Callable[..., Any]) -> Callable[..., Any]:
        """The answer without arguments: it gets the values of the notebook's names.

        Raises CourseError if an argument has no name that a notebook can have.
        """
        parameters = inspect.signature(answer).parameters.values()
        if any(each.kind is not each.POSITIONAL_OR_KEYWORD for each in parameters):
            raise CourseError(
                f"`{answer.__name__}` of the variable `{self.name}` takes `*` or `**`: write names of the "
                "notebook as its arguments."
            )
        names = [each.name for each in parameters]
        self.needed.update(names)

        @wraps(answer)
        def of_notebook() -> Any:
            return answer(**{name: copy_value(self.values[name]) for name in names})

        return of_notebook
