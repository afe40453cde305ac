"""The sliders move their figures, and the numbers they show are torch's."""

import math

import ipywidgets as widgets
import matplotlib.pyplot as plt
import pytest
import torch

from attention_lab.sliders import weights as sliders

TOKENS = ["I", "am", "learning", "this"]
SCORES = torch.tensor([1.3127, 1.1213, 1.5807, 1.3343])
CAUSAL = torch.ones(4, 4).tril().bool()
# Each widget, its range, and values to visit: the last is the one it opens with.
WIDGETS = [
    (lambda: sliders.sharpening_slider(SCORES, labels=TOKENS), (1, 24), [24.0, 12.0, 1.0]),
    (lambda: sliders.width_slider(), (1, 512), [1, 512, 64]),
    (lambda: sliders.mask_stepper(CAUSAL, tokens=TOKENS), (0, 3), [3, 1, 0]),
]
PNG = b"\x89PNG"


def controls(widget):
    """The slider, and what is beside it."""
    return widget.children[0].children


def picture(widget):
    return bytes(widget.children[1].value)


def summary(widget):
    return widget.children[2].value


def heights(axes):
    return [bar.get_height() for bar in axes.containers[0]]


def shown(figure):
    """Every text of the figure."""
    texts = figure.findobj(lambda artist: hasattr(artist, "get_text"))
    return "\n".join(text.get_text() for text in texts)


def largest_of_the_jacobian(scores):
    jacobian = torch.autograd.functional.jacobian(lambda row: torch.softmax(row, -1), scores)
    return jacobian.abs().max().item()


@pytest.fixture(autouse=True)
def pyplot_knows_no_figure():
    yield
    assert plt.get_fignums() == []


@pytest.mark.parametrize("factor", [0.0, 1.0, 12.0, 24.0])
def test_entropy_and_largest_gradient_are_torchs(factor):
    scores = factor * SCORES.double()
    weights = torch.softmax(scores, -1)
    assert sliders.entropy(weights) == pytest.approx(
        torch.distributions.Categorical(weights).entropy().item()
    )
    assert sliders.largest_gradient(weights) == pytest.approx(largest_of_the_jacobian(scores))


def test_one_hot_weights_have_no_entropy_and_no_gradient():
    weights = torch.tensor([0.0, 1.0, 0.0])
    assert str(sliders.entropy(weights)) == "0.0"
    assert sliders.largest_gradient(weights) == 0


def test_uniform_weights_have_all_the_entropy_there_can_be():
    weights = torch.full((8,), 1 / 8)
    assert sliders.entropy(weights) == pytest.approx(math.log(8))
    assert "100% of the maximum" in shown(sliders.sharpening_figure(torch.zeros(8), 1))


@pytest.mark.parametrize("factor", [1, 2.5, 12, 24])
def test_the_sharpened_bars_and_readings_are_torchs(factor):
    figure = sliders.sharpening_figure(SCORES, factor, labels=TOKENS)
    weights = torch.softmax(factor * SCORES.double(), -1)
    entropy = torch.distributions.Categorical(weights).entropy().item()
    bars, gauges = figure.axes
    assert heights(bars) == pytest.approx(weights.tolist())
    share, gradient = (bar.get_width() for bar in gauges.containers[1])
    assert share == pytest.approx(entropy / math.log(4))
    assert gradient == pytest.approx(largest_of_the_jacobian(factor * SCORES.double()) / 0.25)
    for text in (shown(figure), figure.get_label()):
        assert f"entropy {entropy:.3f} nats, {entropy / math.log(4):.0%} of the maximum" in text
    assert f"largest weight {weights.max():.3f}" in figure.get_label()
    assert "'learning'" in figure.get_label()


@pytest.mark.parametrize("d_k", [1, 64, 512])
def test_the_scaled_weights_come_from_the_unscaled_scores_over_the_root(d_k):
    figure = sliders.width_figure(d_k, seed=3)
    unscaled, _, scaled, _ = figure.axes
    # Weights are scores up to a constant, so differences of their logarithms are differences of scores.
    before, after = (torch.tensor(heights(axes), dtype=torch.float64).log() for axes in (unscaled, scaled))
    torch.testing.assert_close((before - before[0]) / math.sqrt(d_k), after - after[0])


def test_a_wide_key_saturates_the_unscaled_softmax_only():
    unscaled, _, scaled, _ = sliders.width_figure(512).axes
    assert max(heights(unscaled)) > 0.99
    assert max(heights(scaled)) < 0.9


def test_at_width_one_scaling_changes_nothing():
    unscaled, _, scaled, _ = sliders.width_figure(1).axes
    assert heights(unscaled) == heights(scaled)


def test_the_seed_decides_the_query_and_the_keys():
    labels = [sliders.width_figure(8, seed=seed).get_label() for seed in (0, 0, 1)]
    assert labels[0] == labels[1] != labels[2]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (0, "'I' may look at 'I'; 'am', 'learning', 'this' are in its future."),
        (2, "'learning' may look at 'I', 'am', 'learning'; 'this' is in its future."),
        (3, "'this' may look at 'I', 'am', 'learning', 'this'; nothing is in its future."),
    ],
)
def test_a_causal_mask_speaks_of_the_future(row, sentence):
    assert sliders.mask_step_figure(CAUSAL, row, tokens=TOKENS).get_label() == sentence


@pytest.mark.parametrize(
    ("mask", "row", "tokens", "sentence"),
    [
        ([[0, 1], [1, 1]], 0, ["a", "b"], "'a' may look at 'b'; it may not look at 'a'."),
        ([[0, 1], [1, 1]], 1, ["a", "b"], "'b' may look at 'a', 'b'; nothing is hidden from it."),
        ([[0, 0], [1, 1]], 0, ["a", "b"], "'a' may look at nothing."),
        ([[1, 0]], 0, ["a", "[PAD]"], "every query may look at 'a'; it may not look at '[PAD]'."),
        ([[1, 0], [1, 1], [1, 1]], 0, ["a", "b"], "query 0 may look at 'a'; it may not look at 'b'."),
        (
            [[1, 0], [1, 1]],
            1,
            ["a", "a"],
            "'a' at 1 may look at 'a' at 0, 'a' at 1; nothing is in its future.",
        ),
    ],
)
def test_any_mask_is_put_into_words(mask, row, tokens, sentence):
    assert sliders.mask_sentence(torch.tensor(mask).bool(), row, tokens) == sentence


def test_the_frame_follows_the_query():
    for row in range(4):
        figure = sliders.mask_step_figure(CAUSAL, row, tokens=TOKENS)
        assert figure.axes[0].patches[-1].get_y() == row


@pytest.mark.parametrize(("widget", "span", "values"), WIDGETS)
def test_moving_a_slider_changes_picture_and_summary_and_moving_back_restores_them(widget, span, values):
    widget = widget()
    slider = controls(widget)[0]
    first, seen = (picture(widget), summary(widget)), set()
    for value in values:
        slider.value = value
        assert picture(widget).startswith(PNG)
        seen.add((picture(widget), summary(widget)))
    assert len(seen) == 3
    assert (picture(widget), summary(widget)) == first


def test_a_widget_shows_what_its_figure_shows():
    widget = sliders.width_slider(seed=1)
    controls(widget)[0].value = 100
    assert sliders.width_figure(100, seed=1).get_label() in summary(widget)


@pytest.mark.parametrize(("widget", "span", "values"), WIDGETS)
def test_sliders_have_a_name_and_the_range_they_promise(widget, span, values):
    widget = widget()
    slider = controls(widget)[0]
    assert isinstance(widget, widgets.VBox)
    assert slider.description
    assert (slider.min, slider.max) == span
    assert 'aria-live="polite"' in summary(widget)


def test_a_value_can_be_typed_in():
    widget = sliders.width_slider()
    slider, exact = controls(widget)
    exact.value = 17
    assert slider.value == 17
    assert "Key width 17." in summary(widget)


def test_buttons_step_through_the_mask_and_stop_at_its_ends():
    widget = sliders.mask_stepper(CAUSAL, tokens=TOKENS)
    slider, back, forward = controls(widget)
    assert (back.disabled, forward.disabled) == (True, False)
    for _ in range(3):
        forward.click()
    assert slider.value == 3
    assert (back.disabled, forward.disabled) == (False, True)
    back.click()
    assert slider.value == 2
    assert "&#x27;learning&#x27; may look at" in summary(widget)


def test_tokens_are_text_and_never_markup():
    widget = sliders.mask_stepper(torch.ones(1, 1).bool(), tokens=["<img src=x>"])
    assert "<img" not in summary(widget)


@pytest.mark.parametrize("scores", [torch.tensor([2.0]), torch.zeros(40), [1, 2, 3]])
def test_one_key_many_keys_and_plain_lists_are_drawn(scores):
    widget = sliders.sharpening_slider(scores)
    controls(widget)[0].value = 24
    assert picture(widget).startswith(PNG)


def test_scores_keep_their_gradient_and_their_numbers():
    scores = SCORES.clone().requires_grad_()
    controls(sliders.sharpening_slider(scores))[0].value = 5
    assert scores.grad is None and torch.equal(scores, SCORES)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: sliders.sharpening_slider(torch.rand(4, 4)), "not (4, 4): try scores[0]"),
        (lambda: sliders.sharpening_slider(SCORES, labels=["a"]), "a name for each of the 4"),
        (lambda: sliders.width_figure(0), "from 1 to 512, not 0"),
        (lambda: sliders.width_figure(513), "from 1 to 512, not 513"),
        (lambda: sliders.mask_stepper(CAUSAL[None], tokens=TOKENS), "such as mask[0]"),
        (lambda: sliders.mask_stepper(torch.rand(4, 4), tokens=TOKENS), "boolean mask"),
        (lambda: sliders.mask_stepper(CAUSAL, tokens=TOKENS[:2]), "a name for each of the 4"),
        (lambda: sliders.mask_step_figure(CAUSAL, 4, tokens=TOKENS), "0 to 3, not 4"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_sentence(call, sentence):
    with pytest.raises(ValueError) as refusal:
        call()
    assert sentence in str(refusal.value)
