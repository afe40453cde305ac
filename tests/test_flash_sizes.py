"""Lesson 11 counts memory where a whole matrix of scores is far more than the few blocks that are allowed."""

import runpy
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[1]
MEMORY = SimpleNamespace(**runpy.run_path(str(ROOT / "checks/flash/memory.py")))


@pytest.mark.parametrize(
    ("length", "block_size", "width"), list(product(MEMORY.LENGTHS, MEMORY.BLOCKS, MEMORY.WIDTHS))
)
def test_an_answer_that_keeps_every_block_holds_too_much_whatever_sizes_are_drawn(length, block_size, width):
    argument = SimpleNamespace(numel=lambda: length * width)
    one_block = MEMORY.BYTES * length * block_size
    told = {"largest": one_block, "most": MEMORY.BYTES * length * length, "elsewhere": 0}
    assert MEMORY.within("flash_attention", length, block_size, [argument], told)[1] == "most"
