"""The widget that classifies a typed headline: its figure, its text and its examples."""

import pytest
import torch

from attention_lab.sliders.headline import headline_box, headline_figure

NAMES = ["business", "sports"]


def read(text):
    tokens = text.split()
    weights = torch.softmax(torch.tensor([[float(len(token)) for token in tokens]] * len(tokens)), dim=-1)
    share = min(1.0, 0.1 * len(text))
    return tokens, torch.tensor([share, 1 - share]), weights


def test_the_figure_shows_probabilities_and_weights():
    figure = headline_figure(read, NAMES, "shares fell sharply")
    bars, grid = figure.axes[:2]
    assert [bar.get_width() for bar in bars.containers[0]] == pytest.approx([1.0, 0.0])
    assert [tick.get_text() for tick in grid.get_xticklabels()] == ["shares", "fell", "sharply"]
    assert "goes to business (1.00). Most looked at: sharply" in figure.get_label()


def test_a_headline_is_chosen_or_typed():
    widget = headline_box(read, NAMES, ["up", "shares fell"])
    slider, line = widget.children[0].children
    assert "sports (0.80)" in widget.children[2].value
    slider.value = 1
    assert line.value == "shares fell" and "business" in widget.children[2].value
    picture = bytes(widget.children[1].value)
    line.value = "<b> a goal"
    assert "&lt;b&gt; a goal" in widget.children[2].value and bytes(widget.children[1].value) != picture
    line.value = "  "
    assert "Type a headline." in widget.children[2].value
