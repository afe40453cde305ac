"""The course's bug hunts: each is told apart by a small call, and a change of a few lines makes it right."""

from functools import cache

import pytest
from course_copies import ROOT

from nbjudge.calls import answers_of
from nbjudge.course.course import find_course
from nbjudge.judge.drawn_group import not_measured
from nbjudge.tutor import hunt_replies, messages
from nbjudge.tutor.hunts import MOST_LINES, SEED, Hunt, without_comments
from nbjudge.tutor.material import material_of
from nbjudge.tutor.messages import HuntRequest
from nbjudge.tutor.tutor import Tutor
from nbjudge.values.kinds import ArrayKind, kind_of, leaves

LARGEST_SIZE = 4
FEWEST = 200
NO_HUNTS = {
    "flash_backward",  # its arguments are results of a forward pass, which a call by hand does not have
    "train_epoch",  # its result is what it does to a model and an optimizer, which a call does not show
}


@cache
def material():
    return material_of(find_course(ROOT))


LESSONS = [folder for folder in material().assignments if not folder.startswith("00")]


def hunts_of(lesson: str) -> list[Hunt]:
    assignment = material().assignments[lesson]
    return [hunt for name in assignment.hunt_tables for hunt in assignment.hunts(name)]


def verify(hunt: Hunt) -> None:
    """A small allowed call tells it apart, another does not; few lines make it right."""
    assert 1 <= hunt.lines <= MOST_LINES, hunt.code
    assert hunt.says.endswith("."), hunt.code
    assert without_comments(hunt.code) == hunt.code  # comments would give it away
    smallest = hunt.smallest
    assert smallest is not None, hunt.code
    hunt.refuse(smallest.case)
    assert "value" in (smallest.answer.status, smallest.expected.status), hunt.code
    given = leaves([smallest.case.args, smallest.case.kwargs])
    sizes = [size for _, each in given if isinstance(kind_of(each), ArrayKind) for size in each.shape]
    assert max(sizes, default=0) <= LARGEST_SIZE, hunt.code
    assert hunt.example is not None and hunt.tried(hunt.example) is None, hunt.code


def test_there_are_hunts_in_every_lesson():
    tables = {lesson: material().assignments[lesson].hunt_tables for lesson in LESSONS}
    counts = {lesson: sum(len(each.hunts) for each in tables[lesson].values()) for lesson in LESSONS}
    assert len(counts) == 14 and min(counts.values()) > 0 and sum(counts.values()) >= FEWEST, counts


def test_every_other_exercise_has_hunts():
    assignments = [material().assignments[lesson] for lesson in LESSONS]
    without = {name for each in assignments for name in each.coded if name not in each.hunt_tables}
    assert without == NO_HUNTS


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_hunt_of_each_lesson_is_one(lesson):
    verify(hunts_of(lesson)[0])


@pytest.mark.integration
@pytest.mark.lesson
@pytest.mark.parametrize("lesson", LESSONS)
def test_every_hunt_is_one(lesson):
    """And the judge takes points from it, without a call that stops where the right answer does not."""
    hunts = hunts_of(lesson)
    assert len({hunt.id for hunt in hunts}) == len(hunts)
    for hunt in hunts:
        verify(hunt)
        assert hunt.verdict.points < hunt.verdict.max_points, hunt.code
        if hunt.table.given:
            continue
        for group in material().assignments[lesson].drawn_groups(hunt.exercise.name, SEED):
            answers = answers_of(hunt.function, [not_measured(call) for call in group.calls])
            pairs = zip(group.cases, answers, strict=True)
            assert all(answer.status == "value" for case, answer in pairs if case.refuses is None), hunt.code


@pytest.mark.integration
@pytest.mark.parametrize("lesson", LESSONS)
def test_a_hunt_shows_nothing_of_the_solution(lesson):
    """Before it is fixed or given up: no line that the change has replaced, and no sentence about it."""
    tutor = Tutor(material())
    for hunt in hunts_of(lesson):
        request = HuntRequest(step="show", exercise=hunt.exercise.name, folder=lesson, is_earned=True)
        number = material().assignments[lesson].hunts(hunt.exercise.name).index(hunt) + 1
        request.number = number
        shown = tutor.reply(request)
        shown.source = ""
        sent = b"".join(messages.encode(shown)).decode()
        sent += "".join(part.text for place in range(3) for part in hunt_replies.hint(hunt, place))
        solution = without_comments(material().assignments[lesson].solution(hunt.exercise.name)).splitlines()
        gone = [line.strip() for line in solution if line not in hunt.code.splitlines()]
        assert not any(line in sent for line in gone if line not in hunt.code), hunt.code
        assert hunt.says not in sent
