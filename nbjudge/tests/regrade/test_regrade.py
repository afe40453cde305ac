"""A verdict changed by an instructor, and marks given by hand, when a class is graded again."""

import io
import json
import re
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.api import Gradebook
from nbgrader_command import typed
from rich.console import Console
from tiny_course import (
    FOLDER,
    NAME,
    GradedClass,
    answered,
    hand_in,
    make_course,
    marked,
    source,
    succeed,
    without_ids,
)

from nbjudge.batch.grade_command import Options, grade_class
from nbjudge.batch.regrade import regrade, withdraw
from nbjudge.course.course import open_course
from nbjudge.course.folders import CourseFolders, read_folders
from nbjudge.csv_files import CsvFormat
from nbjudge.errors import CourseError
from nbjudge.exports.learning_platform import grade_of
from nbjudge.grading.regrades import read_decisions
from nbjudge.report import write_report

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]  # the first test grades everything


HALF = "def double(x):\n    return x * 1"
THE_SAME = "def double(x):  # mine\n\n    return (x   *   1)"
ANOTHER = "def double(x):\n    return x - 0"
ANSWERS = {
    "ada": HALF,
    "Zoë O'Brien": THE_SAME,
    "ben": "def double(x):\n    return x + 0",
    "eve": "def double(x):\n    return x + x",
}
JUDGED = {"ada": 0, "Zoë O'Brien": 0, "ben": 0, "eve": 2}
REASON = "The statement could be read as `x` itself."


def doubles(root):
    return {student: GradedClass(root).points(student)["double"] for student in JUDGED}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Two students with one wrong answer, one with another, one with a right one; no cell has an id."""
    root = tmp_path_factory.mktemp("regraded")
    make_course(root, lesson=without_ids(source()))
    for student, text in ANSWERS.items():
        hand_in(root, student, without_ids(answered(double=text)))
    succeed(root, "autograde", FOLDER)
    assert doubles(root) == JUDGED
    return root


@pytest.fixture
def decide(graded):
    """Decide in this process, for the class; without points, take back what was decided."""

    def run(student, points):
        course, console = open_course(graded), Console(quiet=True)
        if points is None:
            return withdraw(course, "double", student, console)
        return regrade(course, "double", student, points, REASON, console)

    return run


def who_made_the_mistake(root, monkeypatch):
    monkeypatch.chdir(root)
    write_report(read_folders(root), FOLDER, root / "out", False, Console(quiet=True), (), CsvFormat())
    tables = json.loads((root / "out" / "report.json").read_text())["tables"]
    return [row["students"] for row in tables["mistakes"] if row["exercise"] == "double"]


def test_a_decision_is_for_all_who_gave_the_answer(graded, decide, monkeypatch):
    """It holds until it is taken back."""
    printed = typed(graded, "nbjudge", "regrade", "double", "ada", "--points", "1.5", "--reason", REASON)
    assert "double: this answer gets 1.5 of 2. Given by 2: Zoë O'Brien, ada." in printed
    regraded = {"ada": 1.5, "Zoë O'Brien": 1.5, "ben": 0, "eve": 2}
    assert doubles(graded) == regraded
    verdict = GradedClass(graded).verdict("ada", "double")
    assert verdict["regrade"]["reason"] == REASON and verdict["points"] == 1.5
    assert who_made_the_mistake(graded, monkeypatch) == [3]

    # The students read the reason, and the judge's own words stay.
    succeed(graded, "generate_feedback", FOLDER)
    for student, told in (("ada", True), ("Zoë O'Brien", True), ("ben", False)):
        page = (graded / "feedback" / student / FOLDER / f"{NAME}.html").read_text()
        assert ("Your instructor changed this verdict: The statement could be read as" in page) == told
        assert ("By the groups alone it would be 0 of 2 points" in page) == told
        assert "Not one quagga was doubled" in page

    # It holds at the next grading; another answer of the same student's is judged as anybody's.
    hand_in(graded, "ada", without_ids(answered(double=ANOTHER)))
    succeed(graded, "autograde", FOLDER, "--force")
    assert doubles(graded) == regraded | {"ada": 0}

    # Anyone who gets all points by it made no mistake in the report.
    assert decide("Zoë O'Brien", 2) == 0
    assert doubles(graded) == JUDGED | {"Zoë O'Brien": 2}
    assert who_made_the_mistake(graded, monkeypatch) == [2]
    assert decide("Zoë O'Brien", None) == 0
    assert doubles(graded) == JUDGED
    assert not (graded / "regrades" / f"{FOLDER}.json").exists()
    with pytest.raises(CourseError, match="Nothing was decided"):
        decide("Zoë O'Brien", None)


def test_a_grade_given_by_hand_is_above_it(graded, decide):
    with Gradebook(f"sqlite:///{graded / 'gradebook.db'}") as gradebook:
        grade = gradebook.find_grade("test_double", NAME, FOLDER, "ben")
        grade.manual_score = 0.5
        gradebook.db.commit()
        assert decide("ben", 2) == 0
        gradebook.db.refresh(grade)
        assert (grade.auto_score, grade.manual_score, grade.score) == (2, 0.5, 0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("treble", "ada", None, REASON), "has an exercise called 'treble'"),
        (("double", "zoe", None, REASON), "no graded answer of zoe to double"),
        (("double", "ada", None, "  "), "Say why, with --reason"),
        (("double", "ada", 3, REASON), "worth 0 to 2 points, not 3"),
        (("double", "ada", float("nan"), REASON), "worth 0 to 2 points, not nan"),
    ],
)
def test_what_cannot_be_decided_changes_nothing(graded, arguments, message):
    before = {path: path.read_bytes() for path in (graded / "regrades").glob("*")}
    with pytest.raises(CourseError, match=re.escape(message)):
        regrade(open_course(graded), *arguments, Console(quiet=True))
    assert {path: path.read_bytes() for path in (graded / "regrades").glob("*")} == before


@pytest.mark.parametrize("text", ["{", "[{}]", '[{"exercise": 1}]', "[[1]]", "3"])
def test_broken_decisions_stop_the_grading(graded, text):
    """The file is named, and what was graded is kept."""
    file = graded / "regrades" / f"{FOLDER}.json"
    backup = file.read_bytes() if file.exists() else None
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    try:
        with pytest.raises(CourseError):
            read_decisions(CourseFolders(graded), FOLDER)
        if text != "{":
            return
        console = Console(file=io.StringIO(), width=500)
        assert grade_class(read_folders(graded), FOLDER, Options("eve", force=True), console) == 1
        assert f"The regrades in {file} cannot be read" in console.file.getvalue()
    finally:
        file.unlink() if backup is None else file.write_bytes(backup)
    assert doubles(graded)["eve"] == 2


CONFIG = "from nbjudge import configure\n\nconfigure(get_config())\n"
# By the grade id of each cell that a person marks: what the student wrote.
WRITTEN = {"why": "Because.", "plot": "plot = 1", "try_it": "My try.", "test_f": "def f():\n    return 1"}
MARKS = {"why": 2.0, "plot": 1.0, "try_it": 3.0, "test_f": 0.5}


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
    typed(root, "nbjudge", "grade", "ps1")
    for student in ("ada", *WRITTEN):
        mark(root, student)
    return root


def test_marks_stay_where_the_answer_is_the_same(course):
    """Grading again keeps every mark of the same answer, and the exports have the class's scores."""
    for student in ("ada", *WRITTEN):
        write(course / "submitted" / student / "ps1", WRITTEN)
    as_given = {name: (points, False) for name, points in MARKS.items()}
    assert grades(course, "ada") == as_given and export(course, "ada") == 6.5
    messages = typed(course, "nbjudge", "grade", "ps1", "--force", "--students", "ada")
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
    messages = typed(course, "nbjudge", "grade", "ps1")
    assert (
        "4 marks given by hand wait for you again" in messages
        and "(plot, test_f, try_it and 1 more)" in messages
    )
    for forced in (False, True):  # it is offered until a person has confirmed it
        if forced:
            typed(course, "nbjudge", "grade", "ps1", "--force", "--students", "[!a]*")
        for changed in WRITTEN:
            assert grades(course, changed) == {name: (MARKS[name], name == changed) for name in MARKS}


def test_pages_older_than_their_grades_are_made_again(course):
    """Uploads, --force and marks by hand make a page old; `grade` counts such pages, and the rest stay."""
    old = "The feedback pages of {} are older than their grades"
    succeed(course, "generate_feedback", "ps1")
    assert "2 of 3" in page(course, "ada") and "older" not in typed(course, "nbjudge", "grade", "ps1")
    other = (course / "feedback/plot/ps1/one.html").stat().st_mtime_ns

    mark(course, "ada", {"why": 1.0})
    assert old.format("1 student") in typed(course, "nbjudge", "grade", "ps1")
    succeed(course, "generate_feedback", "ps1")
    assert "1 of 3" in page(course, "ada")

    messages = typed(course, "nbjudge", "grade", "ps1", "--force", "--students", "[ap]*")
    assert old.format("2 students") in messages
    succeed(course, "generate_feedback", "ps1", "--student=ada")
    assert old.format("1 student") in typed(course, "nbjudge", "grade", "ps1")
    assert (course / "feedback/plot/ps1/one.html").stat().st_mtime_ns == other
    succeed(course, "generate_feedback", "ps1")
    assert "older" not in typed(course, "nbjudge", "grade", "ps1")
    mark(course, "ada", {"why": 2.0})
