"""What a notebook keeps of controls: a text, which the site's pages leave out."""

from types import SimpleNamespace

import ipywidgets as widgets
import nbformat
import pytest

from attention_lab.maintain.site.pages import WIDGET, _SolvedOutputs
from nbjudge.tutor.learner import live_box
from nbjudge.tutor.learner.live_box import AGAIN, LiveBox


@pytest.fixture
def displayed(monkeypatch):
    """What is displayed, in the shell that is put in place."""
    shown = []
    monkeypatch.setattr(live_box, "display", lambda data, raw: shown.append(data))
    monkeypatch.setattr(live_box, "get_ipython", lambda: SimpleNamespace(kernel=None))
    return shown


def test_a_notebook_keeps_the_texts(displayed):
    text = widgets.HTML("<p>Key width 64.</p>")
    LiveBox([widgets.IntSlider(), text], [text])._ipython_display_()
    stored, controls = displayed
    assert "<p>Key width 64.</p>" in stored["text/html"] and AGAIN in stored["text/html"]
    assert WIDGET in controls and WIDGET not in stored


def test_a_terminal_shows_the_controls_alone(displayed, monkeypatch):
    monkeypatch.setattr(live_box, "get_ipython", lambda: None)
    LiveBox([])._ipython_display_()
    assert len(displayed) == 1


def test_a_page_has_its_own_slider_only(displayed, monkeypatch):
    """The stored text asks to run the cell again, which a page cannot do."""
    LiveBox([])._ipython_display_()
    outputs = [nbformat.v4.new_output("display_data", data) for data in displayed]
    solved = object.__new__(_SolvedOutputs)
    solved.solution = {"c": nbformat.v4.new_code_cell(outputs=outputs)}
    monkeypatch.setattr(_SolvedOutputs, "_static_slider", lambda *_: "a slider for pages")
    assert solved.outputs(nbformat.v4.new_code_cell("width_slider()", id="c")) == ["a slider for pages"]
