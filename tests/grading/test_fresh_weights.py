"""A module is judged on the weights that it drew itself, too: the reference must agree on them."""

import pytest
import torch
from torch import nn

from attention_lab.grading import respond
from attention_lab.grading.answers import read_reply
from attention_lab.grading.exercise import Exercise, ask, build
from attention_lab.grading.judge import judge

layer = Exercise("Layer", results=("output",))


@layer.group("with the weights it draws itself", points=1, fresh=True)
def own_weights(draw):
    width, length = draw.sizes(2)
    yield ask(draw.normal(length, width), build=build(width, look=("result", "state")))


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


class WithAHiddenScale(Layer):
    def forward(self, x):
        return 2 * super().forward(x)


class NewAtEveryCall(Layer):
    def forward(self, x):
        return nn.Linear(x.shape[-1], x.shape[-1])(x)


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
    def asking(_name, calls, trace):
        return read_reply(respond.answer_calls(answer, calls, trace), len(calls))

    return judge(layer, Layer, asking, seed=3)


@pytest.mark.parametrize("answer", [Layer, DrawnFromZero])
def test_whatever_weights_it_draws_are_right(answer):
    assert verdict_on(answer).points == 1


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (WithAHiddenScale, "gives other numbers than its formula"),
        (NewAtEveryCall, "gives other numbers than its formula"),
        (OfAnotherName, "are not those it is asked to have"),
        (StateOfNothing, "stops with AttributeError"),
    ],
)
def test_a_module_that_its_own_weights_do_not_explain_gets_nothing(answer, says):
    verdict = verdict_on(answer)
    assert verdict.points == 0
    assert says in verdict.message
