"""The board: how many learners are working, stuck or done with each exercise, and their current mistakes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from nbjudge.classroom.check_events import CheckEvent
from nbjudge.settings import ClassroomSettings


def board(
    check_events: Iterable[CheckEvent],
    order: Sequence[tuple[str, str]],
    sentence_of: Callable[[str, str, str], str],
    settings: ClassroomSettings,
    now: float,
) -> list[dict[str, Any]]:
    """Return the exercises that a learner has begun, ready for JSON.

    Parameters
    ----------
    check_events
        The checks of all learners, in their order.
    order
        Assignment and exercise, as the course has them.
    sentence_of
        Gives the sentence of a mistake, by assignment, exercise and name.
    settings
        When a learner counts as stuck, and whether the board shows names.
    now
        The time that "stuck" refers to.

    Returns
    -------
    list of dict
        Of each exercise how many have begun it, and how many of these are working, stuck or done, with their
        names under "who" if the board shows them; and the mistakes in their last checks, the most frequent
        first, each with its sentence and one learner's measurements as an example.
    """
    by_exercise: dict[tuple[str, str], dict[str, list[CheckEvent]]] = defaultdict(lambda: defaultdict(list))
    for event in check_events:
        by_exercise[event.assignment, event.exercise][event.learner].append(event)
    return [
        _exercise(key, by_exercise[key], partial(sentence_of, *key), settings, now)
        for key in order
        if key in by_exercise
    ]


def tries(check_events: Sequence[CheckEvent]) -> int:
    """Count the tries of one learner: the first result, and each one after a change of the answer."""
    codes = [event.code for event in check_events if event.code]
    return sum(before != after for before, after in pairwise(codes)) + bool(codes)


def _exercise(
    key: tuple[str, str],
    learners: Mapping[str, Sequence[CheckEvent]],
    sentence_of: Callable[[str], str],
    settings: ClassroomSettings,
    now: float,
) -> dict[str, Any]:
    by_progress: dict[str, list[str]] = {"working": [], "stuck": [], "done": []}
    by_mistake: dict[str, list[CheckEvent]] = defaultdict(list)
    for learner, check_events in learners.items():
        by_progress[_progress(check_events, settings, now)].append(learner)
        last = check_events[-1]
        if last.mistake and not last.right:
            by_mistake[last.mistake].append(last)
    mistakes = [
        {
            "name": name,
            "learners": len(events),
            "sentence": sentence_of(name),
            "example": events[-1].told,
            "who": sorted(event.learner for event in events) if settings.names else [],
        }
        for name, events in sorted(by_mistake.items(), key=lambda each: -len(each[1]))
    ]
    return {
        "assignment": key[0],
        "exercise": key[1],
        "begun": len(learners),
        **{progress: len(names) for progress, names in by_progress.items()},
        "mistakes": mistakes,
        "who": {name: sorted(names) if settings.names else [] for name, names in by_progress.items()},
    }


def _progress(check_events: Sequence[CheckEvent], settings: ClassroomSettings, now: float) -> str:
    if check_events[-1].right:
        return "done"
    minutes = (now - check_events[0].time) / 60
    stuck = tries(check_events) >= settings.stuck_tries or minutes >= settings.stuck_minutes
    return "stuck" if stuck else "working"
