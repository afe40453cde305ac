"""The board: how many learners are working, stuck or done with each exercise, and their current mistakes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

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
) -> list[ExerciseOnTheBoard]:
    """The exercises that a learner has begun; `order` has assignment and exercise as the course has them.

    `sentence_of` gives what a mistake's name by_progress for, by assignment, exercise and name.
    """
    by_exercise: dict[tuple[str, str], dict[str, list[CheckEvent]]] = defaultdict(lambda: defaultdict(list))
    for event in check_events:
        by_exercise[event.assignment, event.exercise][event.learner].append(event)
    return [
        _exercise(assignment, exercise, by_exercise[assignment, exercise], sentence_of, settings, now)
        for assignment, exercise in order
        if (assignment, exercise) in by_exercise
    ]


def tries(check_events: Sequence[CheckEvent]) -> int:
    """Count the tries of one learner: the first check, and each check after a change of the answer."""
    return sum(not before or event.code != before[-1].code for before, event in _with_before(check_events))


def as_data(exercises: Iterable[ExerciseOnTheBoard]) -> list[dict[str, object]]:
    """JSON-ready."""
    return [asdict(each) for each in exercises]


def _exercise(
    assignment: str,
    exercise: str,
    learners: Mapping[str, Sequence[CheckEvent]],
    sentence_of: Callable[[str, str, str], str],
    settings: ClassroomSettings,
    now: float,
) -> ExerciseOnTheBoard:
    by_progress: dict[str, list[str]] = {"working": [], "stuck": [], "done": []}
    mistaken: dict[str, list[CheckEvent]] = defaultdict(list)
    for learner, check_events in learners.items():
        by_progress[_progress(check_events, settings, now)].append(learner)
        if check_events[-1].mistake and not check_events[-1].right:
            mistaken[check_events[-1].mistake].append(check_events[-1])
    counted = Counter({name: len(found) for name, found in mistaken.items()})
    shown = {progress: tuple(sorted(who)) if settings.names else () for progress, who in by_progress.items()}
    return ExerciseOnTheBoard(
        assignment,
        exercise,
        begun=len(learners),
        working=len(by_progress["working"]),
        stuck=len(by_progress["stuck"]),
        done=len(by_progress["done"]),
        mistakes=tuple(
            CurrentMistake(
                name,
                count,
                sentence_of(assignment, exercise, name),
                mistaken[name][-1].told,
                tuple(sorted(event.learner for event in mistaken[name])) if settings.names else (),
            )
            for name, count in counted.most_common()
        ),
        who=shown,
    )


def _progress(check_events: Sequence[CheckEvent], settings: ClassroomSettings, now: float) -> str:
    if check_events[-1].right:
        return "done"
    minutes = (now - check_events[0].time) / 60
    stuck = tries(check_events) >= settings.stuck_tries or minutes >= settings.stuck_minutes
    return "stuck" if stuck else "working"


def _with_before(check_events: Sequence[CheckEvent]) -> Iterable[tuple[Sequence[CheckEvent], CheckEvent]]:
    return ((check_events[max(0, place - 1) : place], event) for place, event in enumerate(check_events))
