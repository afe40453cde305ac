"""The pictures say what their data say, and refuse what they cannot draw in a sentence that helps."""

import math

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from scipy import stats

from attention_lab.heads import head_heatmaps
from attention_lab.lesson_08.plumbing import interval
from attention_lab.plots import attention_heatmap, colours, curves, mask_grid, weight_bars
from attention_lab.sliders import positions
from attention_lab.training_plots import mean_interval, spread, training_curves

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


@pytest.fixture
def heads():
    return torch.softmax(torch.randn(3, 4, 4, generator=torch.Generator().manual_seed(0)), dim=-1)


def names(labels):
    return [label.get_text() for label in labels]


def history(offset, **changed):
    losses = {"training loss": [1.0, 0.5, 0.25], "validation loss": [1.2, 0.7, 0.6]}
    moved = {name: [loss + offset for loss in values] for name, values in losses.items()}
    return moved | {"training accuracy": [0.5, 0.7, 0.9], "validation accuracy": [0.4, 0.6, 0.8]} | changed


SHORT = {"training loss": [1.0]}


def encode(max_len, embed_dim):
    """Any table of the right shape: the pictures do not know the formula."""
    return torch.sin(torch.arange(max_len).unsqueeze(1) * torch.arange(1, embed_dim + 1) / embed_dim)


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
        (lambda: mask_grid(torch.rand(4, 4)), "a boolean mask (True = may attend), and this one holds"),
        (lambda: mask_grid(CAUSAL[None]), "such as mask[0]"),
        (lambda: head_heatmaps(torch.full((4, 4), 0.25)), "attention_heatmap"),
        (lambda: head_heatmaps(torch.full((2, 3, 4, 4), 0.25)), "weights[0]"),
        (lambda: head_heatmaps(torch.zeros(0, 4, 4)), "(0, 4, 4)"),
        (lambda: head_heatmaps([]), "(0,)"),
        (lambda: head_heatmaps(torch.full((2, 4, 4), 3.0)), "before the softmax"),
        (lambda: head_heatmaps(torch.full((2, 4, 4), -0.5)), "-0.50"),
        (lambda: positions.encoding_figure(torch.ones(1, 6, 4)), "not (1, 6, 4): take encoding[0]"),
        (lambda: positions.encoding_figure(torch.ones(6)), "(T, E), not (6,)"),
        (lambda: positions.products_by_distance(torch.ones(0, 4)), "not (0, 4)"),
        (lambda: positions.matrix_figure(torch.ones(2, 4), title="no"), "square matrix, (E, E), not (2, 4)"),
        (lambda: positions.clock_figure(0, []), "at least one clock"),
        (lambda: training_curves({}), "training_curves needs"),
        (lambda: training_curves({"A": []}), "training_curves needs"),
        (lambda: training_curves({"A": [history(0)], "B": []}), "training_curves needs"),
        (lambda: training_curves({"A": [history(0), history(0, **SHORT)]}), "training_curves needs"),
        (lambda: training_curves({"A": [history(0)], "B": [SHORT]}), "training_curves needs"),
        (lambda: training_curves({"A": [{}]}), "training_curves needs"),
        (lambda: spread({}, x_label="accuracy"), "spread needs"),
        (lambda: spread({"A": []}, x_label="accuracy"), "spread needs"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_advice(draw, sentence):
    """It is one sentence, and no figure is left."""
    with pytest.raises(ValueError) as refusal:
        draw()
    assert sentence in str(refusal.value)
    assert str(refusal.value).count("\n") == 0
    assert plt.get_fignums() == []


@pytest.mark.parametrize(("colour_map", "sign"), [(colours(), -1), (positions.COLOURS, 1)])
def test_colours_get_darker_or_lighter_all_the_way(colour_map, sign):
    """No two look alike in grey."""
    red, green, blue, _ = colour_map(np.linspace(0, 1, 64)).T
    grey = sign * (0.2126 * red + 0.7152 * green + 0.0722 * blue)
    assert (np.diff(grey) > (0.005 if sign > 0 else 0)).all()


# ---- one attention matrix, bars, curves and masks ------------------------------------------------


def test_queries_run_down_and_keys_run_across(weights):
    """Weights are coloured from 0 to 1."""
    ax = attention_heatmap(weights[:3], queries=TOKENS[:3], keys=TOKENS)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("key", "query")
    assert names(ax.get_xticklabels()) == TOKENS
    assert names(ax.get_yticklabels()) == TOKENS[:3]
    assert ax.yaxis_inverted()
    mesh = attention_heatmap(torch.full((3, 5), 0.2)).collections[0]
    assert mesh.get_clim() == (0, 1)
    assert mesh.get_array().shape == (3, 5)


def test_small_heatmaps_show_numbers(weights):
    """A colour bar stands for them in others."""
    ax = attention_heatmap(torch.tensor([[1 / 3, 0.0], [0.001, 0.999]]))
    assert names(ax.texts) == ["0.33", "0", "0.00", "1.00"]
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
    assert names(ax.texts) == [f"{weight:.2f}" for weight in weights[2, :3].tolist()] + ["0"]
    low, high = ax.get_ylim()
    assert low == 0 and high > 1
    assert ax.get_title() == "learning"


def test_curves_show_their_data_labels_and_scales():
    losses = torch.tensor([4.0, 2.0, 1.0], requires_grad=True)
    series = {"loss": losses, "other": (1, 1, 1)}
    ax = curves([1, 10, 100], series, x_label="step", y_label="nats", log_x=True)
    assert ax.lines[0].get_ydata().tolist() == [4, 2, 1]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("step", "nats")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    assert names(ax.get_legend().get_texts()) == ["loss", "other"]
    # They differ in more than colour.
    series = {name: [1.0, 2.0, 3.0] for name in "abcdefgh"}
    lines = curves([1, 2, 3], series, x_label="x", y_label="y").lines
    assert len({line.get_marker() for line in lines}) == 8


def test_a_mask_can_be_read_without_colour():
    ax = mask_grid(CAUSAL, queries=TOKENS, keys=TOKENS)
    assert names(ax.texts) == ["✓" if may else "✗" for may in CAUSAL.flatten().tolist()]
    assert "✓ may attend" in ax.get_xlabel() and "✗ may not" in ax.get_xlabel()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_tensors_of_any_float_type_are_drawn(dtype):
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


def test_pictures_are_dark_on_white(weights):
    with plt.style.context("dark_background"):
        ax = weight_bars(weights[0], title="title")
    assert ax.figure.get_facecolor() == ax.get_facecolor() == (1, 1, 1, 1)
    for text in (ax.title, ax.xaxis.label, *ax.get_xticklabels(), *ax.texts):
        assert sum(matplotlib.colors.to_rgb(text.get_color())) < 1


# ---- several heads -------------------------------------------------------------------------------


def panels(figure):
    return [ax for ax in figure.axes if ax.get_xlabel() == "key"]


def test_each_head_has_a_panel_that_holds_its_weights(heads):
    """In a list, a tensor with gradients or an array."""
    heads.requires_grad_()
    for given in (list(heads), heads, heads.detach().numpy()):
        shown = panels(head_heatmaps(given))
        assert [ax.get_title() for ax in shown] == ["head 0", "head 1", "head 2"]
        drawn = [ax.collections[0].get_array() for ax in shown]
        np.testing.assert_array_equal(drawn, heads.detach().numpy())


def test_all_heads_share_one_scale_and_one_colour_bar(heads):
    heads[1] = 0.25  # a head that looks everywhere must look pale beside the others
    figure = head_heatmaps(heads, annotate=False)
    assert {ax.collections[0].get_clim() for ax in panels(figure)} == {(0, 1)}
    assert {ax.collections[0].get_cmap().name for ax in panels(figure)} == {colours().name}
    assert [bar.get_ylabel() for bar in figure.axes if bar not in panels(figure)] == ["weight"]


def test_keys_are_named_under_each_panel(heads):
    """Many places are named at their ends only."""
    first, *others = panels(head_heatmaps(heads[:, :2], queries=TOKENS[:2], keys=TOKENS))
    assert first.get_ylabel() == "query" and names(first.get_yticklabels()) == TOKENS[:2]
    for ax in (first, *others):
        assert names(ax.get_xticklabels()) == TOKENS
    assert all(ax.get_ylabel() == "" and not ax.yaxis.get_tick_params()["labelleft"] for ax in others)
    for ax in panels(head_heatmaps(torch.full((8, 30, 30), 1 / 30))):
        assert names(ax.get_xticklabels())[0] == "0" and len(ax.get_xticklabels()) == 2
        assert not ax.texts


# ---- training runs -------------------------------------------------------------------------------

RUNS = {"naive": [history(0.0), history(0.2)], "torch": [history(0.1), history(0.3)]}


def test_each_measurement_has_a_panel():
    """A line is the mean inside a band; losses share a scale, and so do accuracies."""
    figure = training_curves(RUNS)
    assert [ax.get_title() for ax in figure.axes] == list(history(0))
    for ax in figure.axes:
        assert [line.get_label() for line in ax.get_lines()] == ["naive", "torch"]
        assert ax.get_xlabel() == "epoch"
        np.testing.assert_array_equal(ax.get_lines()[0].get_xdata(), [1, 2, 3])
    one, two, three, four = figure.axes
    np.testing.assert_allclose(one.get_lines()[0].get_ydata(), [1.1, 0.6, 0.35])
    edges = one.collections[0].get_paths()[0].vertices[:, 1]
    assert (edges.min(), edges.max()) == pytest.approx((0.25, 1.2))
    assert one.get_ylim() == two.get_ylim() != three.get_ylim() == four.get_ylim()
    assert one.get_ylim()[1] >= 1.5  # the highest loss of all runs


def test_the_interval_is_students_t():
    values = [0.91, 0.94, 0.90, 0.93, 0.95]
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    mean, low, high = mean_interval(values)
    assert (low, high) == pytest.approx((expected.low, expected.high))
    assert mean == pytest.approx(0.926)


def test_every_value_is_a_dot_in_its_row():
    """The bar is the interval of the mean."""
    ax = spread({"naive": [0.9, 0.92, 0.91], "torch": [0.93, 0.9, 0.95]}, x_label="accuracy")
    assert names(ax.get_yticklabels()) == ["naive", "torch"]
    assert ax.yaxis_inverted() and ax.get_xlabel() == "accuracy"
    dots = [line for line in ax.get_lines() if line.get_marker() == "o"]
    np.testing.assert_array_equal(dots[0].get_xdata(), [0.9, 0.92, 0.91])
    assert set(dots[1].get_ydata()) == {1}
    values = [0.9, 0.92, 0.97]
    (bar,) = spread({"naive": values}, x_label="accuracy").containers
    (segment,) = bar.lines[2][0].get_segments()
    _, low, high = mean_interval(values)
    assert (segment[0][0], segment[1][0]) == pytest.approx((low, high))
    ax = spread({"naive": values}, x_label="seconds", interval=False)
    assert not ax.containers
    assert ax.get_lines()[-1].get_xdata()[0] == 0.92


def test_the_interval_of_a_gain_is_welchs():
    """Lesson 8's interval, against Welch and Satterthwaite."""
    rng = np.random.default_rng(0)
    gains = rng.normal(size=(5, 1)) / 30 + rng.normal(size=260) / 2 + rng.normal(size=(5, 260)) / 5
    seeds, texts = gains.mean(axis=1).var(ddof=1) / 5, gains.mean(axis=0).var(ddof=1) / 260
    degrees = (seeds + texts) ** 2 / (seeds**2 / 4 + texts**2 / 259)
    half = stats.t.ppf(0.975, degrees) * np.sqrt(seeds + texts)
    expected = (gains.mean(), gains.mean() - half, gains.mean() + half)
    assert interval(torch.tensor(gains)) == pytest.approx(expected, abs=1e-5)


# ---- positions -----------------------------------------------------------------------------------


def test_a_hand_points_where_sine_and_cosine_say():
    figure = positions.clock_figure(3, [1.0, 0.1])
    for ax, speed in zip(figure.axes, [1.0, 0.1], strict=True):
        (tip,) = (line for line in ax.lines if line.get_marker() == "o")
        assert tip.get_xdata()[0] == pytest.approx(math.sin(3 * speed))
        assert tip.get_ydata()[0] == pytest.approx(math.cos(3 * speed))
        assert ax.get_title() == f"speed {speed:g}"
    assert "Position 3. Speed 1: sine 0.14, cosine -0.99, once round in 6 positions." in figure.get_label()


def test_an_encoding_is_shown_with_its_products():
    """The table on a scale from -1 to 1, and the dot products with its middle row."""
    table = encode(6, 4)
    figure = positions.encoding_figure(table)
    heatmap, curve = figure.axes[0].images[0], figure.axes[1].lines[0]
    torch.testing.assert_close(torch.as_tensor(heatmap.get_array()), table.double())
    assert heatmap.get_clim() == (-1, 1)
    assert list(curve.get_xdata()) == [-3, -2, -1, 0, 1, 2]
    assert list(curve.get_ydata()) == pytest.approx((table @ table[3]).tolist())
    assert f"{float(table[3] @ table[3]):.2f} with itself" in figure.get_label()


def test_a_matrix_is_drawn_with_its_numbers():
    """A small number is not written as zero, and a large matrix has none."""
    small = positions.matrix_figure(torch.tensor([[1.0, -0.003], [0.0, 0.5]]), title="small").axes[0]
    assert names(small.texts) == ["1.00", "-0.003", "0.50"]
    large = positions.matrix_figure(torch.eye(40), title="identity")
    assert not large.axes[0].texts
    assert large.get_label() == "identity: 40 by 40, 40 of 1600 numbers are not 0."
