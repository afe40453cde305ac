"""Marks that a person gives, and the pages that show them, when a class is graded again."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.api import Gradebook
from nbgrader_command import run_program
from tiny_course import succeed

from nbjudge.exports.learning_platform import grade_of

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

CONFIG = "from nbjudge import configure\n\nconfigure(get_config())\n"
# By the grade id of each cell that a person marks: what the student wrote.
WRITTEN = {"why": "Because.", "plot": "plot = 1", "try_it": "My try.", "test_f": "def f():\n    return 1"}
MARKS = {"why": 2.0, "plot": 1.0, "try_it": 3.0, "test_f": 0.5}


def marked(cell: NotebookNode, name: str, **marks: object) -> NotebookNode:
    plain = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}
    cell.metadata["nbgrader"] = plain | {"grade_id": name, "cell_type": cell.cell_type} | marks
    return cell


def notebook(answers: dict[str, str], first: bool) -> NotebookNode:
    """One of the two notebooks of the assignment, as the author has it or with a student's answers."""
    by_hand = {"grade": True, "solution": True, "points": 3}
    if not first:
        return new_notebook(cells=[marked(new_code_cell(answers.get("plot", "pass")), "plot", **by_hand)])
    cells = [
        marked(new_code_cell(answers.get("test_f", "def f():\n    pass")), "f", solution=True),
        marked(new_code_cell("assert f() == 1"), "test_f", grade=True, locked=True, points=1),
        marked(new_markdown_cell(answers.get("why", "Your answer")), "why", **by_hand),
        marked(new_markdown_cell("Try it below."), "try_it", task=True, locked=True, points=3),
    ]
    return new_notebook(cells=cells + ([new_markdown_cell(answers["try_it"])] if "try_it" in answers else []))


def write(folder: Path, answers: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("one", "two"):
        nbformat.write(notebook(answers, name == "one"), folder / f"{name}.ipynb")


def grades(root: Path, student: str) -> dict[str, tuple[float | None, bool]]:
    """By cell: the mark given by hand, and whether a person is asked."""
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        submission = gradebook.find_submission("ps1", student)
        found = [grade for each in submission.notebooks for grade in each.grades]
        return {grade.name: (grade.manual_score, grade.needs_manual_grade) for grade in found}


def mark(root: Path, student: str, marks: dict[str, float] = MARKS) -> None:
    """Do what the formgrader does for each mark and comment that is typed."""
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        for each in gradebook.find_submission("ps1", student).notebooks:
            for grade in each.grades:
                if grade.name in marks:
                    grade.manual_score, grade.needs_manual_grade = marks[grade.name], False
            for comment in each.comments:
                comment.manual_comment = f"About {comment.name}."
        gradebook.db.commit()


def export(root: Path, student: str) -> float | None:
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        return grade_of(gradebook, "ps1", student, with_unmarked=False).score


def nbjudge(root: Path, *arguments: str) -> str:
    run = run_program(root, "nbjudge", *arguments)
    assert run.returncode == 0, run.stdout + run.stderr
    return " ".join(run.stdout.split())


def page(root: Path, student: str) -> str:
    return " ".join(re.sub("<[^>]*>", "", (root / f"feedback/{student}/ps1/one.html").read_text()).split())


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A class, all of whose cells are marked by hand: ada, and a student for each answer that will change."""
    root = tmp_path_factory.mktemp("marked")
    (root / "nbgrader_config.py").write_text(CONFIG)
    write(root / "source/ps1", {})
    succeed(root, "generate_assignment", "ps1")
    for student in ("ada", *WRITTEN):
        write(root / "submitted" / student / "ps1", WRITTEN)
    nbjudge(root, "grade", "ps1")
    for student in ("ada", *WRITTEN):
        mark(root, student)
    return root


def test_marks_stay_where_the_answer_is_the_same(course):
    """Grading again keeps every mark of the same answer, and the exports have the class's scores."""
    for student in ("ada", *WRITTEN):
        write(course / "submitted" / student / "ps1", WRITTEN)
    as_given = {name: (points, False) for name, points in MARKS.items()}
    assert grades(course, "ada") == as_given and export(course, "ada") == 6.5
    messages = nbjudge(course, "grade", "ps1", "--force", "--students", "ada")
    assert grades(course, "ada") == as_given and export(course, "ada") == 6.5
    assert "given by hand" not in messages
    succeed(course, "autograde", "ps1", "--force", "--student=ada")
    assert grades(course, "ada") == as_given
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        assert gradebook.find_comment("why", "one", "ps1", "ada").manual_comment == "About why."


def test_a_mark_is_offered_again_for_another_answer(course):
    """A mark whose answer has changed stays as a suggestion, and one sentence counts such marks."""
    for changed in WRITTEN:
        write(course / "submitted" / changed / "ps1", WRITTEN | {changed: f"{WRITTEN[changed]}\n"})
    messages = nbjudge(course, "grade", "ps1")
    assert (
        "4 marks given by hand wait for you again" in messages
        and "(plot, test_f, try_it and 1 more)" in messages
    )
    for forced in (False, True):  # it is offered until a person has confirmed it
        if forced:
            nbjudge(course, "grade", "ps1", "--force", "--students", "[!a]*")
        for changed in WRITTEN:
            assert grades(course, changed) == {name: (MARKS[name], name == changed) for name in MARKS}


def test_pages_older_than_their_grades_are_made_again(course):
    """Uploads, --force and marks by hand make a page old; `grade` counts such pages, and the rest stay."""
    old = "The feedback pages of {} are older than their grades"
    succeed(course, "generate_feedback", "ps1")
    assert "2 of 3" in page(course, "ada") and "older" not in nbjudge(course, "grade", "ps1")
    other = (course / "feedback/plot/ps1/one.html").stat().st_mtime_ns

    mark(course, "ada", {"why": 1.0})
    assert old.format("1 student") in nbjudge(course, "grade", "ps1")
    succeed(course, "generate_feedback", "ps1")
    assert "1 of 3" in page(course, "ada")

    messages = nbjudge(course, "grade", "ps1", "--force", "--students", "[ap]*")
    assert old.format("2 students") in messages
    succeed(course, "generate_feedback", "ps1", "--student=ada")
    assert old.format("1 student") in nbjudge(course, "grade", "ps1")
    assert (course / "feedback/plot/ps1/one.html").stat().st_mtime_ns == other
    succeed(course, "generate_feedback", "ps1")
    assert "older" not in nbjudge(course, "grade", "ps1")
    mark(course, "ada", {"why": 2.0})
