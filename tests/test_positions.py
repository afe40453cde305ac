"""The pictures of positions show the numbers they are given, and their sliders move them."""

import math

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import pytest
import torch

from attention_lab.sliders import positions


def encode(max_len, embed_dim):
    """Any table of the right shape: the pictures do not know the formula."""
    return torch.sin(torch.arange(max_len).unsqueeze(1) * torch.arange(1, embed_dim + 1) / embed_dim)


@pytest.fixture(autouse=True)
def no_figure_left_behind():
    yield
    plt.close("all")


def test_a_hand_points_where_sine_and_cosine_say():
    figure = positions.clock_figure(3, [1.0, 0.1])
    for ax, speed in zip(figure.axes, [1.0, 0.1], strict=True):
        (tip,) = (line for line in ax.lines if line.get_marker() == "o")
        assert tip.get_xdata()[0] == pytest.approx(math.sin(3 * speed))
        assert tip.get_ydata()[0] == pytest.approx(math.cos(3 * speed))
        assert ax.get_title() == f"speed {speed:g}"
    assert "Position 3. Speed 1: sine 0.14, cosine -0.99, once round in 6 positions." in figure.get_label()


def test_the_heatmap_holds_the_table_on_a_scale_from_minus_one_to_one():
    table = encode(6, 4)
    heatmap = positions.encoding_figure(table).axes[0].images[0]
    torch.testing.assert_close(torch.as_tensor(heatmap.get_array()), table.double())
    assert heatmap.get_clim() == (-1, 1)


def test_signed_values_get_ever_lighter_so_that_no_two_look_alike_in_grey():
    red, green, blue, _ = positions.COLOURS(torch.linspace(0, 1, 64).numpy()).T
    grey = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    assert (grey[1:] - grey[:-1] > 0.005).all()


def test_a_small_number_of_a_matrix_is_not_written_as_zero():
    ax = positions.matrix_figure(torch.tensor([[1.0, -0.003], [0.0, 0.5]]), title="small").axes[0]
    assert [text.get_text() for text in ax.texts] == ["1.00", "-0.003", "0.50"]


def test_the_curve_is_the_dot_product_with_the_middle_row():
    table = encode(6, 4)
    figure = positions.encoding_figure(table)
    curve = figure.axes[1].lines[0]
    assert list(curve.get_xdata()) == [-3, -2, -1, 0, 1, 2]
    assert list(curve.get_ydata()) == pytest.approx((table @ table[3]).tolist())
    assert f"{float(table[3] @ table[3]):.2f} with itself" in figure.get_label()


def test_a_matrix_is_drawn_with_the_numbers_that_are_not_zero():
    ax = positions.matrix_figure(torch.eye(4), title="identity").axes[0]
    assert [text.get_text() for text in ax.texts] == ["1.00"] * 4
    large = positions.matrix_figure(torch.eye(40), title="identity")
    assert not large.axes[0].texts
    assert large.get_label() == "identity: 40 by 40, 40 of 1600 numbers are not 0."


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: positions.encoding_figure(torch.ones(1, 6, 4)), "not (1, 6, 4): take encoding[0]"),
        (lambda: positions.encoding_figure(torch.ones(6)), "(T, E), not (6,)"),
        (lambda: positions.products_by_distance(torch.ones(0, 4)), "not (0, 4)"),
        (lambda: positions.matrix_figure(torch.ones(2, 4), title="no"), "square matrix, (E, E), not (2, 4)"),
        (lambda: positions.clock_figure(0, []), "at least one clock"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_advice(call, sentence):
    with pytest.raises(ValueError) as refusal:
        call()
    assert sentence in str(refusal.value)
