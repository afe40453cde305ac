"""The blocks are where torch puts them, on the right way and on the wrong one, and read in grey."""

import pytest
import torch
from matplotlib.colors import to_rgb

from attention_lab.sliders.blocks import (
    LAST_STEP,
    RIGHT,
    WRONG,
    reshape_figure,
    right_blocks,
    wrong_blocks,
)

TOKENS = ["I", "am", "learning", "this"]
SIZES = [(4, 2), (3, 2), (5, 3), (2, 4), (1, 1), (1, 3), (4, 1)]
STEPS = range(LAST_STEP + 1)


def real_tensor(length, num_heads, width=3):
    """x (1, T, E) in which every number is the number of its block."""
    blocks = torch.arange(length * num_heads).view(length, num_heads, 1)
    return blocks.expand(length, num_heads, width).reshape(1, length, num_heads * width)


def texts(ax):
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize(("length", "num_heads"), SIZES)
def test_the_right_way_is_what_torch_makes_of_a_real_tensor(length, num_heads):
    x = real_tensor(length, num_heads)
    cut = x.view(1, length, num_heads, 3)
    split = cut.transpose(1, 2)
    back = split.contiguous().transpose(1, 2)
    for step, tensor in ((1, cut), (2, split), (3, back)):
        assert torch.equal(right_blocks(step, length, num_heads), tensor[0, ..., 0])
        assert torch.equal(right_blocks(step, length, num_heads), tensor[0, ..., 2])
    merged = back.reshape(1, length, num_heads * 3)
    assert torch.equal(right_blocks(4, length, num_heads), merged[0, :, ::3])


@pytest.mark.parametrize(("length", "num_heads"), SIZES)
def test_the_wrong_way_is_what_view_alone_makes(length, num_heads):
    viewed = real_tensor(length, num_heads).view(1, num_heads, length, 3)[0, ..., 0]
    for step in (1, 2, 3):
        assert torch.equal(wrong_blocks(step, length, num_heads), viewed)
    assert torch.equal(wrong_blocks(4, length, num_heads), right_blocks(0, length, num_heads))


def test_only_the_transpose_after_attention_leaves_memory_in_another_order():
    assert [right_blocks(step, 4, 2).is_contiguous() for step in STEPS] == [True, True, False, False, True]
    assert all(wrong_blocks(step, 4, 2).is_contiguous() for step in STEPS)


@pytest.mark.parametrize("step", STEPS)
def test_every_block_says_its_token_and_its_head(step):
    right, wrong = reshape_figure(step, TOKENS).axes
    for ax in (right, wrong):
        labels = [text.replace("  ✗", "") for text in texts(ax)]
        assert all(f"{token}\nhead {head}" in labels for token in TOKENS for head in (0, 1))
    assert RIGHT[step].shape in right.get_title() and WRONG[step].shape in wrong.get_title()


@pytest.mark.parametrize("step", STEPS)
def test_a_cross_marks_every_block_that_is_not_in_its_place(step):
    right, wrong = reshape_figure(step, TOKENS).axes
    assert not any("✗" in text for text in texts(right) if "\n" in text)
    crossed = sum("✗" in text for text in texts(wrong) if "\n" in text)
    assert crossed == (6 if 0 < step < LAST_STEP else 0)


def test_memory_is_drawn_in_the_order_of_memory():
    def memory(step):
        strip = [text for text in texts(reshape_figure(step, TOKENS).axes[0]) if text[-1].isdigit()]
        return [text for text in strip if "\n" not in text and not text.startswith("head")]

    by_token = ["I 0", "I 1", "am 0", "am 1", "lea 0", "lea 1", "thi 0", "thi 1"]
    assert memory(0) == memory(1) == memory(2) == memory(4) == by_token
    assert memory(3) == sorted(by_token, key=lambda label: label[-1])


def test_heads_differ_in_lightness_and_not_only_in_hue():
    right = reshape_figure(2, TOKENS[:3], num_heads=4).axes[0]
    colours = {patch.get_facecolor() for patch in right.patches}
    lightness = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b, _ in colours)
    assert len(lightness) == 4
    assert min(b - a for a, b in zip(lightness, lightness[1:], strict=False)) > 0.05


def luminance(colour):
    """How bright a colour looks, from 0 to 1: https://www.w3.org/TR/WCAG21/#dfn-relative-luminance"""
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("num_heads", [1, 2, 3, 4])
def test_the_label_of_a_block_contrasts_with_its_colour(num_heads):
    right = reshape_figure(2, TOKENS, num_heads=num_heads).axes[0]
    labels = [text for text in right.texts if "\nhead " in text.get_text()]
    blocks = right.patches[: len(labels)]
    assert len(blocks) == len(TOKENS) * num_heads
    for text, block in zip(labels, blocks, strict=True):
        dark, bright = sorted(luminance(colour) for colour in (text.get_color(), block.get_facecolor()))
        assert (bright + 0.05) / (dark + 0.05) >= 4, text.get_text()


@pytest.mark.parametrize("length", [1, 2, 6])
@pytest.mark.parametrize("num_heads", [1, 3])
def test_any_number_of_tokens_and_heads_is_drawn_within_the_frame(length, num_heads):
    figure = reshape_figure(2, [f"w{place}" for place in range(length)], num_heads=num_heads)
    figure.canvas.draw()
    frame = figure.bbox
    for ax in figure.axes:
        for text in [*ax.texts, ax.title]:
            box = text.get_window_extent()
            assert box.x0 >= frame.x0 - 1 and box.x1 <= frame.x1 + 1, text.get_text()


def test_the_label_says_in_words_what_is_shown():
    label = reshape_figure(2, TOKENS).get_label()
    assert "Step 2 of 4" in label
    assert "the row of head 0 holds I 0, am 0, learning 0, this 0" in label
    assert "the row of head 0 holds I 0, I 1, am 0, am 1" in label


@pytest.mark.parametrize(
    ("step", "tokens", "heads"), [(5, TOKENS, 2), (-1, TOKENS, 2), (0, [], 2), (0, TOKENS, 0)]
)
def test_what_cannot_be_drawn_is_refused(step, tokens, heads):
    with pytest.raises(ValueError, match="from 0 to 4|a token and a head"):
        reshape_figure(step, tokens, num_heads=heads)
