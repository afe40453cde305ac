"""Points of a group that can pass without any computation are withheld until another group passes."""

import pytest
import torch
from judged_answers import judged, kinds
from torch_exercise import Exercise

from nbjudge.authoring import case
from nbjudge.judge.drawn_group import draw_group

double = Exercise("double", results=("doubled",))
double.group("tables", points=2)(lambda draw: [case(draw.normal(*draw.sizes(2)))])
double.group("tables of zeros", points=1)(lambda draw: [case(torch.zeros(draw.sizes(2)))])


@double.group("rows", points=1)
def rows(draw):
    (width,) = draw.sizes(1)
    yield case(draw.normal(width), refuses=(width,))


def reference(x):
    return 2 * unchanged(x)


def refuses(x):
    raise ValueError(f"not with {tuple(x.shape)}")


def unchanged(x):
    return x if x.dim() == 2 else refuses(x)


def tables_only(x):
    return 2 * x


@pytest.mark.parametrize(
    ("answer", "points", "withheld"),
    [(reference, 4, []), (tables_only, 3, []), (unchanged, 0, [1, 2]), (refuses, 0, [2])],
)
def test_what_needs_no_work_counts_beside_what_does(answer, points, withheld):
    """The reason is in the group's note, and the last finding names the groups."""
    verdict = judged(double, reference, answer)
    assert verdict.points == points
    assert [place for place, group in enumerate(verdict.groups) if group.note] == withheld
    assert ("withheld" in kinds(verdict)[:-1], "withheld" in kinds(verdict)) == (False, bool(withheld))
    assert all(verdict.groups[place].name in verdict.findings[-1].facts[0] for place in withheld)


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


def requires_computation(right, cases):
    exercise = Exercise("any", results=("any",))
    exercise.group("all", points=1)(cases)
    return draw_group(exercise, exercise.groups[0], right, 5).requires_computation


@pytest.mark.parametrize("name", ANSWERS)
def test_right_answers_show_what_takes_work(name):
    right, tells = ANSWERS[name]
    assert requires_computation(right, lambda draw: [case(draw.normal(7, 9)) for _ in range(3)]) is tells


@pytest.mark.parametrize(("count", "tells"), [(4, False), (12, True)])
def test_many_decisions_cannot_be_guessed(count, tells):
    assert requires_computation(lambda n: n % 2 == 0, lambda draw: map(case, range(count))) is tells


def test_an_exercise_without_work_gives_its_points():
    exercise = Exercise("no", results=("no",))
    exercise.group("no", points=1)(lambda draw: [case(draw.normal(3))])
    assert judged(exercise, lambda x: False, lambda x: False).points == 1
