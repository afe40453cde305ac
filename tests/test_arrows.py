"""The query that turns and the shares that are separated: what they show is torch's, at every position."""

import math

import ipywidgets as widgets
import pytest
import torch
from matplotlib.quiver import Quiver
from matplotlib.text import Text

from attention_lab.sliders import arrows

KEYS = torch.tensor([[1.0, 1.0], [-1.0, 2.0], [-1.0, -1.0], [3.0, 0.0]])
NAMES = ["a", "b", "c", "z"]


@pytest.mark.parametrize("angle", [-180, -45, 0, 25, 90])
def test_the_bars_are_the_softmax_of_the_scores(angle):
    figure = arrows.query_figure(angle, KEYS, names=NAMES, length=2)
    turned = math.radians(angle)
    scores = KEYS.double() @ torch.tensor([2 * math.cos(turned), 2 * math.sin(turned)], dtype=torch.float64)
    heights = [bar.get_height() for bar in figure.axes[1].containers[0]]
    assert heights == pytest.approx(torch.softmax(scores, -1).tolist())
    label = figure.get_label()
    assert f"z {scores[3]:.2f}" in label and f"Most weight to {NAMES[int(scores.argmax())]}" in label


def test_the_query_is_drawn_below_the_names_of_the_keys():
    plane = arrows.query_figure(45, KEYS, names=NAMES, length=2).axes[0]  # along key a, and over its name
    moving = plane.findobj(lambda artist: artist.get_animated())
    query = next(place for place, artist in enumerate(moving) if isinstance(artist, Quiver))
    assert {artist.get_text() for artist in moving[query + 1 :] if isinstance(artist, Text)} == set(NAMES)


def test_keys_that_cannot_be_drawn_are_refused():
    with pytest.raises(ValueError, match=r"\(T, 2\)"):
        arrows.query_slider(torch.ones(4, 3), names=NAMES)


@pytest.mark.parametrize("percent", [55, 75, 100])
def test_shares_are_separated_as_well_as_rounding_lets_them(percent):
    first, second = 2.37, -1.14
    figure = arrows.shares_figure(percent, (first, second))
    mixture, originals = ([bar.get_height() for bar in ax.containers[0]] for ax in figure.axes)
    share = percent / 100
    assert mixture == pytest.approx(
        [share * first + (1 - share) * second, (1 - share) * first + share * second], abs=0.05
    )
    growth = 1 / (2 * share - 1)
    assert originals == pytest.approx([first, second], abs=0.05 * growth + 1e-9)
    assert f"at most {growth:.1f}-fold" in figure.get_label()


def test_equal_shares_cannot_be_separated():
    assert "cannot be separated" in arrows.shares_figure(50).get_label()


@pytest.mark.parametrize(("angle", "position"), [(0, 1), (-60, 0), (60, 2), (180, 4), (-25, 1)])
def test_a_question_that_is_turned_finds_another_position(angle, position):
    figure = arrows.question_figure(angle)
    (cells,) = figure.axes[1].collections
    weights = torch.tensor(cells.get_array()).reshape(6, 6)
    assert int(weights[1].argmax()) == position and f"most at position {position}" in figure.get_label()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(6, dtype=torch.float64))


MADE = [lambda: arrows.query_slider(KEYS, names=NAMES), arrows.shares_slider, arrows.question_slider]


@pytest.mark.parametrize("make_slider", MADE)
def test_a_slider_moves_picture_and_words(make_slider):
    widget = make_slider()
    slider, exact = widget.children[0].children
    before = bytes(widget.children[1].value), widget.children[2].value
    slider.value = slider.max
    after = bytes(widget.children[1].value), widget.children[2].value
    assert isinstance(exact, widgets.BoundedIntText) and exact.value == slider.max
    assert before[0] != after[0] and before[1] != after[1] and after[0].startswith(b"\x89PNG")
