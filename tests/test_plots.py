"""The pictures say what their data say, and refuse what they cannot draw in a sentence that helps."""

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from attention_lab.plots import attention_heatmap, colours, curves, mask_grid, weight_bars

TOKENS = ["I", "am", "learning", "this"]
CAUSAL = torch.ones(4, 4).tril().bool()


@pytest.fixture(autouse=True)
def no_figure_left_behind():
    yield
    plt.close("all")


@pytest.fixture
def weights():
    scores = torch.randn(4, 4, generator=torch.Generator().manual_seed(0))
    return torch.softmax(scores.masked_fill(~CAUSAL, -torch.inf), dim=-1)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def names(labels):
    return [label.get_text() for label in labels]


def test_queries_run_down_and_keys_run_across(weights):
    ax = attention_heatmap(weights[:3], queries=TOKENS[:3], keys=TOKENS)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("key", "query")
    assert names(ax.get_xticklabels()) == TOKENS
    assert names(ax.get_yticklabels()) == TOKENS[:3]
    assert ax.yaxis_inverted()


def test_weights_are_coloured_from_0_to_1_whatever_their_largest_is():
    ax = attention_heatmap(torch.full((3, 5), 0.2))
    mesh = ax.collections[0]
    assert mesh.get_clim() == (0, 1)
    assert mesh.get_array().shape == (3, 5)


def test_the_colours_only_get_darker():
    red, green, blue, _ = colours()(np.linspace(0, 1, 64)).T
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    assert (np.diff(luminance) < 0).all()


def test_small_heatmaps_show_numbers_and_tell_zero_from_nearly_zero():
    ax = attention_heatmap(torch.tensor([[1 / 3, 0.0], [0.001, 0.999]]))
    assert texts(ax) == ["0.33", "0", "0.00", "1.00"]


def test_a_colour_bar_is_there_wherever_numbers_are_not(weights):
    assert len(attention_heatmap(weights).figure.axes) == 2
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
    attention_heatmap(weights, ax=left)
    assert len(figure.axes) == 2
    attention_heatmap(weights, ax=right, annotate=False)
    assert len(figure.axes) == 3


def test_nan_is_hatched_and_not_a_weight_of_zero():
    ax = attention_heatmap(torch.tensor([[0.5, 0.5], [torch.nan, torch.nan]]))
    assert ax.collections[0].get_array().mask.tolist() == [[False, False], [True, True]]
    assert ax.patch.get_hatch()


def test_bars_are_as_high_as_the_weights(weights):
    ax = weight_bars(weights[2], labels=TOKENS, title="learning")
    assert [bar.get_height() for bar in ax.patches] == pytest.approx(weights[2].tolist())
    assert names(ax.get_xticklabels()) == TOKENS
    assert texts(ax) == [f"{weight:.2f}" for weight in weights[2, :3].tolist()] + ["0"]
    low, high = ax.get_ylim()
    assert low == 0 and high > 1
    assert ax.get_title() == "learning"


def test_curves_show_their_data_labels_and_scales():
    losses = torch.tensor([4.0, 2.0, 1.0], requires_grad=True)
    ax = curves(
        [1, 10, 100], {"loss": losses, "other": (1, 1, 1)}, x_label="step", y_label="nats", log_x=True
    )
    assert ax.lines[0].get_ydata().tolist() == [4, 2, 1]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("step", "nats")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    assert names(ax.get_legend().get_texts()) == ["loss", "other"]


def test_a_mask_can_be_read_without_colour():
    ax = mask_grid(CAUSAL, queries=TOKENS, keys=TOKENS)
    expected = ["✓" if may else "✗" for may in CAUSAL.flatten().tolist()]
    assert texts(ax) == expected
    assert "✓ may attend" in ax.get_xlabel() and "✗ may not" in ax.get_xlabel()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_tensors_of_any_float_type_and_with_gradients_are_drawn_and_left_alone(dtype):
    weights = torch.full((2, 2), 0.5, dtype=dtype, requires_grad=True)
    ax = attention_heatmap(weights)
    assert ax.collections[0].get_array().tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert weights.requires_grad and weights.grad is None


def test_a_token_may_be_a_dollar_sign(weights):
    ax = attention_heatmap(weights, keys=["$", "a_b$", "^", "\\"], queries=TOKENS)
    ax.figure.canvas.draw()
    assert names(ax.get_xticklabels())[0] == "$"


def test_drawing_on_given_axes_opens_no_figure(weights):
    _, ax = plt.subplots()
    for draw in (
        lambda: attention_heatmap(weights, ax=ax),
        lambda: weight_bars(weights[0], ax=ax),
        lambda: curves([1], {"a": [1]}, x_label="", y_label="", ax=ax),
        lambda: mask_grid(CAUSAL, ax=ax),
    ):
        assert draw() is ax
    assert len(plt.get_fignums()) == 1


def test_pictures_are_dark_on_opaque_white_under_any_style(weights):
    with plt.style.context("dark_background"):
        ax = weight_bars(weights[0], title="title")
    assert ax.figure.get_facecolor() == ax.get_facecolor() == (1, 1, 1, 1)
    for text in (ax.title, ax.xaxis.label, *ax.get_xticklabels(), *ax.texts):
        assert sum(matplotlib.colors.to_rgb(text.get_color())) < 1


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda: attention_heatmap(torch.rand(2, 4, 4)), "on axis 0, such as weights[0]"),
        (lambda: attention_heatmap(torch.rand(2, 8, 4, 4)), "the first 2 axes, such as weights[0, 0]"),
        (lambda: attention_heatmap(torch.rand(4)), "not (4,): for a single query hand over weights[None]"),
        (lambda: attention_heatmap(torch.rand(0, 4)), "not (0, 4)"),
        (lambda: attention_heatmap(torch.rand(2, 4), keys=["a"]), "keys needs a name for each of the 4"),
        (lambda: weight_bars(torch.rand(4, 4)), "pick one query on axis 0, such as weights[0]"),
        (lambda: weight_bars(torch.rand(4), labels=["a"]), "labels needs a name for each of the 4"),
        (lambda: curves([1, 2], {"loss": [1]}, x_label="", y_label=""), "'loss' has 1, x 2"),
        (
            lambda: mask_grid(torch.rand(4, 4)),
            "a boolean mask (True = may attend), and this one holds torch.f",
        ),
        (lambda: mask_grid(CAUSAL[None]), "such as mask[0]"),
        (lambda: mask_grid(CAUSAL, row=4), "0 to 3, not 4"),
        (lambda: mask_grid(CAUSAL, row=-1), "0 to 3, not -1"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_sentence_and_leaves_no_figure(draw, sentence):
    with pytest.raises(ValueError) as refusal:
        draw()
    assert sentence in str(refusal.value)
    assert str(refusal.value).count("\n") == 0
    assert plt.get_fignums() == []


def test_curves_differ_in_more_than_colour():
    series = {name: [1.0, 2.0, 3.0] for name in "abcdefgh"}
    lines = curves([1, 2, 3], series, x_label="x", y_label="y").lines
    assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == 8
    assert len({line.get_marker() for line in lines}) == 8
