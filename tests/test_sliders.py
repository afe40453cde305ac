"""Every slider moves its figure and says in words what it shows; the numbers it shows are torch's."""

import cmath
import itertools
import math
import re

import matplotlib.pyplot as plt
import pytest
import torch
from matplotlib.colors import to_rgb
from matplotlib.quiver import Quiver
from matplotlib.text import Text

from attention_lab.sliders import merge_steps, weights
from attention_lab.sliders.arrows import query_slider, question_slider, shares_slider
from attention_lab.sliders.blocks import (
    LAST_STEP,
    RIGHT,
    WRONG,
    reshape_figure,
    reshape_slider,
    right_blocks,
    wrong_blocks,
)
from attention_lab.sliders.cache_steps import cache_stepper, keys_of
from attention_lab.sliders.dials import dials_slider
from attention_lab.sliders.headline import headline_box, headline_figure
from attention_lab.sliders.merge_steps import merge_stepper
from attention_lab.sliders.positions import clock_slider, encoding_slider
from attention_lab.sliders.weights import mask_sentence, mask_stepper, sharpening_slider, width_slider

TOKENS = ["I", "am", "learning", "this"]
SCORES = torch.tensor([1.3127, 1.1213, 1.5807, 1.3343])
CAUSAL = torch.ones(4, 4).tril().bool()
KEYS = torch.tensor([[1.0, 1.0], [-1.0, 2.0], [-1.0, -1.0], [3.0, 0.0]])
NAMES = ["a", "b", "c", "z"]
QUERY, KEY = torch.tensor([1.0, 0.5]), torch.tensor([0.5, 1.0])
ROW = torch.tensor([1.0, 0.2, 2.5, -0.4, 0.9, 3.1, 0.0])
VALUES = torch.tensor([1.0, -1.0, 2.0, 0.5, 4.0, -2.0, 3.0])
TEXT = ["the", "cat", "sat", "on", "the", "mat"]
# Each slider, its range, and the place where it opens.
SLIDERS = {
    "sharpening": (lambda: sharpening_slider(SCORES, labels=TOKENS), (0.1, 24), 1),
    "width": (width_slider, (1, 512), 64),
    "mask": (lambda: mask_stepper(CAUSAL, tokens=TOKENS), (0, 3), 0),
    "query": (lambda: query_slider(KEYS, names=NAMES), (-175, 180), 25),
    "question": (question_slider, (-175, 180), 0),
    "shares": (shares_slider, (50, 100), 75),
    "dials": (lambda: dials_slider(QUERY, KEY, distance=3), (3, 60), 3),
    "cache": (lambda: cache_stepper(TEXT, prompt=3), (1, 3), 1),
    "merge": (lambda: merge_stepper(ROW, VALUES, block_size=2), (0, 4), 0),
    "reshape": (lambda: reshape_slider(TOKENS), (0, 4), 0),
    "clock": (lambda: clock_slider([1.0, 0.01], last=40), (0, 40), 0),
    "encoding": (lambda: encoding_slider(lambda length, width: torch.ones(length, width)), (2, 128), 64),
}
every_slider = pytest.mark.parametrize(("make", "span", "opening"), SLIDERS.values(), ids=SLIDERS)


def controls(widget):
    return widget.children[0].children


def picture(widget):
    return bytes(widget.children[1].value)


def summary(widget):
    return widget.children[2].value


def moved(widget, value):
    """Return the figure of a slider at a value."""
    controls(widget)[0].value = value
    return widget.figure


def words_at(widget, value):
    return moved(widget, value).get_label()


def heights(axes):
    return [bar.get_height() for bar in axes.containers[0]]


def texts(axes):
    return [text.get_text() for text in axes.texts]


def largest_of_the_jacobian(scores):
    jacobian = torch.autograd.functional.jacobian(lambda row: torch.softmax(row, -1), scores)
    return jacobian.abs().max().item()


@pytest.fixture(autouse=True)
def pyplot_knows_no_figure():
    """A slider's figures are shown by the slider alone."""
    plt.close("all")  # those of other tests
    yield
    assert plt.get_fignums() == []


# ---- all of them --------------------------------------------------------------------------------


@every_slider
def test_moving_changes_picture_and_words(make, span, opening):
    """Moving back restores both, and a screen reader hears the words."""
    widget = make()
    slider = controls(widget)[0]
    assert slider.description and (slider.min, slider.max, slider.value) == (*span, opening)
    first = picture(widget), summary(widget)
    assert 'aria-live="polite"' in summary(widget)
    other = span[1] if opening != span[1] else span[0]
    assert widget.figure is not None and words_at(widget, other)
    assert picture(widget).startswith(b"\x89PNG")
    assert picture(widget) != first[0] and summary(widget) != first[1]
    moved(widget, opening)
    assert (picture(widget), summary(widget)) == first


@pytest.mark.parametrize("name", ["sharpening", "width", "query", "question", "shares", "dials"])
def test_a_value_can_be_typed_in(name):
    make, span, _ = SLIDERS[name]
    widget = make()
    slider, exact = controls(widget)
    exact.value = span[1]
    assert slider.value == span[1] and exact.description


@pytest.mark.parametrize("name", ["mask", "cache", "merge", "reshape"])
def test_buttons_step_and_stop_at_the_ends(name):
    make, (first, last), _ = SLIDERS[name]
    slider, back, forward, *_ = controls(make())
    assert (back.disabled, forward.disabled) == (True, False)
    for _ in range(last - first):
        forward.click()
    assert slider.value == last and (back.disabled, forward.disabled) == (False, True)
    back.click()
    assert slider.value == last - 1


def test_tokens_are_text_and_never_markup():
    for widget in (
        mask_stepper(torch.ones(1, 1).bool(), tokens=["<img src=x>"]),
        reshape_slider(["<img>", "$x$"]),
    ):
        assert "<img" not in summary(widget) and "&lt;img" in summary(widget)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sharpening_slider(torch.rand(4, 4)), "not (4, 4): try scores[0]"),
        (lambda: sharpening_slider(SCORES, labels=["a"]), "a name for each of the 4"),
        (lambda: mask_stepper(CAUSAL[None], tokens=TOKENS), "such as mask[0]"),
        (lambda: mask_stepper(torch.rand(4, 4), tokens=TOKENS), "boolean mask"),
        (lambda: mask_stepper(CAUSAL, tokens=TOKENS[:2]), "a name for each of the 4"),
        (lambda: query_slider(torch.ones(4, 3), names=NAMES), "(T, 2)"),
        (lambda: dials_slider(torch.ones(3), KEY, distance=3), "must be (2,)"),
        (lambda: cache_stepper(TEXT, prompt=0), "1 to 5 of the tokens, not 0"),
        (lambda: cache_stepper(TEXT, prompt=6), "1 to 5 of the tokens, not 6"),
        (lambda: merge_stepper(ROW, VALUES, block_size=7), "blocks of 7"),
        (lambda: merge_stepper(ROW, VALUES[:6], block_size=2), "(7,) and (6,)"),
        (lambda: reshape_slider([]), "a token and a head"),
        (lambda: reshape_figure(0, TOKENS, num_heads=0), "a token and a head"),
        (lambda: reshape_figure(5, TOKENS), "from 0 to 4"),
        (lambda: reshape_figure(-1, TOKENS), "from 0 to 4"),
    ],
)
def test_what_cannot_be_shown_is_refused(call, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        call()


# ---- sharpening and key width -------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1, 2.5, 12, 24])
def test_sharpened_bars_and_readings_are_torchs(factor):
    figure = moved(sharpening_slider(SCORES, labels=TOKENS), factor)
    expected = torch.softmax(factor * SCORES.double(), -1)
    entropy = torch.distributions.Categorical(expected).entropy().item()
    bars, gauges = figure.axes
    assert heights(bars) == pytest.approx(expected.tolist())
    share, gradient = (bar.get_width() for bar in gauges.containers[1])
    assert share == pytest.approx(entropy / math.log(4))
    assert gradient == pytest.approx(largest_of_the_jacobian(factor * SCORES.double()) / 0.25)
    for part in (f"{entropy:.3f}", f"{expected.max():.3f}", "'learning'"):
        assert part in figure.get_label()


@pytest.mark.parametrize("scores", [torch.tensor([2.0]), torch.zeros(40), [1, 2, 3], SCORES.requires_grad_()])
def test_any_number_of_scores_is_drawn(scores):
    """Entropy and gradient are right at the extremes."""
    one_hot = torch.tensor([0.0, 1.0, 0.0])
    assert str(weights.entropy(one_hot)) == "0.0" and weights.largest_gradient(one_hot) == 0
    assert weights.entropy(torch.full((8,), 1 / 8)) == pytest.approx(math.log(8))
    moved(sharpening_slider(scores), 24)
    assert not isinstance(scores, torch.Tensor) or scores.grad is None


@pytest.mark.parametrize("d_k", [1, 64, 512])
def test_scaled_scores_are_the_others_over_the_root(d_k):
    unscaled, _, scaled, _ = moved(width_slider(seed=3), d_k).axes
    # Weights are scores up to a constant, so differences of their logarithms are differences of scores.
    before, after = (torch.tensor(heights(ax), dtype=torch.float64).log() for ax in (unscaled, scaled))
    torch.testing.assert_close((before - before[0]) / math.sqrt(d_k), after - after[0])


def test_a_wide_key_saturates_only_the_unscaled():
    unscaled, _, scaled, _ = moved(width_slider(), 512).axes
    assert max(heights(unscaled)) > 0.99 and max(heights(scaled)) < 0.9
    assert words_at(width_slider(), 8) == words_at(width_slider(), 8) != words_at(width_slider(seed=1), 8)


# ---- a mask in words ----------------------------------------------------------------------------

NO_FUTURE = "nothing is in its future."


@pytest.mark.parametrize(
    ("mask", "row", "tokens", "sentence"),
    [
        (CAUSAL, 0, TOKENS, "'I' may look at 'I'; 'am', 'learning', 'this' are in its future."),
        (CAUSAL, 3, TOKENS, f"'this' may look at 'I', 'am', 'learning', 'this'; {NO_FUTURE}"),
        ([[0, 1], [1, 1]], 0, ["a", "b"], "'a' may look at 'b'; it may not look at 'a'."),
        ([[0, 1], [1, 1]], 1, ["a", "b"], "'b' may look at 'a', 'b'; nothing is hidden from it."),
        ([[0, 0], [1, 1]], 0, ["a", "b"], "'a' may look at nothing."),
        ([[1, 0]], 0, ["a", "[PAD]"], "every query may look at 'a'; it may not look at '[PAD]'."),
        ([[1, 0], [1, 1], [1, 1]], 0, ["a", "b"], "query 0 may look at 'a'; it may not look at 'b'."),
        ([[1, 0], [1, 1]], 1, ["a", "a"], f"'a' at 1 may look at 'a' at 0, 'a' at 1; {NO_FUTURE}"),
    ],
)
def test_any_mask_is_put_into_words(mask, row, tokens, sentence):
    """The frame follows the query."""
    assert mask_sentence(torch.as_tensor(mask).bool(), row, tokens) == sentence
    widget = mask_stepper(CAUSAL, tokens=TOKENS)
    assert moved(widget, row).axes[0].patches[-1].get_y() == row


# ---- arrows -------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [-175, -45, 0, 90])
def test_bars_beside_the_query_are_its_softmax(angle):
    figure = moved(query_slider(KEYS, names=NAMES, length=2), angle)
    turned = math.radians(angle)
    scores = KEYS.double() @ torch.tensor([2 * math.cos(turned), 2 * math.sin(turned)], dtype=torch.float64)
    assert heights(figure.axes[1]) == pytest.approx(torch.softmax(scores, -1).tolist())
    label = figure.get_label()
    assert f"z {scores[3]:.2f}" in label and f"Most weight to {NAMES[int(scores.argmax())]}" in label


def test_the_query_is_drawn_below_the_names_of_keys():
    plane = moved(query_slider(KEYS, names=NAMES), 45).axes[0]  # along key a, and over its name
    moving = plane.findobj(lambda artist: artist.get_animated())
    query = next(place for place, artist in enumerate(moving) if isinstance(artist, Quiver))
    assert {artist.get_text() for artist in moving[query + 1 :] if isinstance(artist, Text)} == set(NAMES)


@pytest.mark.parametrize(("angle", "position"), [(0, 1), (-60, 0), (60, 2), (180, 4), (-25, 1)])
def test_a_turned_question_finds_another_position(angle, position):
    figure = moved(question_slider(), angle)
    (cells,) = figure.axes[1].collections
    table = torch.tensor(cells.get_array()).reshape(6, 6)
    assert int(table[1].argmax()) == position and f"most at position {position}" in figure.get_label()
    torch.testing.assert_close(table.sum(dim=-1), torch.ones(6, dtype=torch.float64))


@pytest.mark.parametrize("percent", [55, 75, 100])
def test_shares_are_separated_up_to_rounding(percent):
    assert "cannot be separated" in words_at(shares_slider(), 50)
    first, second = 2.37, -1.14
    mixture, originals = map(heights, moved(shares_slider((first, second)), percent).axes)
    share = percent / 100
    right = [share * first + (1 - share) * second, (1 - share) * first + share * second]
    assert mixture == pytest.approx(right, abs=0.05)
    assert originals == pytest.approx([first, second], abs=0.05 / (2 * share - 1) + 1e-9)


@pytest.mark.parametrize("distance", [0, 3, 8])
def test_the_score_of_two_dials_stays(distance):
    """It is that of complex numbers, and the same at every place."""
    query, key = complex(*QUERY.tolist()), complex(*KEY.tolist())
    score = (query * key.conjugate() * cmath.exp(1j * distance)).real
    widget = dials_slider(QUERY, KEY, distance=distance)
    for place in (distance, distance + 1, 45):
        label = words_at(widget, place)
        assert f"{score:.4f}" in label
        degrees = [float(number) for number in re.findall(r"(-?\d+)°", label)]
        assert (degrees[0] - degrees[1] - degrees[2]) % 360 in (0, 1, 359)


# ---- generation and blocks of scores ------------------------------------------------------------


@pytest.mark.parametrize("prompt", [1, 3, 5])
def test_keys_made_are_those_of_a_loop_that_counts(prompt):
    computed = {True: 0, False: 0}
    cache: set[int] = set()
    widget = cache_stepper(TEXT, prompt=prompt)
    for step in range(1, len(TEXT) - prompt + 1):
        seen = set(range(prompt + step - 1))
        computed[True] += len(seen - cache)
        computed[False] += len(seen)
        assert keys_of(step, prompt, cached=True) == (len(seen & cache), len(seen - cache))
        cache = seen
        label = words_at(widget, step)
        assert f"makes '{TEXT[prompt + step - 1]}'" in label
        assert f"{computed[True]} with a cache, {computed[False]} without" in label
    words = texts(moved(cache_stepper(TEXT, prompt=3), 2).axes[0])
    assert words.count("kept") == 3 and words.count("new") == 1 + 4


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_every_order_ends_on_the_softmax_of_all(order):
    merged = merge_steps.MergedRow()
    for number in order:
        block = slice(2 * number, 2 * number + 2)
        merged = merged.and_block(ROW[block].double(), VALUES[block].double())
    assert merged.output == pytest.approx(float(ROW.softmax(-1) @ VALUES), abs=1e-6)
    assert merged.maximum == pytest.approx(3.1)
    assert merged.total == pytest.approx(float((ROW - 3.1).exp().sum()), abs=1e-6)


def test_merging_says_the_numbers_of_its_step():
    widget = merge_stepper(ROW, VALUES, block_size=2)
    label = words_at(widget, 2)
    first, total = float((ROW[:2] - 1).exp().sum()), float((ROW[:4] - 2.5).exp().sum())
    assert f"{first:.3f} is multiplied by exp(1.000 − 2.500)" in label
    assert f"2.500, total {total:.3f}" in label and "2, 3" in label


def test_blocks_are_merged_in_three_orders():
    widget = merge_stepper(ROW, VALUES, block_size=2)
    slider, *_, another = controls(widget)
    firsts, ends = [], set()
    for _ in range(3):
        firsts += re.findall(r"Block (\d) is the first", words_at(widget, 1))
        ends.add(re.search(r"Maximum.*output -?[\d.]+\.", words_at(widget, slider.max))[0])
        another.click()
        assert slider.value == 0
    assert firsts == ["0", "3", "1"] and len(ends) == 1


# ---- the blocks of a reshape ----

STEPS = range(LAST_STEP + 1)


@pytest.mark.parametrize(("length", "num_heads"), [(4, 2), (3, 2), (5, 3), (2, 4), (1, 1), (1, 3), (4, 1)])
def test_both_ways_are_torchs_own(length, num_heads):
    """The number of its block is every number of x (1, T, E)."""
    blocks = torch.arange(length * num_heads).view(length, num_heads, 1)
    x = blocks.expand(length, num_heads, 3).reshape(1, length, num_heads * 3)
    cut = x.view(1, length, num_heads, 3)
    split = cut.transpose(1, 2)
    back = split.contiguous().transpose(1, 2)
    for step, tensor in ((1, cut), (2, split), (3, back)):
        assert torch.equal(right_blocks(step, length, num_heads), tensor[0, ..., 0])
        assert torch.equal(right_blocks(step, length, num_heads), tensor[0, ..., 2])
    merged = back.reshape(1, length, num_heads * 3)
    assert torch.equal(right_blocks(4, length, num_heads), merged[0, :, ::3])
    viewed = x.view(1, num_heads, length, 3)[0, ..., 0]
    for step in (1, 2, 3):
        assert torch.equal(wrong_blocks(step, length, num_heads), viewed)
    assert torch.equal(wrong_blocks(4, length, num_heads), right_blocks(0, length, num_heads))


@pytest.mark.parametrize("step", STEPS)
def test_blocks_say_token_head_and_wrong_place(step):
    right, wrong = reshape_figure(step, TOKENS).axes
    for ax in (right, wrong):
        labels = [text.replace("  ✗", "") for text in texts(ax)]
        assert all(f"{token}\nhead {head}" in labels for token in TOKENS for head in (0, 1))
    assert RIGHT[step].shape in right.get_title() and WRONG[step].shape in wrong.get_title()
    assert not any("✗" in text for text in texts(right) if "\n" in text)
    crossed = sum("✗" in text for text in texts(wrong) if "\n" in text)
    assert crossed == (6 if 0 < step < LAST_STEP else 0)
    label = reshape_figure(2, TOKENS).get_label()
    assert "Step 2 of 4" in label
    assert "the row of head 0 holds I 0, am 0, learning 0, this 0" in label
    assert "the row of head 0 holds I 0, I 1, am 0, am 1" in label


def test_memory_is_drawn_in_the_order_of_memory():
    def memory(step):
        strip = [text for text in texts(reshape_figure(step, TOKENS).axes[0]) if text[-1].isdigit()]
        return [text for text in strip if "\n" not in text and not text.startswith("head")]

    assert [right_blocks(step, 4, 2).is_contiguous() for step in STEPS] == [True, True, False, False, True]
    assert all(wrong_blocks(step, 4, 2).is_contiguous() for step in STEPS)
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
    """Return how bright a colour looks, from 0 to 1: https://www.w3.org/TR/WCAG21/#dfn-relative-luminance"""
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("num_heads", [1, 2, 3, 4])
def test_a_blocks_label_contrasts(num_heads):
    right = reshape_figure(2, TOKENS, num_heads=num_heads).axes[0]
    labels = [text for text in right.texts if "\nhead " in text.get_text()]
    blocks = right.patches[: len(labels)]
    assert len(blocks) == len(TOKENS) * num_heads
    for text, block in zip(labels, blocks, strict=True):
        dark, bright = sorted(luminance(colour) for colour in (text.get_color(), block.get_facecolor()))
        assert (bright + 0.05) / (dark + 0.05) >= 4, text.get_text()


@pytest.mark.parametrize("length", [1, 2, 6])
@pytest.mark.parametrize("num_heads", [1, 3])
def test_any_number_of_heads_is_in_the_frame(length, num_heads):
    figure = reshape_figure(2, [f"w{place}" for place in range(length)], num_heads=num_heads)
    figure.canvas.draw()
    frame = figure.bbox
    for ax in figure.axes:
        for text in [*ax.texts, ax.title]:
            box = text.get_window_extent()
            assert box.x0 >= frame.x0 - 1 and box.x1 <= frame.x1 + 1, text.get_text()


# ---- a headline ----

TOPICS = ["business", "sports"]


def read(text):
    tokens = text.split()
    weights = torch.softmax(torch.tensor([[float(len(token)) for token in tokens]] * len(tokens)), dim=-1)
    share = min(1.0, 0.1 * len(text))
    return tokens, torch.tensor([share, 1 - share]), weights


def test_the_figure_shows_probabilities_and_weights():
    figure = headline_figure(read, TOPICS, "shares fell sharply")
    bars, grid = figure.axes[:2]
    assert [bar.get_width() for bar in bars.containers[0]] == pytest.approx([1.0, 0.0])
    assert [tick.get_text() for tick in grid.get_xticklabels()] == ["shares", "fell", "sharply"]
    assert "goes to business (1.00). Most looked at: sharply" in figure.get_label()


def test_a_headline_is_chosen_or_typed():
    widget = headline_box(read, TOPICS, ["up", "shares fell"])
    slider, line = widget.children[0].children
    assert "sports (0.80)" in widget.children[2].value
    slider.value = 1
    assert line.value == "shares fell" and "business" in widget.children[2].value
    picture = bytes(widget.children[1].value)
    line.value = "<b> a goal"
    assert "&lt;b&gt; a goal" in widget.children[2].value and bytes(widget.children[1].value) != picture
    line.value = "  "
    assert "Type a headline." in widget.children[2].value
