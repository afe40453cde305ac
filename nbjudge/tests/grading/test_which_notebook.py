"""Which file of a submission is graded as which notebook of its assignment: each file as at most one."""

import json
from pathlib import Path

import pytest
from nbformat import NotebookNode, v4

from nbjudge.course.assignment_forms import answer_cells
from nbjudge.submission.files import Folder, read_handed_in
from nbjudge.submission.read_submission import contents_of, read_submission

CANVAS = "lovelaceada_1815_1843_"


def notebook(name: str, answer: str = "def q1():\n    return 0") -> NotebookNode:
    """One of an assignment's notebooks, all of which have the same cell ids because they were copied."""
    marks = {"grade_id": "q1", "solution": True, "grade": False, "locked": False, "schema_version": 3}
    cells = [v4.new_markdown_cell(f"# The exercise {name}", id="title"), v4.new_code_cell(answer, id="q1")]
    cells[1].metadata["nbgrader"] = marks
    return v4.new_notebook(cells=cells)


def graded(folder: Path, names: list[str]) -> dict[str, str]:
    """The file that is graded as each notebook; empty if none is."""
    forms = {f"{name}.ipynb": notebook(name) for name in names}
    contents = {name: contents_of(form) for name, form in forms.items()}
    handed_in = read_handed_in(Folder(folder), forms)
    return {
        name: read_submission(handed_in, name, answer_cells(form), contents).path
        for name, form in forms.items()
    }


@pytest.mark.parametrize(
    "files",
    [
        {"Copy of p1.ipynb": "p1", "Copy of p2.ipynb": "p2"},
        {"Copy of p2.ipynb": "p2"},
        {f"{CANVAS}p1.ipynb": "p1", f"{CANVAS}p2-1.ipynb": "p2"},
        {"p1 (1).ipynb": "p1", "p2-Copy1.ipynb": "p2"},
        {"p10 (1).ipynb": "p10", "p1 (1).ipynb": "p1"},
        {"Copy of p10.ipynb": "p10"},
        {"ada_p1_extra-2.ipynb": "p1 extra", "ada_p1-2.ipynb": "p1"},
        {"Copyofp2.ipynb": "p2", "Untitled.ipynb": "p1"},
        {"p1.ipynb": "p1", "Untitled.ipynb": "p2"},
        {"inner/p2.ipynb": "p2", "p1 and p2.ipynb": "p1"},
    ],
    ids=" ".join,
)
def test_a_file_is_graded_as_the_notebook_it_names(tmp_path, files):
    """The name is found anywhere between word borders; where there is none, the content decides."""
    names = sorted({"p1", "p2", *files.values()})
    for file, name in files.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(json.dumps(notebook(name, "def q1():\n    return 1")))
    assert graded(tmp_path, names) == {
        f"{name}.ipynb": next((file for file in files if files[file] == name), "") for name in names
    }


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"work.ipynb"}, {"p1.ipynb": "", "p2.ipynb": ""}),
        ({"work.ipynb", "p1.ipynb"}, {"p1.ipynb": "p1.ipynb", "p2.ipynb": "work.ipynb"}),
    ],
)
def test_a_file_that_may_be_either_is_the_missing_one(tmp_path, files, expected):
    """Where two are missing it is neither, because a wrong guess is a 0 for work that is right."""
    for file in files:
        (tmp_path / file).write_text(json.dumps(notebook("of another title", "def q1():\n    return 1")))
    assert graded(tmp_path, ["p1", "p2"]) == expected


def test_with_only_one_notebook_any_name_will_do(tmp_path):
    (tmp_path / "p2 and more.ipynb").write_text(json.dumps(notebook("p1", "def q1():\n    return 1")))
    assert graded(tmp_path, ["p1"]) == {"p1.ipynb": "p2 and more.ipynb"}
