"""What an assignment's checks are made of: exercises, case groups, mistakes, tolerances and forbidden steps.

A file under ``checks/`` makes one `Exercise` per graded answer and hangs three kinds of
functions on it with decorators: case groups (what is asked, and for how many points),
mistakes (wrong answers with the sentence that helps) and accepted alternatives.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import wraps
from typing import Any, ClassVar

from nbjudge.authoring.cases import Case, Draw
from nbjudge.errors import CourseError
from nbjudge.settings import CHANGED_ARGUMENTS
from nbjudge.values.packing import copy_value


@dataclass(frozen=True)
class Tolerance:
    """The distance that a right answer may have from the reference, per dtype (as in `numpy.allclose`).

    Python's floats and float16 are held to float32's, tables to float64's; all else must be equal.
    """

    float32: tuple[float, float] = (1e-4, 1e-5)  #: (rtol, atol)
    float64: tuple[float, float] = (1e-6, 1e-7)  #: (rtol, atol)


# For sums of many products of float32. Another order of adding (a loop, einsum, another processor's
# routines) rounds otherwise; where large terms nearly cancel, up to 3e-6 is left of the difference,
# which the usual `atol` allows only three times. This allows it thirty times.
#: The tolerance of results that are sums of many products, which another order of adding rounds otherwise.
SUMS_OF_PRODUCTS = Tolerance(float32=(1e-4, 1e-4))


Names = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Step:
    """A step that students must write themselves, so that an answer may not call a ready-made one.

    Parameters
    ----------
    called
        The name of the step in messages.
    functions
        Qualified names of functions written in Python, by their module; NumPy's methods end in
        ``numpy._core._methods``.
    also
        Other steps; a call of one of them counts as this step.
    written_as
        The call that users write, by the recorded name: ``{"numpy._core._methods._std": "np.std"}``.

    Examples
    --------
    >>> from nbjudge import Step
    >>> library_mean = Step("a ready-made mean", {"numpy._core._methods": ("_mean",)})
    >>> library_mean.patterns()
    ('numpy._core._methods._mean',)
    """

    called: str
    functions: Names = field(default_factory=dict)
    also: tuple[Step, ...] = ()
    written_as: Mapping[str, str] = field(default_factory=dict)

    def watched_calls(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """Return what has to be watched for it, see `nbjudge.probe.watching`."""
        own = {"functions": self.functions}
        return merge_watched_calls([own, *(step.watched_calls() for step in self.also)])

    def patterns(self) -> tuple[str, ...]:
        """Patterns of the names that give it away; first those of steps that hold it, which say more."""
        return (*(pattern for step in self.also for pattern in step.patterns()), *self._own_patterns())

    def _own_patterns(self) -> tuple[str, ...]:
        return tuple(f"{module}.{name}" for module, names in self.functions.items() for name in names)

    def as_written(self, name: str) -> str:
        """The call behind a name that gave the step away, where `written_as` lists it."""
        for pattern, call in self.written_as.items():
            if fnmatchcase(name, pattern):
                return call
        others = (step.as_written(name) for step in self.also)
        return next((call for call in others if call != name), name)


def merge_watched_calls(watches: Iterable[Mapping[str, Names]]) -> dict[str, dict[str, tuple[str, ...]]]:
    """All that several steps have watched."""
    merged: dict[str, dict[str, tuple[str, ...]]] = {}
    for watched_calls in watches:
        for kind, entries in watched_calls.items():
            for name, values in entries.items():
                known = merged.setdefault(kind, {}).get(name, ())
                merged[kind][name] = tuple(dict.fromkeys((*known, *values)))
    return merged


Verify = Callable[[list[Case], list[Any]], str | None]


@dataclass(frozen=True, eq=False)
class Group:
    """Cases that pass or fail together, and the points they are worth."""

    name: str
    points: float
    make: Callable[[Any], Iterable[Case]]
    # For answers that no reference can predict (random numbers): looks at the values of a
    # group and returns None, the name of a mistake, or a sentence. Replaces the comparison, but not that
    # of measured cases: there it looks at what they report, once their values are right.
    verify: Verify | None = None
    # For modules that are judged with the weights that they drew themselves: the cases look at
    # "result" and "state", and the reference gives its result for the same call on that state.
    fresh: bool = False
    # For groups that can pass without any computation where the judge cannot see it by itself (see
    # `nbjudge.judge.scoring`): they earn their points once another group passes.
    withhold_points: bool = False

    def cases(self, draw: Any) -> list[Case]:
        return list(self.make(draw))


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that students really write, with the sentence that helps most."""

    name: str
    message: str
    answer: Callable[..., Any]
    file: str = ""  # the module that hangs it on its exercise, wherever the answer itself is made


@dataclass(frozen=True)
class WrongStep:
    """What a right answer becomes a wrong one by: other methods of a class, or arguments of a function."""

    right: Callable[..., Any]
    change: Mapping[str, Any]
    clause: str = ""  # behind "as if"
    mistake: Mistake | None = None  # in place of the clause


def with_steps(right: Callable[..., Any], change: Mapping[str, Any], name: str = "Wrong") -> Any:
    """Return a class with other methods, or a function with other keyword arguments."""
    if isinstance(right, type):
        return type(name, (right,), dict(change))

    def answer(*args: Any, **kwargs: Any) -> Any:
        return right(*args, **kwargs, **change)

    answer.__name__ = name
    return answer


@dataclass(frozen=True)
class FittedCase:
    """A case that depends on a number; with 1 it is the case itself."""

    words: Callable[[float], str]  # the clause behind "as if"
    case: Callable[[float], Case]


@dataclass(frozen=True)
class DerivedArray:
    """A student's array and the right one, both computed from a result; NumPy arrays of one shape.

    `tolerance` is relative to the largest number. If `is_telling`, one number that differs says much.
    """

    name: str
    numbers: Any
    expected: Any
    axes: tuple[str, ...] = ()
    tolerance: float = 1e-3
    is_telling: bool = False


@dataclass(frozen=True)
class ShownAlternative:
    """A right answer that learners are shown when they are done, and what it is good at."""

    answer: Callable[..., Any]
    good_at: str


@dataclass(eq=False)
class Exercise:
    """One graded answer: its case groups, its mistakes, and the words for its results.

    Parameters
    ----------
    name
        The name of the function or class that students write.
    results
        What is returned, one name per result: ``("means", "deviations")``.
    axes
        The last axes of each result in their order, for messages: ``(("people", "measurements"),)``.
    not_allowed
        The steps that students must write themselves.
    tolerance
        How far a right answer may be from the reference.
    draw
        The class that draws inputs.
    cell
        The id of the graded cell whose points it decides. It is needed if the hidden region of that cell does
        not call ``check("NAME")``; the region is not run then.
    mistakes_from
        The files that hold its mistakes, in the order in which they are tried. The first mistake that
        explains an answer is named.
    retest_factor
        The factor of floating numbers in the retest: a power of two, so that nothing is rounded.
    changed_arguments
        The cost of changing an argument: ``"remark"`` costs nothing, ``"one group"`` costs the first group
        that shows the change and whose values are right, ``"all groups"`` each group that shows it. None is
        the course's default, `c.RunAndJudge.changed_arguments`. What the reference changes as well
        costs nothing.
    groups, mistakes, accepted_alternatives, shown_alternatives
        Filled by the decorators.

    Raises
    ------
    CourseError
        If `changed_arguments` has another value.

    Examples
    --------
    >>> from nbjudge import Exercise, case
    >>> total = Exercise("total", results=("total",))
    >>> @total.group("short lists", points=2)
    ... def short_lists(draw):
    ...     yield case([1.0, 2.0, 6.0])
    >>> total.points
    2
    """

    name: str
    results: tuple[str, ...]
    axes: tuple[tuple[str, ...], ...] = ()
    not_allowed: tuple[Step, ...] = ()
    tolerance: Tolerance = Tolerance()
    draw: type[Draw] = Draw
    cell: str = ""
    mistakes_from: tuple[str, ...] = ()
    retest_factor: float = 0.5
    changed_arguments: str | None = None
    groups: list[Group] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)
    accepted_alternatives: list[Callable[..., Any]] = field(default_factory=list)
    shown_alternatives: list[ShownAlternative] = field(default_factory=list)
    causes: dict[str, Callable[..., Any]] = field(default_factory=dict)
    steps: list[WrongStep] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.changed_arguments not in (None, *CHANGED_ARGUMENTS):
            allowed = ", ".join(map(repr, CHANGED_ARGUMENTS))
            raise CourseError(
                f"The exercise {self.name!r} has changed_arguments={self.changed_arguments!r}, and must have "
                f"one of {allowed}."
            )

    @property
    def points(self) -> float:
        """Return what all groups together are worth."""
        return sum(group.points for group in self.groups)

    # A course that knows more of its results than their numbers overrides these.
    is_variable: ClassVar[bool] = False  # see `Variable`

    def order_of_computation(self, count: int) -> list[int]:
        """The indices of `count` results, those first that others are made of: they are spoken of first."""
        return list(range(count))

    def describe_array(self, index: int, name: str, numbers: Any, expected: Any, case: Case) -> Iterator[str]:
        """Return what the course can tell of a wrong array, as sentences, the most telling first.

        `name` is result `index` as messages call it; `numbers` and `expected` are NumPy arrays of one shape.
        """
        return iter(())

    def other_cases(self, case: Case) -> Iterator[tuple[str, Case]]:
        """Cases whose right answer is a likely wrong one to `case`, each behind a clause with the cause.

        The judge says of a wrong result “output is the same as if” with the clause behind it, for example
        “the scores were not scaled”.
        """
        return iter(())

    def fitted_cases(self, case: Case) -> Iterator[FittedCase]:
        """Cases that differ from `case` in one positive number, each with a function that words it.

        The judge looks for the number with which the right answer is the student's.
        """
        return iter(())

    def derived_arrays(self, index: int, numbers: Any, expected: Any, case: Case) -> Iterator[DerivedArray]:
        """Arrays that can be computed from result `index`, in which a difference may be plainer.

        For example what a layer's last, linear step was given. `numbers` and `expected` are NumPy arrays.
        """
        return iter(())

    def as_called(self, answer: Callable[..., Any]) -> Callable[..., Any]:
        """An answer of the checks as the judge calls it: as it is, with the arguments of a case."""
        return answer

    def group(
        self,
        name: str,
        points: float,
        verify: Verify | None = None,
        fresh: bool = False,
        withhold_points: bool = False,
    ) -> Callable[..., Any]:
        """Add a case group: the decorated generator function takes a `Draw` and yields cases.

        The group is worth `points`, and passes or fails as a whole. `verify` looks at the values instead of
        comparing them, for answers that no reference predicts: given the group's cases and the values, it
        returns None, the name of a mistake, or a sentence. It is not asked about values that could not be
        read, nor about None where the reference returns something. Where cases are measured (see `case`),
        values are compared, and `verify` is given the reports of right ones; what it says comes behind what
        is wrong with values elsewhere. `fresh` asks a module on the weights that it
        drew itself, `build(..., look=("result", "state"))`. `withhold_points` says that the group can pass
        without any computation: it earns its points once another group passes.
        """

        def add(make: Callable[[Any], Iterable[Case]]) -> Callable[[Draw], Iterable[Case]]:
            self.groups.append(Group(name, points, make, verify, fresh, withhold_points))
            return make

        return add

    def mistake(self, message: str) -> Callable[..., Any]:
        """Add a mistake: the decorated function (or module) is the wrong answer itself."""

        file = str(sys._getframe(1).f_globals.get("__name__", "")).rpartition(".")[2]

        def add(answer: Callable[..., Any]) -> Callable[..., Any]:
            mistake = Mistake(answer.__name__, message, self.as_called(answer), file)
            self.mistakes.append(mistake)
            if isinstance(answer, type):
                own = {name: each for name, each in vars(answer).items() if callable(each)}
                self.steps.append(WrongStep(answer.__bases__[0], own, mistake=mistake))
            return answer

        return add

    def cause(self, clause: str, answer: Callable[..., Any]) -> None:
        """Add a wrong answer that needs no sentence of its own, and no full match as a mistake does.

        Where a result is what `answer` gives, and no mistake explains it, the judge says “output is the same
        as if” with the clause behind it, for example “the scores were not scaled”.
        """
        self.causes[clause] = self.as_called(answer)

    def causes_in_steps(self, right: Callable[..., Any], causes: Mapping[str, Mapping[str, Any]]) -> None:
        """Add causes that are `right` with other methods, or with other keyword arguments, by their clauses.

        The judge also tries two of them at once, and together with mistakes made of the same `right`.
        """
        for clause, change in causes.items():
            self.cause(clause, with_steps(right, change))
            self.steps.append(WrongStep(right, change, clause=clause))

    def accepted_alternative(self, answer: Callable[..., Any] | str) -> Any:
        """Add a right answer written in another way, which must get full marks.

        With a sentence, ``@exercise.accepted_alternative("One product: ...")``, it is also shown to learners
        who are done, as another way to write it; the sentence says what that way is good at.
        """
        if not isinstance(answer, str):
            self.accepted_alternatives.append(self.as_called(answer))
            return answer

        def add(way: Callable[..., Any]) -> Callable[..., Any]:
            self.accepted_alternatives.append(self.as_called(way))
            self.shown_alternatives.append(ShownAlternative(way, answer))
            return way

        return add


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
        if any(parameter.kind is not parameter.POSITIONAL_OR_KEYWORD for parameter in parameters):
            raise CourseError(
                f"`{answer.__name__}` of the variable `{self.name}` takes `*` or `**`: write names of the "
                "notebook as its arguments."
            )
        names = [parameter.name for parameter in parameters]
        self.needed.update(names)

        @wraps(answer)
        def of_notebook() -> Any:
            return answer(**{name: copy_value(self.values[name]) for name in names})

        return of_notebook
