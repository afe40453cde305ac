"""Scoring: points that are withheld, a layer's own weights, and mistakes beside a verifier."""

from __future__ import annotations

import pytest
import torch
from judged_answers import exercise_of, judged, kinds
from torch import nn
from torch_exercise import Exercise

from nbjudge.authoring import case
from nbjudge.judge.drawn_group import draw_group
from nbjudge.judge.findings import Cause
from nbjudge.torch import build

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
    exercise = exercise_of("any", cases, base=Exercise)
    return draw_group(exercise, exercise.groups[0], right, 5).requires_computation


@pytest.mark.parametrize(("right", "tells"), ANSWERS.values(), ids=ANSWERS)
def test_right_answers_show_what_takes_work(right, tells):
    assert requires_computation(right, lambda draw: [case(draw.normal(7, 9)) for _ in range(3)]) is tells


@pytest.mark.parametrize(("count", "tells"), [(4, False), (12, True)])
def test_many_decisions_cannot_be_guessed(count, tells):
    assert requires_computation(lambda n: n % 2 == 0, lambda draw: map(case, range(count))) is tells


def test_an_exercise_without_work_gives_its_points():
    exercise = exercise_of("no", lambda draw: [case(draw.normal(3))], base=Exercise)
    assert judged(exercise, lambda x: False, lambda x: False).points == 1


# ---- the weights that a layer draws itself -------------------------------------------------------


layer = Exercise("Layer", results=("output",))
OWN, SHORT, LONG = "with the weights it draws itself", "one number", "many numbers"


@layer.group(OWN, points=1, fresh=True)
def own_weights(draw):
    width, length = draw.sizes(2)
    yield case(draw.normal(length, width), build=build(width, look=("result", "state")))


def given_weights(draw, length):
    (width,) = draw.sizes(1)
    state = {"map.weight": draw.normal(width, width), "map.bias": draw.normal(width)}
    return case(draw.normal(length, width), build=build(width, state=state))


@layer.group(SHORT, points=1)
def short(draw):
    yield given_weights(draw, 1)


@layer.group(LONG, points=1)
def long(draw):
    yield given_weights(draw, draw.even_sizes(1)[0])


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.map = nn.Linear(width, width)

    def forward(self, x):
        return self.map(x)


class Doubled(Layer):
    def forward(self, x):
        return 2 * super().forward(x)


class WithoutBias(Layer):
    def forward(self, x):
        return x @ self.map.weight.T


class WrongWhereLong(Layer):
    def forward(self, x):
        return super().forward(x) * (2 if len(x) > 20 else 1)


def drawing(draw, base=Layer):
    """A layer that draws its own weights in another way."""

    class Drawing(base):
        def __init__(self, width):
            super().__init__(width)
            draw(self.map)

    return Drawing


def zeros(linear):
    nn.init.zeros_(linear.weight)


def all_zeros(linear):
    zeros(linear)
    nn.init.zeros_(linear.bias)


def next_to_zero(linear):
    nn.init.normal_(linear.weight, std=1e-9)


def orthogonal(linear):
    nn.init.orthogonal_(linear.weight)
    nn.init.zeros_(linear.bias)


class WithAHiddenScale(Layer):
    def __init__(self, width):
        super().__init__(width)
        self.scale = 2
        self.register_load_state_dict_post_hook(self.__class__.loaded)

    def loaded(self, _keys):
        self.scale = 1

    def forward(self, x):
        return self.scale * super().forward(x)


class NewAtEveryCall(WithAHiddenScale):
    def forward(self, x):
        return nn.Linear(x.shape[-1], x.shape[-1])(x) if self.scale == 2 else super().forward(x)


class OfAnotherName(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.other = nn.Linear(width, width)

    def forward(self, x):
        return self.other(x)


class StateOfNothing(Layer):
    def state_dict(self, *args, **kwargs):
        return torch.zeros(1)


ALL = {OWN, SHORT, LONG}


@pytest.mark.parametrize(
    ("answer", "groups", "reason", "kind"),
    [
        *((answer, ALL, None, None) for answer in (Layer, *map(drawing, (orthogonal, zeros, next_to_zero)))),
        # Weights that tell nothing earn points only where the formula is right on others.
        (drawing(all_zeros, WithoutBias), set(), Cause.WITHHELD_UNTIL_ONE, "withheld"),
        (WrongWhereLong, {OWN, SHORT}, None, "factor"),
        (drawing(zeros, WrongWhereLong), {SHORT}, Cause.WITHHELD_UNTIL_ALL, "withheld"),
        # Weights that do not explain the result.
        (WithAHiddenScale, {SHORT, LONG}, None, "unused_weights"),
        (NewAtEveryCall, {SHORT, LONG}, None, "unused_weights"),
        (OfAnotherName, set(), None, "wrong_parameters"),
        (StateOfNothing, {SHORT, LONG}, None, "stops"),
    ],
)
def test_a_layers_own_weights_must_explain_its_result(answer, groups, reason, kind):
    """The reference must agree on the weights that the layer draws itself, whatever they are."""
    verdict = judged(layer, Layer, answer)
    assert {group.name for group in verdict.groups if group.is_earned} == groups
    assert verdict.groups[0].note == (reason.says() if reason else "")
    assert kind in kinds(verdict) or not (kind or verdict.findings)


def test_a_wrong_formula_is_said_of_given_weights_only():
    assert kinds(judged(layer, Layer, Doubled)) == ["factor"]


# ---- a verifier in place of a comparison ---------------------------------------------------------

legal_path = Exercise("path", results=("path",))


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


@legal_path.group("some numbers", points=2, verify=steps_are_legal)
def numbers(draw):
    for number in (4, 2, draw.integer(12, 20)):
        yield case(number)


@legal_path.group("the length of a list", points=1)
def compared(draw):
    yield case(1)


@legal_path.mistake("It ends one step too early.")
def stops_early(number):
    return list(range(number))


@legal_path.mistake("It begins at 1.")
def begins_at_one(number):
    return list(range(1, number + 1))


@legal_path.mistake("It takes steps of 2.")
def steps_of_two(number):
    return [0, 1] if number == 1 else [*range(0, number, 2), number]


@legal_path.mistake("It jumps.")
def jumps(number):
    return [0, number]


@legal_path.mistake("It stops for numbers above 10.")
def stops(number):
    return path(number) if number < 10 else path[number]


def path(number):
    return list(range(number + 1))


def by_threes(number):
    return [*range(0, number - 2, 3), *range(number - number % 3, number + 1)] if number > 3 else path(number)


def test_right_answers_are_right_in_many_ways():
    assert by_threes(4) != path(4)
    assert [judged(legal_path, path, answer).points for answer in (path, by_threes)] == [3, 3]


def jumps_far(number):
    """Another right way where it is right."""
    return by_threes(number) if number < 10 else [0, number]


@pytest.mark.parametrize(
    ("name", "answer"),
    [*((mistake.name, mistake.answer) for mistake in legal_path.mistakes), ("jumps", jumps_far)],
)
def test_every_mistake_is_named(name, answer):
    verdict = judged(legal_path, path, answer)
    assert verdict.points < 3
    assert verdict.findings[0].mistake == name and verdict.findings[0].measured


def test_the_verifier_says_what_no_mistake_explains():
    verdict = judged(legal_path, path, lambda number: [0, number + 7] if number > 1 else [0, 1])
    assert kinds(verdict)[0] == "verifier" and verdict.message == "The path ends elsewhere."
