"""With a verifier in place of a comparison, named mistakes come first, too."""

from __future__ import annotations

import pytest
from judged_answers import judged, kinds

from nbjudge.authoring.cases import case
from nbjudge.authoring.exercise import Exercise

exercise = Exercise("path", results=("path",))


def steps_are_legal(cases, values):
    """Any way from 0 to the number is right: steps of 1 and 3, each place once."""
    for drawn_case, path in zip(cases, values, strict=True):
        if path[0] != 0:
            return "The path begins elsewhere."
        if path[-1] != drawn_case.args[0]:
            return "The path ends elsewhere."
        if any(after - before not in (1, 3) for before, after in zip(path, path[1:], strict=False)):
            return "A step is neither 1 nor 3."
    return None


@exercise.group("some numbers", points=2, verify=steps_are_legal)
def numbers(draw):
    for number in (4, 2, draw.integer(12, 20)):
        yield case(number)


@exercise.group("the length of a list", points=1)
def compared(draw):
    yield case(1)


@exercise.mistake("It ends one step too early.")
def stops_early(number):
    return list(range(number))


@exercise.mistake("It begins at 1.")
def begins_at_one(number):
    return list(range(1, number + 1))


@exercise.mistake("It takes steps of 2.")
def steps_of_two(number):
    return [0, 1] if number == 1 else [*range(0, number, 2), number]


@exercise.mistake("It jumps.")
def jumps(number):
    return [0, number]


@exercise.mistake("It stops for numbers above 10.")
def stops(number):
    return path(number) if number < 10 else path[number]


def path(number):
    return list(range(number + 1))


def by_threes(number):
    return [*range(0, number - 2, 3), *range(number - number % 3, number + 1)] if number > 3 else path(number)


def test_right_answers_are_right_in_many_ways():
    assert by_threes(4) != path(4)
    assert [judged(exercise, path, answer).points for answer in (path, by_threes)] == [3, 3]


def jumps_far(number):
    """Another right way where it is right."""
    return by_threes(number) if number < 10 else [0, number]


@pytest.mark.parametrize(
    ("name", "answer"),
    [*((mistake.name, mistake.answer) for mistake in exercise.mistakes), ("jumps", jumps_far)],
)
def test_every_mistake_is_named(name, answer):
    verdict = judged(exercise, path, answer)
    assert verdict.points < 3
    assert verdict.findings[0].mistake == name and verdict.findings[0].measured


def test_the_verifier_says_what_no_mistake_explains():
    verdict = judged(exercise, path, lambda number: [0, number + 7] if number > 1 else [0, 1])
    assert kinds(verdict)[0] == "verifier" and verdict.message == "The path ends elsewhere."
