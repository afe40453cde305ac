"""What an assignment's checks are made of: exercises, their case groups and their mistakes.

A file under ``checks/`` makes one `Exercise` per graded answer and hangs three kinds of
functions on it with decorators: case groups (what is asked, and for how many points),
mistakes (wrong answers with the sentence that helps) and accepted alternatives.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from nbjudge.authoring.cases import Case
from nbjudge.authoring.draw import Draw
from nbjudge.authoring.steps import Step
from nbjudge.authoring.tolerance import Tolerance
from nbjudge.errors import CourseError
from nbjudge.settings import CHANGED_ARGUMENTS

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
