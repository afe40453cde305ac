"""Scoring: points that are withheld, a layer's own weights, and mistakes beside a verifier."""

from functools import partial

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


WORK = {
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
    "four decisions": (lambda n: n % 2 == 0, False),
    "twelve decisions, which cannot be guessed": (lambda n: n % 2 == 0, True),
}


@pytest.mark.parametrize("name", WORK)
def test_right_answers_show_what_takes_work(name):
    def cases(draw):
        if "decisions" in name:
            return map(case, range(12 if tells else 4))
        return [case(draw.normal(7, 9)) for _ in range(3)]

    right, tells = WORK[name]
    exercise = exercise_of("any", cases, base=Exercise)
    assert draw_group(exercise, exercise.groups[0], right, 5).requires_computation is tells
    assert judged(exercise, right, right).points == 1  # also of an exercise in which nothing takes work


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


def layer_with(**methods):
    return type("Layer", (Layer,), methods)


Doubled = layer_with(forward=lambda self, x: 2 * self.map(x))
WithoutBias = layer_with(forward=lambda self, x: x @ self.map.weight.T)
WrongWhereLong = layer_with(forward=lambda self, x: self.map(x) * (2 if len(x) > 20 else 1))


def drawing(draw_weight, draw_bias=nn.init.zeros_, base=Layer):
    """A layer that draws its own weights in another way."""

    class Drawing(base):
        def __init__(self, width):
            super().__init__(width)
            draw_weight(self.map.weight)
            draw_bias(self.map.bias)

    return Drawing


next_to_zero = partial(nn.init.normal_, std=1e-9)


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


StateOfNothing = layer_with(state_dict=lambda self, *args, **kwargs: torch.zeros(1))


ALL = {OWN, SHORT, LONG}


@pytest.mark.parametrize(
    ("answer", "groups", "reason", "kind"),
    [
        (Layer, ALL, None, None),
        (drawing(nn.init.orthogonal_), ALL, None, None),
        (drawing(nn.init.zeros_, nn.init.ones_), ALL, None, None),
        (drawing(next_to_zero, nn.init.ones_), ALL, None, None),
        # Weights that tell nothing earn points only where the formula is right on others.
        (drawing(nn.init.zeros_, base=WithoutBias), set(), Cause.WITHHELD_UNTIL_ONE, "withheld"),
        (WrongWhereLong, {OWN, SHORT}, None, "factor"),
        (
            drawing(nn.init.zeros_, nn.init.ones_, WrongWhereLong),
            {SHORT},
            Cause.WITHHELD_UNTIL_ALL,
            "withheld",
        ),
        # The formula is wrong, which is said of given weights only; weights that do not explain the result.
        (Doubled, set(), None, "factor"),
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
    assert [kind] == kinds(verdict)[-1:] or not (kind or verdict.findings)


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


def jumps_far(number):
    """Another right way where it is right."""
    return by_threes(number) if number < 10 else [0, number]


@pytest.mark.parametrize(
    ("answer", "kind", "mistake"),
    [
        (path, None, ""),
        (by_threes, None, ""),
        *((mistake.answer, "mistake", mistake.name) for mistake in legal_path.mistakes),
        (jumps_far, "mistake", "jumps"),
        (lambda number: [0, number + 7] if number > 1 else [0, 1], "verifier", None),
    ],
)
def test_right_answers_are_right_in_many_ways(answer, kind, mistake):
    """Every mistake is named; the verifier says what no mistake explains."""
    verdict = judged(legal_path, path, answer)
    assert (verdict.points == 3) == (verdict.findings == ()) == (kind is None)
    if kind == "mistake":
        assert verdict.findings[0].mistake == mistake and verdict.findings[0].measured
    if kind == "verifier":
        assert kinds(verdict)[0] == "verifier" and verdict.message == "The path ends elsewhere."
