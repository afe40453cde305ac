"""nbgrader stays nbgrader: `check` works without the plug-in, and courses without `check` work with it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import nbformat
import pytest
from nbgrader import tests as nbgrader_tests
from nbgrader.api import Gradebook
from tiny_course import FOLDER, FULL, ROOT, GradedClass, answered, hand_in, make_course, succeed

STOCK_FILES = Path(nbgrader_tests.__file__).parent / "apps" / "files"
PLAIN = "c = get_config()\n"
PLUGGED = (ROOT / "nbgrader_config.py").read_text()

HALF = {
    "double": "def double(x):\n    return 2 * x.detach()",  # right numbers, no gradient
    "biggest": "def biggest(x):\n    return x.abs().max()",
}
WORK = {"all": answered, "half": lambda: answered(**HALF)}


@pytest.fixture(scope="session")
def stock_class(once) -> GradedClass:
    def make(root: Path) -> None:
        make_course(root, PLAIN + 'c.CourseDirectory.solution_directory = "solutions"\n')
        for student, work in WORK.items():
            hand_in(root, student, work())
        succeed(root, "autograde", FOLDER)

    return GradedClass(once("stock_class", make))


@pytest.fixture(scope="session")
def plugged_class(once) -> GradedClass:
    def make(root: Path) -> None:
        make_course(root)
        hand_in(root, "half", WORK["half"]())
        succeed(root, "autograde", FOLDER)

    return GradedClass(once("plugged_class", make))


def test_without_the_plugin_check_gives_the_points_in_the_kernel(stock_class):
    assert stock_class.points("all") == FULL
    assert "double: 1 of 2 points" in stock_class.printed("half", "test_double")


def test_the_same_work_gets_the_same_points_with_and_without_the_plugin(stock_class, plugged_class):
    half = plugged_class.points("half")
    assert half == stock_class.points("half")
    assert 0 < half["double"] < FULL["double"]


# What other courses hand out, and what honest and not so honest students make of it.
ASSIGNMENTS = {
    "test.ipynb": ["submitted-unchanged.ipynb", "submitted-changed.ipynb"],
    "test-hidden-tests.ipynb": ["test-hidden-tests.ipynb"],
    "autotest-simple.ipynb": ["autotest-simple-unchanged.ipynb", "autotest-simple-changed.ipynb"],
    "autotest-hidden.ipynb": ["autotest-hidden-changed-right.ipynb", "autotest-hidden-changed-wrong.ipynb"],
}


def grade_other_course(root: Path, config: str) -> None:
    """A course of nbgrader's own fixtures, each its own assignment, graded; its scores are written down."""
    (root / "nbgrader_config.py").write_text(config)
    shutil.copy(STOCK_FILES / "autotests.yml", root)
    for assignment, submissions in ASSIGNMENTS.items():
        folder = root / "source" / Path(assignment).stem
        folder.mkdir(parents=True)
        shutil.copy(STOCK_FILES / assignment, folder / "p1.ipynb")
        shutil.copy(STOCK_FILES / "autotests.yml", folder)
        succeed(root, "generate_assignment", folder.name)
        for submission in submissions:
            handed = root / "submitted" / Path(submission).stem / folder.name
            handed.mkdir(parents=True)
            shutil.copy(STOCK_FILES / submission, handed / "p1.ipynb")
        succeed(root, "autograde", folder.name)
    scores = {}
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        for assignment in gradebook.assignments:
            for submission in assignment.submissions:
                scores[f"{assignment.name} {submission.student.id}"] = {
                    grade.name: [grade.auto_score, grade.max_score, grade.needs_manual_grade]
                    for notebook in submission.notebooks
                    for grade in notebook.grades
                }
    (root / "scores.json").write_text(json.dumps(scores))


@pytest.fixture(scope="session")
def other_scores(once) -> dict[str, dict]:
    def graded(name: str, config: str) -> dict:
        root = once(name, lambda folder: grade_other_course(folder, config))
        return json.loads((root / "scores.json").read_text())

    return {"stock": graded("other_stock", PLAIN), "plugged": graded("other_plugged", PLUGGED)}


@pytest.mark.parametrize(
    "work", [f"{Path(a).stem} {Path(s).stem}" for a, submissions in ASSIGNMENTS.items() for s in submissions]
)
def test_a_course_without_check_gets_the_scores_that_stock_nbgrader_gives(other_scores, work):
    assert other_scores["plugged"][work] == other_scores["stock"][work]


def test_the_fixtures_tell_good_work_from_bad(other_scores):
    totals = {sum(score or 0 for score, *_ in grades.values()) for grades in other_scores["stock"].values()}
    assert len(totals) > 2


def test_in_a_course_without_check_a_missing_notebook_is_0_as_well(once):
    def make(root: Path) -> None:
        (root / "nbgrader_config.py").write_text(PLUGGED)
        (root / "source" / "ps").mkdir(parents=True)
        shutil.copy(STOCK_FILES / "test.ipynb", root / "source" / "ps" / "p1.ipynb")
        succeed(root, "generate_assignment", "ps")
        (root / "submitted" / "nobody" / "ps").mkdir(parents=True)
        cut = (STOCK_FILES / "submitted-changed.ipynb").read_bytes()[:1000]
        (root / "submitted" / "cut off" / "ps").mkdir(parents=True)
        (root / "submitted" / "cut off" / "ps" / "p1.ipynb").write_bytes(cut)
        succeed(root, "autograde", "ps")

    root = once("other_missing", make)
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        for student in ("nobody", "cut off"):
            assert gradebook.find_submission("ps", student).score == 0
    for file in (root / "autograded").rglob("p1.ipynb"):
        tests = [cell for cell in nbformat.read(file, as_version=4).cells if cell.cell_type == "code"]
        assert any(output.output_type == "error" for cell in tests for output in cell.outputs)
