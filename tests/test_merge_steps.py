"""The stepper through blocks: whatever the order, it ends on the softmax of the whole row."""

import itertools
import re
import time

import pytest
import torch

from attention_lab.sliders import merge_steps

SCORES = torch.tensor([1.0, 0.2, 2.5, -0.4, 0.9, 3.1, 0.0])
VALUES = torch.tensor([1.0, -1.0, 2.0, 0.5, 4.0, -2.0, 3.0])


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_every_order_ends_on_the_softmax_of_all(order):
    merged = merge_steps.MergedRow()
    for number in order:
        block = slice(2 * number, 2 * number + 2)
        merged = merged.and_block(SCORES[block].double(), VALUES[block].double())
    assert merged.output == pytest.approx(float(SCORES.softmax(-1) @ VALUES), abs=1e-6)
    assert merged.maximum == pytest.approx(3.1)
    assert merged.total == pytest.approx(float((SCORES - 3.1).exp().sum()), abs=1e-6)


def test_the_words_say_the_numbers_of_the_step():
    label = merge_steps.merge_figure(2, SCORES, VALUES, block_size=2).get_label()
    first = float((SCORES[:2] - 1).exp().sum())
    total = float((SCORES[:4] - 2.5).exp().sum())
    assert f"the old total {first:.3f} is multiplied by exp(1.000 − 2.500)" in label
    assert f"Maximum 2.500, total {total:.3f}" in label and "Still to come: 2, 3." in label
    last = merge_steps.merge_figure(4, SCORES, VALUES, block_size=2).get_label()
    assert "no larger score" in last and "all of them" in last


def test_buttons_move_picture_and_words_and_another_order_ends_alike():
    widget = merge_steps.merge_stepper(SCORES, VALUES, block_size=2)
    slider, back, forward, another = widget.children[0].children
    assert back.disabled and not forward.disabled
    began = time.perf_counter()
    forward.click()
    assert time.perf_counter() - began < 1  # a tenth of it on a quiet machine
    assert slider.value == 1 and "Block 0 is the first" in widget.children[2].value
    firsts, ends = ["0"], set()
    for _ in range(3):
        slider.value = slider.max
        ends.add(re.search(r"Maximum.*output -?[\d.]+\.", widget.children[2].value)[0])
        assert forward.disabled
        another.click()
        assert slider.value == 0
        forward.click()
        firsts += re.findall(r"Block (\d) is the first", widget.children[2].value)
    assert firsts == ["0", "3", "1", "0"] and len(ends) == 1


@pytest.mark.parametrize("block_size", [0, 7])
def test_a_row_that_is_not_cut_is_refused(block_size):
    with pytest.raises(ValueError, match="blocks"):
        merge_steps.merge_stepper(SCORES, VALUES, block_size=block_size)


def test_values_for_other_keys_are_refused():
    with pytest.raises(ValueError, match=r"\(7,\) and \(6,\)"):
        merge_steps.merge_figure(0, SCORES, VALUES[:6], block_size=2)
