"""The course's worked numbers are in the stored outputs, which nbval compares with those of a new run."""

import re

import nbformat
import pytest
from lesson_cells import COURSE

pytestmark = pytest.mark.lesson


@pytest.mark.parametrize(
    ("lesson", "numbers"),
    [
        ("dot_product", "1.3127 1.1213 1.5807 1.3343"),
        ("dot_product", "0.2407 0.1987 0.3146 0.2459"),
        ("dot_product", "0.5165 0.7774 0.6536"),
        ("dot_product", "0.2773 0.6307 0.2594 0.5699 0.2700 0.8266 0.1933 0.6742 0.6762"),  # on paper
        ("dot_product", "1.6442 1.0264"),
        ("dot_product", "2.2888 2.1945 2.2514 1.7783"),
        ("scaling", "0.2773 0.2594 0.2700 0.1933 0.6762 0.3120"),
        ("scaling", "0.3668 0.3001 0.3331 0.2955 0.4472 0.2573 0.3729 0.2933 0.3338"),
        ("scaling", "0.7122 0.0640 0.2237"),
        ("mask", "1.3127 1.1213 1.5807 1.3343"),
        ("attention_head", "0.3668 0.3001 0.3331 0.2955 0.4472 0.2573 0.3729 0.2933 0.3338"),
        ("positional_encoding", "2.0630 2.1630 2.1523 2.2523 2.0020 2.1020"),  # how are you
        ("positional_encoding", "2.0020 2.1020 2.0630 2.1630 2.1523 2.2523"),  # you how are
    ],
)
def test_a_reader_of_the_solution_sees_the_numbers(lesson, numbers):
    cells = nbformat.read(COURSE.assignments[lesson].solution_path, as_version=4).cells
    printed = " ".join(o.get("text", "") for cell in cells for o in cell.get("outputs", []))
    assert numbers in " ".join(re.findall(r"\d+\.\d{4}\b", printed))
