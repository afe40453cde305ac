"""Calls of all groups of an exercise in one request, because messages take longer than most answers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Protocol

from nbjudge.authoring.exercise import Exercise, merge_watches
from nbjudge.kernel.protocol import Answer, CallAnswer
from nbjudge.probe.watching import Watch

MOST_LOST_ALONE = 2  # replies; each may take as long as the answers to a group may


class HasCalls(Protocol):
    """A group, or another list of calls that belong together."""

    @property
    def calls(self) -> list[dict[str, Any]]: ...


def call_groups(
    exercise: Exercise, groups: Sequence[HasCalls], ask: CallAnswer, watched: bool = True
) -> list[list[Answer]]:
    """Make the calls of all groups in the student's kernel.

    Parameters
    ----------
    exercise
        The exercise whose answer is called.
    groups
        The groups, in order.
    ask
        Makes calls of the student's answer.
    watched
        Whether forbidden calls are recorded.

    Returns
    -------
    list of list of Answer
        One answer per call. Each group may use the full time of a group: groups that had no time left are
        called again. After one answer that timed out or killed the kernel, all later groups get the same
        answer without a call. So do they after a second group whose reply is lost when it is called alone.
    """
    answered: list[list[Answer]] = []
    together, lost_alone = True, 0
    while len(answered) < len(groups):
        batch = groups[len(answered) :] if together else [groups[len(answered)]]
        reply = ask(exercise.name, *join_calls(exercise, batch, watched))
        if reply.lost and together:
            together = False  # calling each group alone shows which one lost the reply
            continue
        answers = _split(batch, reply.answers)
        finished = list(takewhile(lambda each: _fatal(each) is None, answers))
        answered += finished
        fatal = None if finished else _fatal(answers[0])
        if fatal is not None:
            answered.append(answers[0])
        lost_alone += reply.lost
        if lost_alone >= MOST_LOST_ALONE:
            fatal = fatal or reply.answers[0]
        if fatal is not None:
            answered += [[fatal] * len(group.calls) for group in groups[len(answered) :]]
    return answered


def join_calls(
    exercise: Exercise, groups: Sequence[HasCalls], watched: bool = True
) -> tuple[list[dict[str, Any]], Watch]:
    """Return the calls of several groups as one list, and what the kernel records while it makes them."""
    calls = [call for group in groups for call in group.calls]
    return calls, merge_watches(step.watch() for step in exercise.not_allowed) if watched else {}


def _split(groups: Sequence[HasCalls], answers: list[Answer]) -> list[list[Answer]]:
    rest = iter(answers)
    return [[next(rest) for _ in group.calls] for group in groups]


def _fatal(answers: list[Answer]) -> Answer | None:
    return next((answer for answer in answers if answer.status in ("timeout", "died")), None)
