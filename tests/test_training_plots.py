"""The pictures of training runs show every run, and an interval is the one that statistics gives."""

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from scipy import stats

from attention_lab.lesson_08.plumbing import interval
from attention_lab.training_plots import mean_interval, spread, training_curves


def history(offset):
    return {
        "training loss": [1.0 + offset, 0.5 + offset, 0.25 + offset],
        "validation loss": [1.2 + offset, 0.7 + offset, 0.6 + offset],
        "training accuracy": [0.5, 0.7, 0.9],
        "validation accuracy": [0.4, 0.6, 0.8],
    }


RUNS = {"naive": [history(0.0), history(0.2)], "torch": [history(0.1), history(0.3)]}


@pytest.fixture(autouse=True)
def no_figure_left_behind():
    yield
    plt.close("all")


def test_each_measurement_has_a_panel_with_a_line_for_each_model():
    figure = training_curves(RUNS)
    assert [ax.get_title() for ax in figure.axes] == list(history(0))
    for ax in figure.axes:
        assert [line.get_label() for line in ax.get_lines()] == ["naive", "torch"]
        assert ax.get_xlabel() == "epoch"
        np.testing.assert_array_equal(ax.get_lines()[0].get_xdata(), [1, 2, 3])


def test_a_line_is_the_mean_of_the_runs_inside_a_band_from_the_lowest_to_the_highest():
    ax = training_curves(RUNS).axes[0]
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), [1.1, 0.6, 0.35])
    edges = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (edges.min(), edges.max()) == pytest.approx((0.25, 1.2))


def test_losses_share_a_scale_and_so_do_accuracies():
    one, two, three, four = training_curves(RUNS).axes
    assert one.get_ylim() == two.get_ylim() != three.get_ylim() == four.get_ylim()
    assert one.get_ylim()[1] >= 1.5  # the highest loss of all runs


@pytest.mark.parametrize(
    "runs",
    [
        {},
        {"naive": []},
        {"naive": [history(0)], "torch": []},
        {"naive": [history(0), history(0) | {"training loss": [1.0]}]},
        {"naive": [history(0)], "torch": [{"training loss": [1.0, 0.5, 0.2]}]},
        {"naive": [{}]},
    ],
)
def test_runs_that_do_not_fit_together_are_refused_in_one_sentence(runs):
    with pytest.raises(ValueError, match=r"^training_curves needs .*\.$"):
        training_curves(runs)


def test_the_interval_is_students_t():
    values = [0.91, 0.94, 0.90, 0.93, 0.95]
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    mean, low, high = mean_interval(values)
    assert (low, high) == pytest.approx((expected.low, expected.high))
    assert mean == pytest.approx(0.926)
    assert mean_interval(values, confidence=0.5)[1] > low


def test_every_value_is_a_dot_in_the_row_of_its_name_and_the_first_name_is_on_top():
    ax = spread({"naive": [0.9, 0.92, 0.91], "torch": [0.93, 0.9, 0.95]}, x_label="accuracy")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["naive", "torch"]
    assert ax.yaxis_inverted() and ax.get_xlabel() == "accuracy"
    dots = [line for line in ax.get_lines() if line.get_marker() == "o"]
    np.testing.assert_array_equal(dots[0].get_xdata(), [0.9, 0.92, 0.91])
    assert set(dots[1].get_ydata()) == {1}


def test_the_bar_is_the_interval_of_the_mean_and_without_it_the_median_is_marked():
    values = [0.9, 0.92, 0.97]
    (bar,) = spread({"naive": values}, x_label="accuracy").containers
    (segment,) = bar.lines[2][0].get_segments()
    _, low, high = mean_interval(values)
    assert (segment[0][0], segment[1][0]) == pytest.approx((low, high))
    ax = spread({"naive": values}, x_label="seconds", interval=False)
    assert not ax.containers
    assert ax.get_lines()[-1].get_xdata()[0] == 0.92


@pytest.mark.parametrize("values", [{}, {"A": []}])
def test_nothing_to_draw_is_refused(values):
    with pytest.raises(ValueError, match=r"^spread needs .*\.$"):
        spread(values, x_label="accuracy")


def test_the_interval_of_a_gain_has_the_degrees_of_freedom_of_its_two_variances():
    """Lesson 8's interval, against Welch and Satterthwaite and an integral of Student's density."""
    rng = np.random.default_rng(0)
    gains = rng.normal(size=(5, 1)) / 30 + rng.normal(size=260) / 2 + rng.normal(size=(5, 260)) / 5
    seeds, texts = gains.mean(axis=1).var(ddof=1) / 5, gains.mean(axis=0).var(ddof=1) / 260
    degrees = (seeds + texts) ** 2 / (seeds**2 / 4 + texts**2 / 259)
    assert 4 < degrees < 263

    grid = np.linspace(-50, 50, 500_001)
    below = np.cumsum((1 + grid**2 / degrees) ** (-(degrees + 1) / 2))
    quantile = grid[np.searchsorted(below, 0.975 * below[-1])]
    half = quantile * np.sqrt(seeds + texts)
    expected = (gains.mean(), gains.mean() - half, gains.mean() + half)
    assert interval(torch.tensor(gains)) == pytest.approx(expected, abs=1e-5)
