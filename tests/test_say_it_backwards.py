"""Lesson 7's first experiment: the losses that its text reads off the picture."""

import math
import runpy
from pathlib import Path

import pytest
import torch
import torch.nn as nn

READY_MADE = Path(__file__).parents[1] / "source" / "07_positional_encoding" / "ready_made.py"

pytestmark = pytest.mark.lesson


@pytest.fixture(scope="module")
def ready_made():
    return runpy.run_path(str(READY_MADE))


@pytest.mark.parametrize(
    ("positions", "attends_to", "letters_left"),
    [("Positions", "itself", 11), (None, "all", 5), ("Pasted", "all", 5), ("Positions", "all", 1)],
)
def test_each_model_ends_at_the_loss_of_what_it_knows(ready_made, positions, attends_to, letters_left):
    mask = torch.eye(6) if attends_to == "itself" else torch.ones(6, 6)
    layer = ready_made[positions]() if positions else nn.Identity()
    _, losses = ready_made["train"](layer, mask.bool(), seed=0)
    assert abs(ready_made["last_loss"](losses) - math.log(letters_left)) < 0.15


def test_the_given_positions_are_those_of_the_lesson(ready_made):
    angles = torch.arange(50)[:, None] / 10000 ** (torch.arange(0, 12, 2) / 12)
    expected = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    torch.testing.assert_close(ready_made["clock_hands"](50, 12), expected, rtol=0, atol=1e-4)
