"""What the class is misunderstanding now: how many stand where, and the mistakes that are in the room."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from nbjudge.classroom.looks import LookRecord
from nbjudge.settings import ClassroomSettings


@dataclass(frozen=True)
class MistakeInTheRoom:
    """A named mistake that somebody has now: the check's sentence, and one learner's own numbers."""

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
    mistakes: tuple[MistakeInTheRoom, ...]
    who: Mapping[str, tuple[str, ...]]  # names by "working", "stuck" and "done", where the course shows them


def board(
    looks: Iterable[LookRecord],
    order: Sequence[tuple[str, str]],
    sentence_of: Callable[[str, str, str], str],
    settings: ClassroomSettings,
    now: float,
) -> list[ExerciseOnTheBoard]:
    """The exercises that somebody has begun; `order` has assignment and exercise as the course has them.

    `sentence_of` gives what a mistake's name stands for, by assignment, exercise and name.
    """
    by_exercise: dict[tuple[str, str], dict[str, list[LookRecord]]] = defaultdict(lambda: defaultdict(list))
    for look in looks:
        by_exercise[look.assignment, look.exercise][look.learner].append(look)
    return [
        _exercise(assignment, exercise, by_exercise[assignment, exercise], sentence_of, settings, now)
        for assignment, exercise in order
        if (assignment, exercise) in by_exercise
    ]


def tries(looks: Sequence[LookRecord]) -> int:
    """How often one learner's answer has changed from look to look, and the first."""
    return sum(not before or look.code != before[-1].code for before, look in _with_before(looks))


def as_data(exercises: Iterable[ExerciseOnTheBoard]) -> list[dict[str, object]]:
    """JSON-ready."""
    return [asdict(each) for each in exercises]


def _exercise(
    assignment: str,
    exercise: str,
    learners: Mapping[str, Sequence[LookRecord]],
    sentence_of: Callable[[str, str, str], str],
    settings: ClassroomSettings,
    now: float,
) -> ExerciseOnTheBoard:
    stands: dict[str, list[str]] = {"working": [], "stuck": [], "done": []}
    mistaken: dict[str, list[LookRecord]] = defaultdict(list)
    for learner, looks in learners.items():
        stands[_stand(looks, settings, now)].append(learner)
        if looks[-1].mistake and not looks[-1].right:
            mistaken[looks[-1].mistake].append(looks[-1])
    counted = Counter({name: len(found) for name, found in mistaken.items()})
    shown = {stand: tuple(sorted(who)) if settings.names else () for stand, who in stands.items()}
    return ExerciseOnTheBoard(
        assignment,
        exercise,
        begun=len(learners),
        working=len(stands["working"]),
        stuck=len(stands["stuck"]),
        done=len(stands["done"]),
        mistakes=tuple(
            MistakeInTheRoom(
                name,
                count,
                sentence_of(assignment, exercise, name),
                mistaken[name][-1].told,
                tuple(sorted(look.learner for look in mistaken[name])) if settings.names else (),
            )
            for name, count in counted.most_common()
        ),
        who=shown,
    )


def _stand(looks: Sequence[LookRecord], settings: ClassroomSettings, now: float) -> str:
    if looks[-1].right:
        return "done"
    minutes = (now - looks[0].time) / 60
    stuck = tries(looks) >= settings.stuck_tries or minutes >= settings.stuck_minutes
    return "stuck" if stuck else "working"


def _with_before(looks: Sequence[LookRecord]) -> Iterable[tuple[Sequence[LookRecord], LookRecord]]:
    return ((looks[max(0, place - 1) : place], look) for place, look in enumerate(looks))
