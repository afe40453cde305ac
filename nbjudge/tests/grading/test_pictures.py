"""Pictures in written answers are shown to the marker and on the feedback page, or a remark says why not."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st
from nbconvert.exporters import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode, v4
from test_student_prose import PIECES, what_is_more_than_text

from nbjudge.cell_metadata import recorded_remarks
from nbjudge.feedback.prose import as_html
from nbjudge.submission import read_submission as pictures
from nbjudge.submission.files import Folder, read_handed_in
from nbjudge.submission.merge import merge_submission, neutralize_markup
from nbjudge.submission.read_submission import Picture, read_submission

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
TEXT = base64.b64encode(PNG).decode()
BIG = base64.b64encode(PNG + bytes(2000)).decode()
SHOWN = f"data:image/png;base64,{TEXT}"
SVG = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg'><script>x()</script>" + b" " * 99).decode()
MARKS = {
    "grade_id": "why",
    "solution": True,
    "grade": True,
    "locked": False,
    "points": 2,
    "schema_version": 3,
}


def answer(text: str, attachments: object = None) -> NotebookNode:
    cell = v4.new_markdown_cell(f"Because.\n\n{text} It follows.", id="why", metadata={"nbgrader": MARKS})
    return cell if attachments is None else nbformat.from_dict(cell | {"attachments": attachments})


def merged(folder: Path, *cells: NotebookNode) -> NotebookNode:
    """The notebook that is graded of one with these cells; a picture is beside it."""
    form = v4.new_notebook(cells=[v4.new_markdown_cell("Why?", id="why", metadata={"nbgrader": MARKS})])
    (folder / "p.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5}))
    (folder / "by hand").mkdir(exist_ok=True)
    (folder / "by hand/d.PNG").write_bytes(PNG)
    submission = read_submission(
        read_handed_in(Folder(folder), ["p.ipynb"]), "p.ipynb", {"why": form.cells[0]}
    )
    assert submission.reason == ""
    return merge_submission(form, submission.cells)


@pytest.mark.parametrize(
    ("text", "attachments"),
    [
        ("![the steps](attachment:a.png)", {"a.png": {"image/png": TEXT}}),
        ("![](attachment:my%20steps.png 'title')", {"my steps.png": {"image/png": [TEXT[:9], TEXT[9:]]}}),
        ('<img width="9" src="attachment:a.png"/>', {"a.png": {"image/jpeg": TEXT}}),
        ("see ![steps <b>](attachment:a) and", {"a": {"image/png": TEXT}, "b": {"image/png": 3}, "c": None}),
        (f"![image.png]({SHOWN})", None),
        (f"<IMG src='{SHOWN}'>", "nothing"),
        ("![](by%20hand/d.PNG)", {}),
    ],
    ids=["attachment", "encoded", "element", "in a sentence", "data", "data in an element", "file"],
)
def test_a_picture_in_an_answer_is_shown(tmp_path, text, attachments):
    """In the page that nbgrader's formgrader makes, too, and the sentences around it stay."""
    notebook = merged(tmp_path, answer(text, attachments))
    nbformat.validate(notebook)
    assert recorded_remarks(notebook) == [] and len(notebook.cells[0].source) < 200
    page = BeautifulSoup(HTMLExporter().from_notebook_node(notebook)[0], "html.parser").body
    feedback = BeautifulSoup(as_html(notebook.cells[0].source, notebook.cells[0].attachments), "html.parser")
    for each in (page, feedback):
        assert [picture["src"] for picture in each.find_all("img")] == [SHOWN]
        assert "Because." in each.get_text() and "It follows." in each.get_text()


@pytest.mark.parametrize(
    ("text", "attachments", "remark"),
    [
        ("![](attachment:a.svg)", {"a.svg": {"image/svg+xml": SVG}}, "'a.svg' (it is no PNG"),
        ("![](attachment:a.png)", {"a.png": {"image/png": SVG}}, "'a.png' (it is no PNG"),
        ("![](attachment:big)", {"big": {"image/png": BIG}}, "'big' (it has more than"),
        ("![](attachment:a.png)", {}, "'a.png' (no such picture"),
        (f"![](data:image/svg+xml;base64,{SVG})", {}, "data in the text (it is no PNG"),
        ("![](/etc/passwd) ![](../p.ipynb)", {}, "(no such picture"),
        ("![](https://example.com/a.png)", {}, None),
        (f"![][1]\n\n[1]: <data:image/png;base64,{'A' * 3_000_000}>", {}, None),
    ],
    ids=["svg", "another type", "large", "missing", "svg data", "elsewhere", "web", "long data"],
)
def test_a_picture_that_is_not_shown_is_named(tmp_path, monkeypatch, text, attachments, remark):
    monkeypatch.setattr(pictures, "LARGEST_PICTURE", 1000)
    notebook = merged(tmp_path, answer(text, attachments))
    assert [remark in each for each in recorded_remarks(notebook)] == ([True] if remark else [])
    source = notebook.cells[0].source
    assert source.startswith("Because.") and source.endswith("It follows.") and len(source) < 300
    assert "attachments" not in notebook.cells[0]


def test_pictures_of_one_name_in_two_cells_stay_apart(tmp_path):
    contents = [base64.b64encode(PNG + end).decode() for end in (b"1", b"2")]
    cells = [answer("![](attachment:image.png)", {"image.png": {"image/png": each}}) for each in contents]
    notebook = merged(tmp_path, *cells)
    html = as_html(notebook.cells[0].source, notebook.cells[0].attachments)
    assert [html.count(each) for each in contents] == [1, 1]


def test_all_pictures_together_have_a_limit(tmp_path, monkeypatch):
    """A file that is shown in thousands of cells would make a notebook of gigabytes."""
    monkeypatch.setattr(pictures, "ALL_PICTURES", 2 * len(PNG))
    own = [v4.new_markdown_cell("![](<by%20hand/d.PNG>)") for _ in range(3)]
    notebook = merged(tmp_path, answer("No."), *own)
    assert sum("attachments" in cell for cell in notebook.cells) == 2
    assert len(recorded_remarks(notebook)) == 1


@given(
    st.lists(st.sampled_from([*PIECES, "![x](attachment:a)", "<img src=attachment:a>"]), max_size=20).map(
        "".join
    )
)
@settings(max_examples=300, deadline=None)
def test_beside_its_picture_prose_is_no_more_than_text(text):
    picture = Picture(PNG)
    renderer = IPythonRenderer(attachments={picture.name: picture.as_attachment()}, exclude_anchor_links=True)
    source = neutralize_markup(text, {"attachment:a": picture})
    page = BeautifulSoup(MarkdownWithMath(renderer=renderer).render(source), "html.parser")
    for each in page.find_all("img"):
        assert each["src"] == SHOWN and each.attrs.keys() <= {"src", "alt"}
        each.decompose()
    assert what_is_more_than_text(page) == []
