"""To be asked leaves no trace in what a kernel draws by chance, and the same question draws the same."""

from __future__ import annotations

import random

import numpy as np
import torch
import torch.nn as nn

from nbjudge.authoring import case
from nbjudge.calls import calls_for
from nbjudge.kernel.protocol import request
from nbjudge.probe.respond import respond
from nbjudge.torch import build
from nbjudge.values.packing import unpack


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return self.linear(x)


def chance_of_all(x):
    return x + random.random() + np.random.rand() + torch.rand(())


def call_answer(answer, *cases):
    """As a kernel is asked."""
    text = request("answer", calls_for(cases, [None] * len(cases)), {})
    return unpack(respond(text, {"answer": answer}))


def fresh_layers(*widths):
    return [case(torch.ones(2, width), build=build(width, look=("state",))) for width in widths]


def weights(answer):
    return answer["value"]["state"]["linear.weight"]


def test_the_same_request_draws_the_same_weights():
    """Two modules of one request draw different ones, and so does another request."""
    first, second = call_answer(Layer, *fresh_layers(5)), call_answer(Layer, *fresh_layers(5))
    assert torch.equal(weights(first[0]), weights(second[0]))
    other, another = call_answer(Layer, *fresh_layers(5, 5))
    assert not torch.equal(weights(other), weights(another))
    assert not torch.equal(weights(first[0]), weights(other))


def test_calls_leave_later_draws_unchanged():
    """What is drawn afterwards is what would have been drawn."""

    def next_numbers():
        return random.random(), np.random.rand(), torch.rand(3).tolist()

    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    expected = next_numbers()
    random.setstate(states[0])
    np.random.set_state(states[1])
    torch.set_rng_state(states[2])
    call_answer(Layer, *fresh_layers(5))
    call_answer(chance_of_all, case(torch.ones(3)))
    assert next_numbers() == expected


def test_an_answer_draws_the_same_for_the_same_request():
    """An answer that draws by chance is asked with the same chance."""
    first, second = (call_answer(chance_of_all, case(torch.ones(3)), case(torch.ones(3))) for _ in range(2))
    assert torch.equal(first[0]["value"], second[0]["value"])
    assert not torch.equal(first[0]["value"], first[1]["value"])
