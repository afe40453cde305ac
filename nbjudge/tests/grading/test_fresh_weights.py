"""A module is judged on the weights that it drew itself, too: the reference must agree on them."""

import pytest
import torch
from torch import nn
from torch_exercise import Exercise

from nbjudge.authoring import case
from nbjudge.calls import read_reply
from nbjudge.judge.scoring import judge_exercise
from nbjudge.probe import respond
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


class DrawnFromZero(Layer):
    def __init__(self, width):
        super().__init__(width)
        nn.init.zeros_(self.map.weight)


class NextToZero(Layer):
    def __init__(self, width):
        super().__init__(width)
        nn.init.normal_(self.map.weight, std=1e-9)


class DrawnOrthogonal(Layer):
    def __init__(self, width):
        super().__init__(width)
        nn.init.orthogonal_(self.map.weight)
        nn.init.zeros_(self.map.bias)


class NoBias(Layer):
    """Wrong on weights that tell, and right on its own, which do not."""

    def __init__(self, width):
        super().__init__(width)
        nn.init.zeros_(self.map.weight)
        nn.init.zeros_(self.map.bias)

    def forward(self, x):
        return x @ self.map.weight.T


class WrongWhereLong(Layer):
    def forward(self, x):
        return super().forward(x) * (2 if len(x) > 20 else 1)


class ZeroAndWrongWhereLong(WrongWhereLong):
    def __init__(self, width):
        super().__init__(width)
        nn.init.zeros_(self.map.weight)


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


def verdict_on(answer):
    def call_answer(_name, calls, watched_calls):
        return read_reply(respond.answer_calls(answer, calls, watched_calls), len(calls))

    return judge_exercise(layer, Layer, call_answer, seed=3)


def agreeing(verdict):
    return {group.name for group in verdict.groups if group.is_earned}


@pytest.mark.parametrize("answer", [Layer, DrawnOrthogonal, DrawnFromZero, NextToZero])
def test_whatever_weights_it_draws_are_right(answer):
    verdict = verdict_on(answer)
    assert verdict.points == 3
    assert verdict.findings == ()


def test_weights_that_tell_nothing_count_for_nothing():
    verdict = verdict_on(NoBias)
    assert verdict.points == 0
    assert verdict.groups[0].note in verdict.findings[-1].sentence
    assert "these points count once at least one group passes" in verdict.groups[0].note


def test_weights_of_zero_count_where_the_formula_is_right_on_others():
    assert agreeing(verdict_on(WrongWhereLong)) == {OWN, SHORT}
    verdict = verdict_on(ZeroAndWrongWhereLong)
    assert agreeing(verdict) == {SHORT}
    assert "almost zero" in verdict.findings[-1].sentence


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (WithAHiddenScale, "On the weights that `Layer` draws for itself it gives other numbers"),
        (NewAtEveryCall, "On the weights that `Layer` draws for itself it gives other numbers"),
        (OfAnotherName, "are not those the exercise names"),
        (StateOfNothing, "stops with AttributeError"),
    ],
)
def test_a_module_that_its_own_weights_do_not_explain_gets_nothing_for_them(answer, says):
    verdict = verdict_on(answer)
    assert OWN not in agreeing(verdict)
    assert says in " ".join(finding.sentence for finding in verdict.findings)


class Doubled(Layer):
    def forward(self, x):
        return 2 * super().forward(x)


def test_an_answer_that_is_wrong_on_given_weights_is_told_of_that_only():
    (finding,) = verdict_on(Doubled).findings
    assert "times what it should be" in finding.sentence
