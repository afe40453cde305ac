"""The board: how many learners are working, stuck or done with each exercise, and their current mistakes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from nbjudge.classroom.check_events import CheckEvent
from nbjudge.settings import ClassroomSettings


@dataclass(frozen=True)
class CurrentMistake:
    """A named mistake that learners have now: its sentence, and one learner's measurements as an example."""

    name: str
    learners: int
    sentence: str
    example: str
    who: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExerciseOnTheBoard:
    """How many have begun an exercise, and how many of these are still at it, stuck, or done."""

    assignment: str
    exercise: str
    begun: int
    working: int
    stuck: int
    done: int
    mistakes: tuple[CurrentMistake, ...]
    who: Mapping[str, tuple[str, ...]]  # names by "working", "stuck" and "done", where the course shows them


def board(
    check_events: Iterable[CheckEvent],
    order: Sequence[tuple[str, str]],
    sentence_of: Callable[[str, str, str], str],
    settings: ClassroomSettings,
    now: float,
) -> list[dict[str, Any]]:
    """Return the exercises that a learner has begun, ready for JSON: each an `ExerciseOnTheBoard`.

    `order` has assignment and exercise as the course has them. `sentence_of` gives the sentence of a
    mistake, by assignment, exercise and name. `now` is the time that "stuck" refers to.
    """
    by_exercise: dict[tuple[str, str], dict[str, list[CheckEvent]]] = defaultdict(lambda: defaultdict(list))
    for event in check_events:
        by_exercise[event.assignment, event.exercise][event.learner].append(event)
    exercises = []
    for key in order:
        learners = by_exercise.get(key)
        if learners:
            mistakes = _mistakes(learners, partial(sentence_of, *key), settings.names)
            exercises.append(asdict(_exercise(key, learners, mistakes, settings, now)))
    return exercises


def tries(check_events: Sequence[CheckEvent]) -> int:
    """Count the tries of one learner: the first check, and each check after a change of the answer."""
    changes = sum(before.code != after.code for before, after in pairwise(check_events))
    return changes + bool(check_events)


def _exercise(
    key: tuple[str, str],
    learners: Mapping[str, Sequence[CheckEvent]],
    mistakes: tuple[CurrentMistake, ...],
    settings: ClassroomSettings,
    now: float,
) -> ExerciseOnTheBoard:
    by_progress: dict[str, list[str]] = {"working": [], "stuck": [], "done": []}
    for learner, check_events in learners.items():
        by_progress[_progress(check_events, settings, now)].append(learner)
    who = {
        progress: tuple(sorted(names)) if settings.names else () for progress, names in by_progress.items()
    }
    return ExerciseOnTheBoard(
        *key,
        begun=len(learners),
        working=len(by_progress["working"]),
        stuck=len(by_progress["stuck"]),
        done=len(by_progress["done"]),
        mistakes=mistakes,
        who=who,
    )


def _mistakes(
    learners: Mapping[str, Sequence[CheckEvent]], sentence_of: Callable[[str], str], with_names: bool
) -> tuple[CurrentMistake, ...]:
    """List the mistakes in the learners' last checks, the most frequent first."""
    by_mistake: dict[str, list[CheckEvent]] = defaultdict(list)
    for *_, last in learners.values():
        if last.mistake and not last.right:
            by_mistake[last.mistake].append(last)
    return tuple(
        CurrentMistake(
            name,
            len(events),
            sentence_of(name),
            events[-1].told,
            tuple(sorted(event.learner for event in events)) if with_names else (),
        )
        for name, events in sorted(by_mistake.items(), key=lambda each: -len(each[1]))
    )


def _progress(check_events: Sequence[CheckEvent], settings: ClassroomSettings, now: float) -> str:
    if check_events[-1].right:
        return "done"
    minutes = (now - check_events[0].time) / 60
    stuck = tries(check_events) >= settings.stuck_tries or minutes >= settings.stuck_minutes
    return "stuck" if stuck else "working"
