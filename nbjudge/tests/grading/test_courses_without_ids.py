"""Most real courses have no cell ids: what a student added there is known from the merge, in every output."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from tiny_course import (
    FOLDER,
    FULL,
    NAME,
    GradedClass,
    after,
    answered,
    hand_in,
    make_course,
    source,
    succeed,
    without_ids,
)

from nbjudge.record.graded_notebook import read_graded
from nbjudge.report.gather import Failure, read_reported

pytestmark = pytest.mark.integration

GIVEN = "%time limit = 3"  # in a plain cell, with a magic; it occurs twice
OWN = {"": "first / 0", "given": "middle / 0", "end": "last / 0"}  # by the cell that each follows
TEXTS = {"mine in prose": nbformat.v4.new_markdown_cell, "mine, raw": nbformat.v4.new_raw_cell}


def with_given_cells(notebook: NotebookNode) -> NotebookNode:
    after(notebook, "test_double", nbformat.v4.new_code_cell(GIVEN, id="given"))
    return after(notebook, "test_row_sums", nbformat.v4.new_code_cell(GIVEN, id="given-again"))


def work(own: dict[str, str], **answers: str) -> NotebookNode:
    notebook = with_given_cells(answered(**answers))
    for place, text in own.items():
        after(notebook, place, text)
    if own:
        after(notebook, "title", *(make(text) for text, make in TEXTS.items()))
    return without_ids(notebook)


@pytest.fixture(scope="module")
def graded_class(tmp_path_factory: pytest.TempPathFactory) -> GradedClass:
    """Three students; the second has failing cells at the start, in the middle and at the end."""
    root = tmp_path_factory.mktemp("without_ids")
    make_course(root, lesson=without_ids(with_given_cells(source())))
    hand_in(root, "ada", work({}))
    hand_in(root, "bob", work(OWN, double="def double(x):\n    return x"), name="misnamed.ipynb")
    hand_in(root, "cyd", work({}, biggest="raise ValueError('not today')"))
    succeed(root, "autograde", FOLDER)
    succeed(root, "generate_feedback", FOLDER)
    return GradedClass(root)


@pytest.mark.smoke
def test_own_failing_cells_cost_no_one_a_grade(graded_class):
    """The answer that stops is named without ids, too."""
    assert graded_class.points("ada") == FULL
    assert graded_class.points("bob") == FULL | {"double": 0}
    assert graded_class.points("cyd") == FULL | {"biggest": 0}
    assert "ValueError" in graded_class.reason("cyd", "biggest")


def path_of(graded_class: GradedClass, student: str) -> Path:
    return graded_class.root / "autograded" / student / FOLDER / f"{NAME}.ipynb"


def test_graded_notebooks_are_valid_and_have_no_ids(graded_class):
    for student in ("ada", "bob"):
        content = json.loads(path_of(graded_class, student).read_text())
        assert content["nbformat_minor"] == 2 and not any("id" in cell for cell in content["cells"])
        nbformat.validate(content)


def test_record_and_report_name_own_cells(graded_class):
    assert sum(cell.is_added for cell in read_graded(path_of(graded_class, "bob")).cells) == 5
    assert not any(cell.is_added for cell in read_graded(path_of(graded_class, "ada")).cells)
    reported = read_reported(path_of(graded_class, "bob"))
    failures = [failure for failure in reported.failures if failure.where == "a cell of their own"]
    assert failures == [
        Failure("a cell of their own", "stops with NameError", f"name '{name}' is not defined")
        for name in ("first", "middle", "last")
    ]
    assert read_reported(path_of(graded_class, "ada")).failures == ()


def test_feedback_shows_own_cells(graded_class):
    """It folds the course's."""
    html = (graded_class.root / "feedback" / "bob" / FOLDER / f"{NAME}.html").read_text()
    folded = " ".join(part.split("</details>")[0] for part in html.split('<details class="section">')[1:])
    assert "limit" in folded
    for text in (*(name.split()[0] for name in OWN.values()), *TEXTS):
        assert text in html and text not in folded
    assert html.count("misnamed.ipynb") == 1  # the grader's own cell is no part of the notebook
