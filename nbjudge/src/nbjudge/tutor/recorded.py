"""An assignment as recorded calls and right answers: a tutor that measures, where no reference may be.

For the zip of a class. A recording is one draw of each exercise: the calls, and the numbers that are right
there. It holds no reference, no check and no mistake, so it can name none. Cases with code of the checks are
left out, because that code may hold an answer; so is what no recorded number answers (random results, layers
that keep weights of their own).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pkgutil import resolve_name
from typing import Any, Self

from nbjudge.authoring.exercise import Exercise, Group
from nbjudge.errors import CourseError
from nbjudge.judge.differences import answers_without_argument
from nbjudge.judge.drawn_group import DrawnGroup
from nbjudge.judge.retest import retest_calls
from nbjudge.tutor.disclosure import Disclosure
from nbjudge.tutor.material import WrittenQuestion

ONLY_GRADING = (
    "The tutor of this class does not measure `{name}`: its cases would give an answer away. "
    "The examples above test yours, and its grade will tell the rest."
)
RECORDED_FIELDS = ("name", "results", "axes", "tolerance", "not_allowed", "changed_arguments")
PARTLY = "Asked in grading and not here: {groups}."


@dataclass(frozen=True)
class RecordedGroup:
    """One case group on one draw."""

    name: str
    points: float
    fields: dict[str, Any]  # of the group as it was drawn

    @classmethod
    def of(cls, drawn: DrawnGroup) -> Self:
        """Record a group as it was drawn."""
        names = ("cases", "calls", "expected", "requires_computation")
        recorded: dict[str, Any] = {name: getattr(drawn, name) for name in names}
        numbers = [number for number, case in enumerate(drawn.cases) if case.refuses is None]
        recorded["without_argument"] = {number: answers_without_argument(drawn, number) for number in numbers}
        recorded["retest"] = retest_calls(drawn)
        return cls(drawn.group.name, drawn.group.points, recorded)

    def drawn(self, reference: Callable[..., Any]) -> DrawnGroup:
        """Return the group as it was drawn; the reference gives only the names of the arguments."""
        group = Group(self.name, self.points, lambda draw: self.fields["cases"])
        return DrawnGroup(group, reference, **self.fields)


@dataclass(frozen=True)
class RecordedExercise:
    """An exercise on one draw."""

    form: str  # the class, which may be one of the course's own
    fields: dict[str, Any]  # `RECORDED_FIELDS`, and those that the base class does not have
    arguments: tuple[str, ...]  # the names of the reference's
    hints: list[tuple[str, str]]
    groups: list[RecordedGroup]
    left_out: tuple[str, ...]  # the names of other groups


@dataclass
class RecordedAssignment:
    """What a `TutoredAssignment` is to the tutor, as far as a recording goes."""

    folder: str
    names: list[str]
    exercises: dict[str, RecordedExercise]
    max_disclosure: Disclosure = Disclosure.MEASURED
    one_page: str = ""  # it would be all the answers
    _groups: dict[str, list[DrawnGroup]] = field(default_factory=dict)

    @property
    def coded(self) -> list[str]:
        return list(self.exercises)

    def exercise(self, name: str) -> tuple[Exercise, Callable[..., Any]]:
        """The exercise without cases and mistakes, and what has its reference's arguments and no answer."""
        recorded = self.exercises[name]
        return find_form(recorded.form)(**recorded.fields), _without_answer(recorded.arguments)

    def drawn_groups(self, name: str, seed: int) -> list[DrawnGroup]:
        """Those of the one draw, whatever the seed."""
        if name not in self._groups:
            _, reference = self.exercise(name)
            self._groups[name] = [group.drawn(reference) for group in self.exercises[name].groups]
        return self._groups[name]

    def why_not(self, name: str) -> str:
        return "" if self.exercises[name].groups else ONLY_GRADING.format(name=name)

    def remark(self, name: str) -> str:
        left_out = ", ".join(f"“{group}”" for group in self.exercises[name].left_out)
        return PARTLY.format(groups=left_out) if left_out else ""

    def hints(self, name: str) -> list[tuple[str, str]]:
        return self.exercises[name].hints

    def written(self, name: str) -> WrittenQuestion | None:
        """A question in words, without its model answer."""
        return None if name in self.exercises else WrittenQuestion("", "")

    def solution(self, name: str) -> str:
        return ""

    def shown_alternatives(self, name: str) -> list[tuple[str, str]]:
        return []


def form_of(exercise: Exercise) -> tuple[str, dict[str, Any]]:
    """Return the name of the class that a recording uses for an exercise, and the fields that it keeps."""
    form = next(each for each in type(exercise).__mro__ if vars(each).get("IS_RECORDED"))
    own = {each.name for each in fields(form)} - {each.name for each in fields(Exercise)}
    names = (*RECORDED_FIELDS, *sorted(own))
    return f"{form.__module__}.{form.__qualname__}", {name: getattr(exercise, name) for name in names}


def find_form(name: str) -> type[Exercise]:
    """Return the class of a recorded exercise.

    Raises
    ------
    CourseError
        If the class is not installed, or no class of exercises.
    """
    try:
        form = resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        form = None
    if not (isinstance(form, type) and issubclass(form, Exercise)):
        raise CourseError(
            f"{name}, by which an exercise is measured, is no class of exercises: install the course again."
        )
    return form


def _without_answer(names: tuple[str, ...]) -> Callable[..., Any]:
    def unanswered(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("only recorded calls have an answer here")

    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    unanswered.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return unanswered
