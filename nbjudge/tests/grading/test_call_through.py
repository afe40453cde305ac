"""What cannot travel is made in the kernel: optimizers and tables through an adapter, layers as arguments."""

import gc
import inspect
from collections import namedtuple
from functools import partial

import pytest
import torch
from judged_answers import judged_as_text
from torch import nn
from torch_exercise import Exercise

from nbjudge.authoring import MadeInKernel, case, made_by
from nbjudge.calls import calls_for
from nbjudge.errors import CourseError
from nbjudge.probe import respond
from nbjudge.torch import build
from nbjudge.values import packing


def with_an_optimizer(answer, rate):
    """telltale docstring"""

    # telltale comment
    def one_step(start, gradient):
        weight = nn.Parameter(start.clone())
        weight.grad = gradient
        answer([weight], torch.optim.SGD([weight], lr=rate))
        return {"weight": weight.detach(), "has gradient": weight.grad is not None}

    return one_step


def layer(width):
    return nn.Linear(width, width, bias=False)


step = Exercise("step", results=("weight",))
tower = Exercise("Tower", results=("output",))


@step.group("one step", points=1)
def one_step(draw):
    (width,) = draw.sizes(1)
    yield case(draw.normal(width), draw.normal(width), through=partial(with_an_optimizer, rate=0.5))


@step.mistake("The weights are what they were: no step was taken.")
def takes_no_step(weights, optimizer):
    optimizer.zero_grad()


@tower.group("with a layer of ours", points=1)
def with_a_layer(draw):
    width, length = draw.sizes(2)
    state = {"layer.weight": draw.normal(width, width)}
    layer_build = build(made_by(layer, width=width), state=state, look=("result", "twice"))
    yield case(draw.normal(length, width), build=layer_build)


class Tower(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)

    def twice(self, x):
        return self(self(x))


class ForgetsTheSecond(Tower):
    def twice(self, x):
        return self(x)


def takes_a_step(weights, optimizer):
    optimizer.step()
    optimizer.zero_grad()


def doubles_the_step(weights, optimizer):
    optimizer.step()
    optimizer.step()


def test_an_adapter_makes_the_arguments_and_reports():
    assert judged_as_text(step, takes_a_step, takes_a_step).points == 1
    mistaken = judged_as_text(step, takes_a_step, takes_no_step)
    assert (mistaken.points, mistaken.findings[0].mistake) == (0, "takes_no_step")


@pytest.mark.parametrize(
    ("exercise", "reference", "answer", "name"),
    [(step, takes_a_step, doubles_the_step, "`weight`"), (tower, Tower, ForgetsTheSecond, "`twice`")],
)
def test_a_wrong_entry_is_called_by_its_name(exercise, reference, answer, name):
    assert judged_as_text(exercise, reference, reference).points == 1
    verdict = judged_as_text(exercise, reference, answer)
    assert verdict.points == 0 and name in verdict.findings[0].facts


def test_an_answer_that_is_not_there_needs_no_adapter():
    assert judged_as_text(step, takes_a_step, None).points == 0


def test_the_judges_code_arrives_without_its_text():
    drawn_case = case(torch.ones(2), torch.ones(2), through=partial(with_an_optimizer, rate=0.5))
    request = packing.pack({"target": "step", "calls": calls_for([drawn_case], [None]), "watched_calls": {}})
    found = []

    def searches(weights, optimizer):
        found.extend(thing for thing in gc.get_objects() if isinstance(thing, dict))
        takes_a_step(weights, optimizer)

    assert "telltale" not in request
    packing.unpack(respond.respond(request, {"step": searches}))
    received = [space for space in found if space.get("given") == {"rate": 0.5} and "made" in space]
    adapter = received[0]["with_an_optimizer"]
    assert adapter.__doc__ is None and "telltale" not in repr(adapter.__code__.co_consts)
    with pytest.raises(OSError):
        inspect.getsource(adapter)


def test_code_in_an_answer_is_not_read():
    """Code in an answer is not even read by the judge."""
    reply = packing.pack([{"value": MadeInKernel("made = 1")}])
    with pytest.raises(ValueError, match="not something a kernel may send: made"):
        packing.unpack(reply)
    (question,) = packing.unpack(reply, with_code=True)
    assert isinstance(question["value"], MadeInKernel)


WIDTH, OPEN = 3, gc  # a constant comes along, and a module by its name
LOCK = nn.Linear(1, 1)


class Doubled(nn.Module):
    def forward(self, x):
        return helped(x) * WIDTH


def helped(x):
    return OPEN.isenabled() * x


def test_code_brings_what_it_uses_of_its_file():
    """Code for the kernel brings what it uses of its own file."""
    received = packing.unpack(packing.pack(made_by(Doubled)), with_code=True)
    assert respond.make(received)(torch.ones(2)).tolist() == [3.0, 3.0]


TABLE = {LOCK: 1}


@pytest.mark.parametrize("name", ["LOCK", "TABLE"])
def test_what_cannot_come_along_is_said_to_the_author(name):
    def uses(x):
        return LOCK(x)

    def looks_up(x):
        return TABLE.get(x)

    with pytest.raises(CourseError, match=f"uses {name}, a .* that cannot come along"):
        case(1, through=uses if name == "LOCK" else looks_up)


def test_a_named_tuple_arrives_as_a_plain_one():
    pair = namedtuple("pair", "rows factor")
    scaled = Exercise("scaled", results=("rows",))

    @scaled.group("pairs", points=1)
    def pairs(draw):
        yield case(pair(draw.normal(3, 2), 3.0))

    def reference(given):
        assert type(given) is tuple
        rows, factor = given
        return factor * rows

    assert judged_as_text(scaled, reference, reference).points == 1
