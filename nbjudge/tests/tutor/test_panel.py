"""What the panel of a check shows of the Markdown in hints and model answers."""

import re

import pytest

from nbjudge.tutor.learner.result import Help
from nbjudge.tutor.messages import Part

DATA = "data:image/png;base64,iVBORw0KGgo="
REMOTE = ["http://stranger.invalid/a.png", "https://stranger.invalid/a", "//stranger.invalid/a.png", "a.png"]


def shown(text):
    return Help([Part("markdown", text)], "a hint")._repr_html_()


@pytest.mark.parametrize("address", REMOTE)
@pytest.mark.parametrize(
    "form", ["![scores]({})", "![scores][1]\n\n[1]: {}\n", "[![scores]({})](https://a.b)"]
)
def test_a_picture_from_elsewhere_is_not_fetched_and_its_description_is_shown(address, form):
    html = shown(f"Look, `code`: {form.format(address)}")
    assert not re.search("<img|stranger|src=", html)
    assert "scores" in html and "<code>code</code>" in html


def test_a_picture_within_the_text_is_shown():
    html = shown(f"![scores]({DATA}) and ![again](http://stranger.invalid)")
    assert re.findall('src="([^"]*)"', html) == [DATA]


def test_html_of_a_picture_is_text():
    html = shown("Look: <img src=http://stranger.invalid/a.png>")
    assert "<img" not in html and "&lt;img" in html
