"""What an assignment's checks are made of: exercises, case groups, mistakes, tolerances and forbidden steps.

A file under ``checks/`` makes one `Exercise` per graded answer and hangs three kinds of
functions on it with decorators: case groups (what is asked, and for how many points),
mistakes (wrong answers with the sentence that helps) and accepted alternatives.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from nbjudge.authoring.cases import Case, Draw
from nbjudge.errors import CourseError
from nbjudge.settings import CHANGED_ARGUMENTS


@dataclass(frozen=True)
class Tolerance:
    """How far a right answer may be from the reference, per dtype (as in `numpy.allclose`).

    Python's floats and float16 are held to float32's, tables to float64's; all else must be equal.
    """

    float32: tuple[float, float] = (1e-4, 1e-5)  #: (rtol, atol)
    float64: tuple[float, float] = (1e-6, 1e-7)  #: (rtol, atol)


# For sums of many products of float32. Another order of adding (a loop, einsum, another processor's
# routines) rounds otherwise; where large terms nearly cancel, up to 3e-6 is left of the difference,
# which the usual `atol` allows only three times. This allows it thirty times.
SUMS_OF_PRODUCTS = Tolerance(float32=(1e-4, 1e-4))


Names = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Step:
    """A step that is not allowed: ``Step("a ready-made mean", {"numpy._core._methods": ("_mean",)})``.

    `called` is how a message calls it. `functions` holds qualified names of functions written in Python,
    by their module; NumPy's methods end in `numpy._core._methods`. `compiled` holds compiled classes by their
    module, each of whose methods gives it away, and `ufuncs` NumPy's ufuncs that may not reduce numbers.
    `also` are other steps that give it away, and `noted_as` patterns (as in file names) of whatever else is
    noted. `written_as` says by what call people come to it, for names that users do not write:
    ``{"numpy._core._methods._std": "np.std"}``.
    """

    called: str
    functions: Names = field(default_factory=dict)
    compiled: Names = field(default_factory=dict)
    ufuncs: Names = field(default_factory=dict)
    also: tuple[Step, ...] = ()
    noted_as: tuple[str, ...] = ()
    written_as: Mapping[str, str] = field(default_factory=dict)

    def watch(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """What has to be watched for it, see `nbjudge.probe.watching`."""
        own = {"functions": self.functions, "compiled": self.compiled, "ufuncs": self.ufuncs}
        return merge_watches([own, *(step.watch() for step in self.also)])

    def patterns(self) -> tuple[str, ...]:
        """Patterns of the names that give it away; first those of steps that hold it, which say more."""
        return (*(pattern for step in self.also for pattern in step.patterns()), *self._own_patterns())

    def _own_patterns(self) -> tuple[str, ...]:
        reductions = (f"{name}.reduce" for name in _full_names(self.ufuncs))
        return (*_full_names(self.functions), *_full_names(self.compiled), *reductions, *self.noted_as)

    def as_written(self, name: str) -> str:
        """The call behind a name that gave the step away, where `written_as` lists it."""
        for pattern, call in self.written_as.items():
            if fnmatchcase(name, pattern):
                return call
        others = (step.as_written(name) for step in self.also)
        return next((call for call in others if call != name), name)


def _full_names(names: Names) -> list[str]:
    return [f"{module}.{name}" for module, entries in names.items() for name in entries]


def merge_watches(watches: Iterable[Mapping[str, Names]]) -> dict[str, dict[str, tuple[str, ...]]]:
    """All that several steps have watched."""
    merged: dict[str, dict[str, tuple[str, ...]]] = {}
    for watch in watches:
        for kind, entries in watch.items():
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
class ShownAlternative:
    """A right answer that learners are shown when they are done, and what it is good at."""

    answer: Callable[..., Any]
    good_at: str


@dataclass(eq=False)
class Exercise:
    """One graded answer: its cases, its mistakes, and how its result is talked about.

    `results` names what is returned ("means", "deviations"); `axes` names the last
    axes of each result in their order, for messages ("people", "measurements"). `not_allowed` holds the
    ready-made steps that students are to write themselves. `draw` is what its inputs come from.
    `cell` is the graded cell whose points it decides, by its id for nbgrader, where that cell's hidden
    region does not say ``check("NAME")`` itself: whatever the region holds is not run then.
    The first mistake that explains an answer is named: those of one file are tried in their order
    there, and where several files hold mistakes, `mistakes_from` lists these files in their order.
    `retest_factor` is what its floating numbers are multiplied by when it is asked once more: a power of
    two, so that nothing is rounded, and one that leaves numbers which can come up.
    `changed_arguments` says what it costs that an answer changes an argument, such as a table or a list that
    it is given: "remark" (no point: feedback says it), "one group" (the first group, in their order, that
    shows the change and whose values are right) or "all groups" (every group that shows it). None is the
    course's default, `c.RunAndJudge.changed_arguments`, which is "remark". The values that the answer returns
    are compared in each case; what the reference changes as well is no change.
    `groups`, `mistakes`, `accepted_alternatives` and `shown_alternatives` are filled by the decorators.
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

    def __post_init__(self) -> None:
        if self.changed_arguments not in (None, *CHANGED_ARGUMENTS):
            allowed = ", ".join(map(repr, CHANGED_ARGUMENTS))
            raise CourseError(
                f"The exercise {self.name!r} has changed_arguments={self.changed_arguments!r}, and must have "
                f"one of {allowed}."
            )

    @property
    def points(self) -> float:
        """What all groups together are worth."""
        return sum(group.points for group in self.groups)

    # A course that knows more of its results than their numbers overrides these two. If students have the
    # module of that class, it sets `IS_RECORDED`: a tutor that works from recordings uses the class then.
    IS_RECORDED: ClassVar[bool] = True

    def order_of_computation(self, count: int) -> list[int]:
        """The indices of `count` results, those first that others are made of: they are spoken of first."""
        return list(range(count))

    def describe_array(self, index: int, name: str, numbers: Any, expected: Any, case: Case) -> Iterator[str]:
        """What the course can tell of a wrong array, as sentences, the most telling first.

        `name` is result `index` as messages call it; `numbers` and `expected` are NumPy arrays of one shape.
        """
        return iter(())

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
        returns None, the name of a mistake, or a sentence. Where cases are measured (see `case`), values are
        compared, and `verify` is given the reports of right ones; what it says comes behind what is wrong
        with values elsewhere. `fresh` asks a module on the weights that it
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
            self.mistakes.append(Mistake(answer.__name__, message, answer, file))
            return answer

        return add

    def accepted_alternative(self, answer: Callable[..., Any] | str) -> Any:
        """Add a right answer written in another way, which must get full marks.

        With a sentence, ``@exercise.accepted_alternative("One product: ...")``, it is also shown to learners
        who are done, as another way to write it; the sentence says what that way is good at.
        """
        if not isinstance(answer, str):
            self.accepted_alternatives.append(answer)
            return answer

        def add(way: Callable[..., Any]) -> Callable[..., Any]:
            self.accepted_alternatives.append(way)
            self.shown_alternatives.append(ShownAlternative(way, answer))
            return way

        return add
