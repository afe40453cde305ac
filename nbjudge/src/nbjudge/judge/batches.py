"""How an exercise is put to a kernel: all its groups in one question, for messages cost more than answers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Protocol

from nbjudge.authoring.exercise import Exercise
from nbjudge.authoring.steps import together as all_watched
from nbjudge.kernel.replies import Answer, CallAnswer
from nbjudge.probe.watching import Watch

MOST_LOST_ALONE = 2  # replies; each may take as long as the answers to a group may


class Calls(Protocol):
    """Whatever is put to the kernel as one."""

    @property
    def calls(self) -> list[dict[str, Any]]: ...


def ask_all(
    exercise: Exercise, questions: Sequence[Calls], ask: CallAnswer, watched: bool = True
) -> list[list[Answer]]:
    """The answers to each question, in order; `watched` for the steps that are not allowed.

    Every group has the time of a group: those that a first question left no time for are asked
    again. One hung or dead answer is waited for; the groups behind it get the same answer unasked. So do
    the groups behind the second one whose reply is lost when it is asked alone.
    """
    answered: list[list[Answer]] = []
    together, lost_alone = True, 0
    while len(answered) < len(questions):
        asked = questions[len(answered) :] if together else [questions[len(answered)]]
        reply = ask(exercise.name, *put_together(exercise, asked, watched))
        if reply.lost and together:
            together = False  # whether it was an accident, or whose fault, shows when each is asked alone
            continue
        groups = _by_question(asked, reply.answers)
        finished = list(takewhile(lambda answers: _hopeless(answers) is None, groups))
        answered += finished
        hopeless = None if finished else _hopeless(groups[0])
        if hopeless is not None:
            answered.append(groups[0])
        lost_alone += reply.lost
        if lost_alone >= MOST_LOST_ALONE:
            hopeless = hopeless or reply.answers[0]
        if hopeless is not None:
            answered += [[hopeless] * len(one.calls) for one in questions[len(answered) :]]
    return answered


def put_together(
    exercise: Exercise, questions: Sequence[Calls], watched: bool = True
) -> tuple[list[dict[str, Any]], Watch]:
    """The calls of several questions as one, and what is noted meanwhile."""
    calls = [call for one in questions for call in one.calls]
    return calls, all_watched(step.watch() for step in exercise.not_allowed) if watched else {}


def _by_question(questions: Sequence[Calls], answers: list[Answer]) -> list[list[Answer]]:
    rest = iter(answers)
    return [[next(rest) for _ in one.calls] for one in questions]


def _hopeless(answers: list[Answer]) -> Answer | None:
    return next((answer for answer in answers if answer.status in ("timeout", "died")), None)
