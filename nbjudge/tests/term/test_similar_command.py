"""`nbjudge similar` in a course: page, JSON, works of others, and what it says where there is nothing."""

import ast
import json
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat import NotebookNode
from term_class import hand_in, make_course, typed

from nbjudge.judge.verdict import Finding, GroupVerdict, Verdict
from nbjudge.record.graded_cell import write_verdict

pytestmark = pytest.mark.integration

UNUSUAL = """
def spread(rows):
    middle = sorted(rows)[len(rows) // 2 - 3 :]
    return max(middle) ** 0.37 - min(middle) / 11 + sum(middle[::-2])


a = spread([4, 8, 15, 16, 23, 42]) * 2.5 - 7  # <b>mine</b>
"""
COPIED = ast.unparse(ast.parse(UNUSUAL.replace("middle", "m").replace("spread", "f").replace("rows", "x")))
USUAL = "total = 0\nfor each in range({}, 9):\n    total = total + each\na = total / 3 + len(str(total)) * {}"


def write(root: Path, student: str, answer: str, folder: Path | None = None) -> None:
    """Hand in an answer."""
    folder = folder or hand_in(root, student)
    folder.mkdir(parents=True, exist_ok=True)
    notebook = nbformat.read(root / "release/ps1/week.ipynb", as_version=4)
    notebook.cells[0].source = answer
    nbformat.write(notebook, folder / "week.ipynb")


def grade(root: Path, student: str) -> None:
    """Put a graded notebook there, whose judge has found a mistake."""
    notebook: NotebookNode = nbformat.read(root / "release/ps1/week.ipynb", as_version=4)
    finding = Finding("The rows are sorted.", mistake="sorted_rows")
    write_verdict(notebook.cells[1], Verdict("t", 1, (GroupVerdict("all", 15, False),), (finding,)))
    folder = root / "autograded" / student / "ps1"
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / "week.ipynb")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("similar")
    make_course(root)
    for number in range(20):
        write(root, f"s{number}", USUAL.format(number, number % 3))
    write(root, "ada <i>", UNUSUAL)
    write(root, "ben", COPIED)
    return root


def test_page_and_json(course):
    said = typed(course, "nbjudge", "similar", "ps1")
    assert "ps1: 1 pair of works is closer than chance explains, of 22 works" in said
    page = BeautifulSoup((course / "reports/ps1-similar/index.html").read_text(), "html.parser")
    first, second = page.select(".sides pre")
    assert "# <b>mine</b>" in first.text and "copied" not in page.text.lower()
    for text, name in ((first, "middle"), (second, "m")):
        assert any(f"sum({name}[" in mark.text for mark in text.select("mark"))
    assert not page.select("pre b, h2 i") and "ada <i> and ben" in page.h2.text
    found = json.loads(typed(course, "nbjudge", "similar", "ps1", "--json"))
    (pair,) = found["pairs"]
    assert (pair["first"], pair["second"]) == ("ada <i>", "ben") and pair["bits"] > found["listed from bits"]
    assert pair["exercises"][0]["exercise"] == "t" and pair["exercises"][0]["alike"] > 0.9


def test_the_recorded_mistake_counts(course):
    before = json.loads(typed(course, "nbjudge", "similar", "ps1", "--json"))["pairs"][0]
    for student in ("ada <i>", "ben"):
        grade(course, student)
    after = json.loads(typed(course, "nbjudge", "similar", "ps1", "--json"))["pairs"][0]
    assert after["bits"] > before["bits"] and after["exercises"][0]["mistake"] == "sorted_rows"


def test_works_of_an_earlier_class(course, tmp_path):
    write(course, "", UNUSUAL, tmp_path / "2025/eve/ps1")
    found = json.loads(typed(course, "nbjudge", "similar", "ps1", "--against", str(tmp_path), "--json"))
    names = {name for pair in found["pairs"] for name in (pair["first"], pair["second"])}
    assert names == {"ada <i>", "ben", str(tmp_path / "2025/eve/ps1")} and found["works"] == 23


def test_what_is_missing_is_said(course, tmp_path):
    (tmp_path / "empty").mkdir()
    for words, sentence in (
        (["ps2"], "There is no assignment 'ps2'"),
        (["ps1", "--against", "nowhere"], "--against nowhere: there is no such folder."),
        (["ps1", "--against", str(tmp_path / "empty")], "neither it nor a folder in it holds week.ipynb"),
        (["ps1", "--output", "source/ps1/week.ipynb"], "cannot be written"),
    ):
        assert sentence in typed(course, "nbjudge", "similar", *words, status=1)
    make_course(tmp_path / "new")
    assert "No student has handed in ps1" in typed(tmp_path / "new", "nbjudge", "similar", "ps1", status=1)
    hand_in(tmp_path / "new", "ada")
    assert "no two of 1 works are closer" in typed(tmp_path / "new", "nbjudge", "similar", "ps1")
