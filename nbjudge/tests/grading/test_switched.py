"""What a cell switches in torch holds for the answer, too: it is set back, or the call is named."""

from __future__ import annotations

import pytest
import torch

from nbjudge.authoring.cases import case
from nbjudge.authoring.exercise import Exercise
from nbjudge.calls import read_reply
from nbjudge.judge.scoring import judge_exercise
from nbjudge.kernel.protocol import request
from nbjudge.probe import respond
from nbjudge.torch import Draw
from nbjudge.values.packing import unpack

shifted = Exercise("shifted", results=("numbers",), draw=Draw)
shifted.group("numbers", points=1)(lambda draw: [case(draw.normal(4), gradients=True)])


def shift(x):
    return x + torch.ones(4)


def verdict_after(switch, undo):
    """The verdict on a right answer in a kernel where a cell has called `switch`."""

    def call(name, calls, watched_calls):
        text = request(name, calls, watched_calls)
        switch()
        try:
            answered = respond.respond(text, {"shifted": shift})
        finally:
            undo()
        return read_reply(unpack(answered), len(calls))

    return judge_exercise(shifted, shift, call, seed=1)


def test_a_default_device_does_not_reach_the_answer():
    """Afterwards the cell's own choice is in force again."""
    left = []

    def undo():
        left.append(torch.get_default_device().type)
        torch.set_default_device(None)

    assert verdict_after(lambda: torch.set_default_device("meta"), undo).points == 1
    assert set(left) == {"meta"}


@pytest.mark.parametrize(
    ("switch", "setting", "default"),
    [
        (torch.set_default_dtype, torch.float64, torch.float32),
        (torch.set_grad_enabled, False, True),
    ],
)
def test_another_switch_is_named(switch, setting, default):
    """Unless the grader's process has it as well, because the course sets it."""
    named = f"A cell has called `torch.{switch.__name__}({setting})`, which holds for this answer, too"
    verdict = verdict_after(lambda: switch(setting), lambda: switch(default))
    assert verdict.points == 0
    assert named in verdict.message
    assert "A cell has called" not in verdict_after(lambda: None, lambda: None).message
