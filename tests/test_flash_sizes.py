"""Lesson 11 counts memory where a whole matrix of scores is far more than the few blocks that are allowed."""

import runpy
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from attention_lab.authoring import case
from nbjudge.course.course import open_course

ROOT = Path(__file__).parents[1]
MEMORY = SimpleNamespace(**runpy.run_path(str(ROOT / "checks/flash/memory.py")))


@pytest.mark.parametrize(
    ("length", "block_size", "width"), list(product(MEMORY.LENGTHS, MEMORY.BLOCKS, MEMORY.WIDTHS))
)
def test_an_answer_that_keeps_every_block_holds_too_much_whatever_sizes_are_drawn(length, block_size, width):
    argument = SimpleNamespace(numel=lambda: length * width)
    one_block = MEMORY.BYTES * length * block_size
    told = {"largest": one_block, "most": MEMORY.BYTES * length * length}
    assert MEMORY.within("flash_attention", length, block_size, [argument], told)[1] == "most"


SHORT, SHORT_CAUSAL = MEMORY.SHORT


@pytest.mark.parametrize(
    ("length", "block_size", "given", "largest", "named"),
    [(length, SHORT[1], {}, MEMORY.BYTES * length**2, "a_number_of_blocks") for length in SHORT[0]]
    # A boolean mask, whose elements take one byte.
    + [(length, SHORT_CAUSAL[1], {"causal": True}, length**2, "a_mask_of_all") for length in SHORT_CAUSAL[0]],
)
def test_a_large_block_and_a_large_mask_are_told_apart(length, block_size, given, largest, named):
    _, exercise = open_course(ROOT).exercise("flash_attention")
    (verify,) = (group.verify for group in exercise.groups if group.name.startswith("memory"))
    drawn_case = case(*torch.zeros(3, length, max(MEMORY.WIDTHS)), block_size, **given)
    assert verify([drawn_case], [{"largest": largest, "most": largest}]) == named
