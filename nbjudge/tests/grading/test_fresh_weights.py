"""A module is judged on the weights that it drew itself, too: the reference must agree on them."""

import pytest
import torch
from judged_answers import judged, kinds
from torch import nn
from torch_exercise import Exercise

from nbjudge.authoring import case
from nbjudge.judge.findings import Cause
from nbjudge.torch import build

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


def earned(verdict):
    return {group.name for group in verdict.groups if group.is_earned}


@pytest.mark.parametrize("answer", [Layer, *map(drawing, (orthogonal, zeros, next_to_zero))])
def test_whatever_weights_it_draws_are_right(answer):
    verdict = judged(layer, Layer, answer)
    assert (verdict.points, verdict.findings) == (3, ())


@pytest.mark.parametrize(
    ("answer", "groups", "reason"),
    [
        (drawing(all_zeros, WithoutBias), set(), Cause.WITHHELD_UNTIL_ONE),
        (WrongWhereLong, {OWN, SHORT}, None),
        (drawing(zeros, WrongWhereLong), {SHORT}, Cause.WITHHELD_UNTIL_ALL),
    ],
)
def test_weights_of_zero_count_beside_others(answer, groups, reason):
    """Weights that tell nothing earn points only where the formula is right on others."""
    verdict = judged(layer, Layer, answer)
    assert earned(verdict) == groups
    assert verdict.groups[0].note == (reason.says() if reason else "")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (WithAHiddenScale, "unused_weights"),
        (NewAtEveryCall, "unused_weights"),
        (OfAnotherName, "wrong_parameters"),
        (StateOfNothing, "stops"),
    ],
)
def test_weights_that_do_not_explain_the_result(answer, kind):
    verdict = judged(layer, Layer, answer)
    assert OWN not in earned(verdict) and kind in kinds(verdict)


def test_a_wrong_formula_is_said_of_given_weights_only():
    assert kinds(judged(layer, Layer, Doubled)) == ["factor"]
