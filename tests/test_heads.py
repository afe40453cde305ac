"""The heatmaps of several heads can be compared, and what cannot be drawn is refused with advice."""

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from attention_lab.heads import head_heatmaps
from attention_lab.plots import colours

TOKENS = ["I", "am", "learning", "this"]


@pytest.fixture(autouse=True)
def no_figure_left_behind():
    yield
    plt.close("all")


@pytest.fixture
def weights():
    return torch.softmax(torch.randn(3, 4, 4, generator=torch.Generator().manual_seed(0)), dim=-1)


def panels(figure):
    return [ax for ax in figure.axes if ax.get_xlabel() == "key"]


def names(labels):
    return [label.get_text() for label in labels]


def test_each_head_has_a_panel_that_holds_its_weights(weights):
    figure = head_heatmaps(weights)
    assert [ax.get_title() for ax in panels(figure)] == ["head 0", "head 1", "head 2"]
    for ax, head in zip(panels(figure), weights, strict=True):
        np.testing.assert_allclose(ax.collections[0].get_array(), head, rtol=1e-6)


def test_all_heads_share_one_scale_and_one_colour_bar(weights):
    weights[1] = 0.25  # a head that looks everywhere must look pale beside the others
    figure = head_heatmaps(weights, annotate=False)
    assert {ax.collections[0].get_clim() for ax in panels(figure)} == {(0, 1)}
    assert {ax.collections[0].get_cmap().name for ax in panels(figure)} == {colours().name}
    bars = [ax for ax in figure.axes if ax not in panels(figure)]
    assert [bar.get_ylabel() for bar in bars] == ["weight"]


def test_keys_are_named_under_each_panel_and_queries_once(weights):
    first, *others = panels(head_heatmaps(weights[:, :2], queries=TOKENS[:2], keys=TOKENS))
    assert first.get_ylabel() == "query" and names(first.get_yticklabels()) == TOKENS[:2]
    for ax in (first, *others):
        assert names(ax.get_xticklabels()) == TOKENS
    assert all(ax.get_ylabel() == "" and not ax.yaxis.get_tick_params()["labelleft"] for ax in others)


def test_many_places_are_named_at_their_ends_only():
    for ax in panels(head_heatmaps(torch.full((8, 30, 30), 1 / 30))):
        assert names(ax.get_xticklabels())[0] == "0" and len(ax.get_xticklabels()) == 2
        assert not ax.texts


def test_a_list_of_heads_is_as_good_as_a_tensor_and_gradients_do_not_matter(weights):
    weights.requires_grad_()
    for given in (list(weights), weights, weights.detach().numpy()):
        shown = [ax.collections[0].get_array() for ax in panels(head_heatmaps(given))]
        np.testing.assert_array_equal(shown, weights.detach().numpy())


@pytest.mark.parametrize(
    ("weights", "advice"),
    [
        (torch.full((4, 4), 0.25), "attention_heatmap"),
        (torch.full((2, 3, 4, 4), 0.25), r"weights\[0\]"),
        (torch.zeros(0, 4, 4), r"\(0, 4, 4\)"),
        ([], r"\(0,\)"),
        (torch.full((2, 4, 4), 3.0), "before the softmax"),
        (torch.full((2, 4, 4), -0.5), "-0.50"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_advice(weights, advice):
    with pytest.raises(ValueError, match=advice):
        head_heatmaps(weights)
