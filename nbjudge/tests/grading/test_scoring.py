"""Points of a group that can pass without any computation are withheld until another group passes."""

import pytest
import torch
from torch_exercise import Exercise

from nbjudge.authoring import case
from nbjudge.calls import read_reply
from nbjudge.judge.drawn_group import draw_group
from nbjudge.judge.scoring import judge_exercise
from nbjudge.probe import respond

double = Exercise("double", results=("doubled",))


@double.group("tables", points=2)
def tables(draw):
    yield case(draw.normal(*draw.sizes(2)))


@double.group("tables of zeros", points=1)
def zeros(draw):
    yield case(torch.zeros(draw.sizes(2)))


@double.group("rows", points=1)
def rows(draw):
    (width,) = draw.sizes(1)
    yield case(draw.normal(width), refuses=(width,))


def reference(x):
    if x.dim() != 2:
        raise ValueError(f"a table is asked for, not {tuple(x.shape)}")
    return 2 * x


def refuses(x):
    raise ValueError(f"not with {tuple(x.shape)}")


def unchanged(x):
    if x.dim() != 2:
        refuses(x)
    return x


def tables_only(x):
    return 2 * x


def verdict_on(answer, exercise=double, right=reference):
    def call_answer(_name, calls, watched_calls):
        return read_reply(respond.answer_calls(answer, calls, watched_calls), len(calls))

    return judge_exercise(exercise, right, call_answer, seed=3)


@pytest.mark.parametrize(
    ("answer", "points"), [(reference, 4), (tables_only, 3), (unchanged, 0), (refuses, 0)]
)
def test_what_is_right_without_work_counts_beside_what_is_not(answer, points):
    assert verdict_on(answer).points == points


def test_withheld_points_come_with_the_reason():
    verdict = verdict_on(unchanged)
    assert [bool(group.note) for group in verdict.groups] == [False, True, True]
    last = verdict.findings[-1].sentence
    assert last.startswith("Right so far: “tables of zeros” and “rows”; these points count once ")
    assert not any(group.note for group in verdict_on(reference).groups)


def test_the_finding_about_what_is_wrong_comes_first():
    assert "Right so far" not in verdict_on(unchanged).message


ANSWERS = {
    "numbers": (lambda x: x + 1, True),
    "the argument": (lambda x: x, False),
    "the argument in another shape": (lambda x: x.flatten(), False),
    "zeros": (lambda x: x * 0, False),
    "one number": (lambda x: x.sum(), True),
    "a whole number": (lambda x: x.sum() * 0 + 1, False),
    "a float": (lambda x: x.sum().item(), True),
    "a size": (lambda x: x.shape[0], False),
    "a large number": (lambda x: 1000 + x.numel(), True),
    "always yes": (lambda x: True, False),
    "a few words": (lambda x: "odd" if x[0, 0] > 0 else "even", False),
    "numbers beside a constant": (lambda x: (x * 0, x + 1), True),
    "numbers under a name": (lambda x: {"zero": 0, "more": x + 1}, True),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_takes_work_is_seen_from_the_right_answers(name):
    right, tells = ANSWERS[name]
    exercise = Exercise("any", results=("any",))
    exercise.group("all", points=1)(lambda draw: [case(draw.normal(7, 9)) for _ in range(3)])
    assert draw_group(exercise, exercise.groups[0], right, 5).requires_computation is tells


def test_yes_and_no_tell_when_there_are_too_many_of_them_for_a_coin():
    for count, tells in ((4, False), (12, True)):
        exercise = Exercise("even", results=("even",))
        exercise.group("all", points=1)(lambda draw, count=count: [case(n) for n in range(count)])
        assert draw_group(exercise, exercise.groups[0], lambda n: n % 2 == 0, 5).requires_computation is tells


def test_an_exercise_with_nothing_to_work_out_still_gives_its_points():
    exercise = Exercise("no", results=("no",))
    exercise.group("no", points=1)(lambda draw: [case(draw.normal(3))])
    assert verdict_on(lambda x: False, exercise, lambda x: False).points == 1
