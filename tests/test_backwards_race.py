"""Lesson 7's first experiment: the losses that its text reads off the picture."""

import math

import pytest
import torch
import torch.nn as nn

from attention_lab.lesson_07 import given

pytestmark = pytest.mark.lesson


@pytest.mark.parametrize(
    ("positions", "attends_to", "letters_left"),
    [("Positions", "itself", 11), (None, "all", 5), ("Pasted", "all", 5), ("Positions", "all", 1)],
)
def test_each_model_ends_at_the_loss_of_what_it_knows(positions, attends_to, letters_left):
    mask = torch.eye(6) if attends_to == "itself" else torch.ones(6, 6)
    layer = getattr(given, positions)() if positions else nn.Identity()
    _, losses = given.train(layer, mask.bool(), seed=0)
    assert abs(given.last_loss(losses) - math.log(letters_left)) < 0.15


def test_the_given_positions_are_those_of_the_lesson():
    angles = torch.arange(50)[:, None] / 10000 ** (torch.arange(0, 12, 2) / 12)
    expected = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    torch.testing.assert_close(given.clock_hands(50, 12), expected, rtol=0, atol=1e-4)
