"""The draw: a paper for each student, all about equally hard, and neighbours have nothing in common."""

from __future__ import annotations

import hashlib
import hmac
import random
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from nbjudge.errors import CourseError
from nbjudge.exam.blueprint import FIX, KINDS, NUMBER, PREDICTION
from nbjudge.exam.items import Item, Task

MINUTES = {FIX: 8, NUMBER: 4, PREDICTION: 3}  # that one takes; and as many points
BOUND = 0.02  # of the points: how far what is expected of a paper may be from the mean
TRIES = 500
SHORTEST = 10  # letters of a line that would give an answer away
NAMES = {FIX: "tasks", NUMBER: "questions with a number", PREDICTION: "questions with choices"}
TOO_FEW = (
    "The blueprints have too few {what}: a paper of {minutes} minutes needs {count} on different exercises, "
    "and the next student on the roster needs others. Add some, name more notebooks with --lessons, or "
    "make the exam shorter."
)


@dataclass(frozen=True)
class Paper:
    """One student's paper."""

    student: str
    items: tuple[Item, ...]

    @property
    def expected(self) -> float:
        """The points that are earned on average."""
        return sum(MINUTES[item.kind] * item.expected for item in self.items)


def slots_of(minutes: int, kinds: Collection[str]) -> list[str]:
    """Return the kinds of the tasks and questions that fit into so many minutes, in the order of the paper.

    Raises CourseError if none fits.
    """
    slots, fits = list[str](), True
    while fits:
        fits = False
        for kind in KINDS:
            if kind in kinds and sum(MINUTES[each] for each in slots) + MINUTES[kind] <= minutes:
                slots.append(kind)
                fits = True
    if not slots:
        shortest = min(MINUTES[kind] for kind in kinds)
        raise CourseError(f"Nothing fits into {minutes} minutes: an exam needs {shortest} or more.")
    return sorted(slots, key=KINDS.index)


def draw_papers(
    items: Sequence[Item], students: Iterable[str], minutes: int, key: bytes, exam: str
) -> list[Paper]:
    """Draw a paper for each student, in the order of the roster; the same ones for the same key.

    A paper depends on the key, the name of the exam, the student and those before on the roster.

    Parameters
    ----------
    items
        What is drawn from.
    students
        Their ids; "" is the sample paper, which has no neighbours.
    minutes
        How long the exam takes.
    key
        What makes the draw unpredictable.
    exam
        The name of the exam.

    Raises
    ------
    CourseError
        If there are too few tasks or questions, so that two neighbours would have one in common.
    """
    slots = slots_of(minutes, {item.kind for item in items})
    needed = Counter(slots)
    goal = sum(MINUTES[kind] * _mean_of(items, kind) for kind in slots)
    papers, before = list[Paper](), Paper("", ())
    for student in students:
        seed = hmac.new(key, f"{exam}/{student}".encode(), hashlib.sha256).digest()
        draw, best = random.Random(seed), None
        for _ in range(TRIES):
            paper = Paper(student, _drawn(draw, items, needed, before.items, minutes))
            if _gives_away(paper):
                continue
            if best is None or abs(paper.expected - goal) < abs(best.expected - goal):
                best = paper
            if abs(best.expected - goal) <= BOUND * points_of(slots):
                break
        if best is None:
            raise CourseError(TOO_FEW.format(what=NAMES[FIX], minutes=minutes, count=needed[FIX]))
        papers.append(best)
        before = best if student else before
    return papers


def points_of(slots: Iterable[str]) -> int:
    """Return the points of a paper."""
    return sum(MINUTES[kind] for kind in slots)


def _mean_of(items: Sequence[Item], kind: str) -> float:
    families: dict[str, list[float]] = {}
    for item in items:
        if item.kind == kind:
            families.setdefault(item.family, []).append(item.expected)
    return mean(map(mean, families.values()))


def _drawn(
    draw: random.Random,
    items: Sequence[Item],
    needed: Mapping[str, int],
    near: Collection[Item],
    minutes: int,
) -> tuple[Item, ...]:
    """Draw a paper's items, if possible of many notebooks, and on other exercises than the neighbour's."""
    taken, near_families = {item.id for item in near}, {item.family for item in near}
    chosen = list[Item]()
    for kind in KINDS:
        families: dict[str, list[Item]] = {}
        for item in items:
            if item.kind == kind and item.id not in taken:
                families.setdefault(item.family, []).append(item)
        names = draw.sample(sorted(families), len(families))
        if len(names) < needed.get(kind, 0):
            raise CourseError(TOO_FEW.format(what=NAMES[kind], minutes=minutes, count=needed[kind]))
        for _ in range(needed.get(kind, 0)):
            used = Counter(item.lesson for item in chosen)
            name = min(names, key=lambda each: (each in near_families, used[families[each][0].lesson]))
            names.remove(name)
            chosen.append(draw.choice(families[name]))
    return tuple(chosen)


def _gives_away(paper: Paper) -> bool:
    """Return whether a task of a paper shows a line that another one has to become."""
    tasks = [item for item in paper.items if isinstance(item, Task)]
    return any(
        len(line) >= SHORTEST and line in other.lines
        for task in tasks
        for other in tasks
        if other is not task
        for line in task.right_lines
    )
