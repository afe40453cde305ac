"""The course's drawings, and its stored tables with the program that makes them."""

import importlib.resources
import json
from xml.etree import ElementTree

import pytest
from lesson_cells import LESSONS

from attention_lab.drawings import DRAWINGS, drawing
from attention_lab.measurements import stored_table


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_says_what_it_shows(name):
    """It is SVG with a text for those who do not see it, and no colour of words that a dark page hides."""
    svg = ElementTree.fromstring(drawing(name).data)
    assert len(svg.get("aria-label", "").split()) > 20
    width, height = map(float, svg.get("viewBox").split()[2:])
    for text in svg.iter("{http://www.w3.org/2000/svg}text"):
        assert text.get("fill") == "currentColor"
        assert 0 < float(text.get("x")) < width and 0 < float(text.get("y")) < height


def test_an_unknown_drawing_is_refused():
    with pytest.raises(ValueError, match="shapes, weighted_sum"):
        drawing("everything")


@pytest.mark.parametrize("lesson", [lesson.folder[:2] for lesson in LESSONS])
def test_a_stored_table_has_its_program(lesson):
    """Each table in measured.json is one of the lesson's functions, and has rows of one form."""
    package = importlib.import_module(f"attention_lab.lesson_{lesson}")
    file = importlib.resources.files(package) / "measured.json"
    if not file.is_file():
        with pytest.raises(ValueError, match="it has none"):
            stored_table(lesson, "anything")
        return
    tables = importlib.import_module(f"attention_lab.lesson_{lesson}.measured").TABLES
    stored = json.loads(file.read_text())
    assert set(stored) == set(tables)
    for name, rows in stored.items():
        assert len({tuple(row) for row in rows}) == 1
        assert f"lesson_numbers.py {lesson}" in stored_table(lesson, name).attrs["made_by"]
