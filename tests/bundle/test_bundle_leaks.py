"""The leak gate of the zip for students sees every kind of leak, and says it in one sentence."""

from __future__ import annotations

import io
import re
import shutil
import zipfile
from collections.abc import Callable

import nbformat
import pytest
from bundle_school import (
    INSIDE,
    NOTEBOOK,
    Members,
    read_zip,
    wheel_in,
    write_zip,
)
from rich.console import Console
from tiny_course import FOLDER, NAME, cell_of
from written_question import MARK_SCHEME, MODEL_ANSWER

from attention_lab.errors import CourseError
from attention_lab.maintain.bundle.gate import leaks
from attention_lab.maintain.bundle.make_bundle import make_bundle
from nbjudge.course.assignment_forms import released
from nbjudge.course.configuration import read_config
from nbjudge.course.course import Course

pytestmark = pytest.mark.integration


def in_notebook(change: Callable[[nbformat.NotebookNode], object]) -> Callable[[Members], None]:
    def leak(members: Members) -> None:
        notebook = nbformat.reads(members[NOTEBOOK].decode(), as_version=4)
        change(notebook)
        members[NOTEBOOK] = nbformat.writes(notebook).encode()

    return leak


def in_cell(cell_id: str, text: str) -> Callable[[Members], None]:
    def write(notebook: nbformat.NotebookNode) -> None:
        cell_of(notebook, cell_id).source += f"\n{text}"

    return in_notebook(write)


def in_wheel(name: str, text: str, package: str = "attention_lab") -> Callable[[Members], None]:
    def leak(members: Members) -> None:
        wheel = wheel_in(members, package)
        inside = read_zip(members[wheel])
        members[wheel] = write_zip({**inside, name: inside.get(name, b"") + text.encode()})

    return leak


def in_zip(name: str, text: str) -> Callable[[Members], None]:
    def leak(members: Members) -> None:
        name_there = f"attention-lab/{name}"
        members[name_there] = members.get(name_there, b"") + text.encode()

    return leak


def with_output(notebook: nbformat.NotebookNode) -> None:
    cell_of(notebook, "shown").outputs = [nbformat.v4.new_output("stream", text="tensor([2.])")]


def with_widgets(notebook: nbformat.NotebookNode) -> None:
    notebook.metadata.widgets = {"application/vnd.jupyter.widget-state+json": {"state": {}}}


def with_hidden_metadata(notebook: nbformat.NotebookNode) -> None:
    cell_of(notebook, "double").metadata.note = {"deep": ["down", f"x\n{MODEL_ANSWER}"]}


GROUP = '@double.group("tapir vectors", points=1)'
HIDDEN = "from nbjudge import check"
# name: (what is put where, words of the sentence that says so)
LEAKS = {
    "a solution": (in_cell("double", "    return 2 * x  # okapi"), ("'double'", NAME, "a solution")),
    "a solution with its marks": (in_cell("double", "### BEGIN SOLUTION"), ("'double'", "BEGIN SOLUTION")),
    "a model answer in prose": (in_cell("why", MODEL_ANSWER), ("'why'", "a solution")),
    "a hidden test": (in_cell("test_double", HIDDEN), ("'test_double'", "a hidden test")),
    "a hidden region": (in_cell("test_double", "### END HIDDEN TESTS"), ("'test_double'", "a hidden test")),
    "a mark scheme": (in_cell("why_question", MARK_SCHEME), ("'why_question'", "a mark scheme")),
    "a check": (in_cell("title", GROUP), ("'title'", "a check", "checks/tiny.py")),
    "an output": (in_notebook(with_output), ("'shown'", "outputs")),
    "widget state": (in_notebook(with_widgets), (NAME, "widgets")),
    "an answer in a cell's metadata": (in_notebook(with_hidden_metadata), ("'double'", "a solution")),
    "an answer in the README": (in_zip("README.md", f"\n{MODEL_ANSWER}\n"), ("README.md", "a solution")),
    "a cell that the source has not": (in_cell("title", "More."), (NAME, "not what its source makes")),
    "a given file of another kind": (
        in_zip(f"lessons/{FOLDER}/given.py", "B = 1\n"),
        ("given.py", "source/"),
    ),
    "the checks": (in_zip("checks/tiny.py", GROUP), ("checks/tiny.py", "take it out")),
    "a gradebook": (in_zip("gradebook.db", "SQLite"), ("gradebook.db", "take it out")),
    "a module of the grader": (
        in_wheel("nbjudge/judge/scoring.py", ""),
        ("nbjudge/judge/scoring.py", "take it out"),
    ),
    "checks in the grader's wheel": (
        in_wheel("nbjudge/checks/tiny.py", GROUP, "nbjudge"),
        ("nbjudge/checks/tiny.py", "take it out"),
    ),
    "a changed module of the grader": (
        in_wheel("nbjudge/errors.py", f"\n{GROUP}\n", "nbjudge"),
        ("nbjudge/errors.py", "make the zip again"),
    ),
    "an answer about the grader's wheel": (
        in_wheel("nbjudge-0.1.0.dist-info/METADATA", f"\n{MODEL_ANSWER}\n", "nbjudge"),
        ("METADATA", "a solution"),
    ),
    "a grader's wheel that is missing": (
        lambda members: members.pop(wheel_in(members, "nbjudge")),
        ("not one of each",),
    ),
    "a changed module": (
        in_wheel("attention_lab/errors.py", "KEY = 1\n"),
        ("errors.py", "make the zip again"),
    ),
    "a solution inside the wheel": (in_wheel(INSIDE, "return 2 * x"), (INSIDE, "notebook")),
    "an answer about the wheel": (
        in_wheel("attention_lab-0.2.0.dist-info/METADATA", f"\n{MODEL_ANSWER}\n"),
        ("METADATA", "a solution"),
    ),
    "a lesson that is missing": (lambda members: members.pop(NOTEBOOK), (NAME, "is missing")),
    "a wheel that is missing": (lambda members: members.pop(wheel_in(members)), ("not one of each",)),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_the_gate_refuses(school, members, tmp_path, leak):
    spoil, words = LEAKS[leak]
    spoil(members)
    (tmp_path / "spoilt.zip").write_bytes(write_zip(members))
    found = leaks(tmp_path / "spoilt.zip", school[0])
    assert len(found) == 1, found
    assert all(word in found[0] for word in words), found
    # One sentence, and after it what to do.
    assert re.search(r"(: |, )(take|run|clear|make|put)[^.]*.*\.$", found[0]), found


def test_the_gate_looks_at_links_twins_and_what_is_no_zip(school, members, tmp_path):
    bundle = tmp_path / "made.zip"
    bundle.write_bytes(b"no zip")
    assert "cannot be read as a zip" in leaks(bundle, school[0])[0]
    with zipfile.ZipFile(bundle, "w") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr(NOTEBOOK, members[NOTEBOOK])
        link = zipfile.ZipInfo("attention-lab/lessons/link")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    problems = leaks(bundle, school[0])
    assert len(problems) == 2 and "twice" in problems[0] and "link" in problems[1], problems


def test_a_course_that_hides_nothing_makes_no_zip(school, tmp_path):
    """The gate does not rely on what makes the release: here nbgrader is told to leave everything in."""
    root = tmp_path / "course"
    shutil.copytree(school[0].root, root, ignore=shutil.ignore_patterns("dist"))
    careless = "c.GenerateAssignment.preprocessors = ['nbgrader.preprocessors.LockCells']\n"
    with (root / "nbgrader_config.py").open("a") as config:
        config.write(careless)
    source = nbformat.read(root / "source" / FOLDER / f"{NAME}.ipynb", as_version=4)
    given_away = released(source, read_config(root))
    nbformat.write(given_away, root / "release" / FOLDER / f"{NAME}.ipynb")
    log = io.StringIO()
    with pytest.raises(CourseError, match="No zip was made"):
        make_bundle(Course(root), tmp_path / "dist", Console(file=log, width=10_000))
    assert not (tmp_path / "dist").exists()
    for words in ("a solution", "a hidden test", "a mark scheme"):
        assert words in log.getvalue()
    assert "'why'" in log.getvalue()
