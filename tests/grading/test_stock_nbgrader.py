"""nbgrader stays nbgrader: `check` works without the plug-in, and courses without `check` work with it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from nbgrader import tests as nbgrader_tests
from nbgrader.api import Gradebook
from tiny_course import FOLDER, FULL, ROOT, GradedClass, answered, hand_in, make_course, succeed

STOCK_FILES = Path(nbgrader_tests.__file__).parent / "apps" / "files"
PLAIN = "c = get_config()\n"
PLUGGED = (ROOT / "nbgrader_config.py").read_text()

# Right numbers, but no gradient.
HALF = {"double": "def double(x):\n    return 2 * x.detach()"}


@pytest.fixture(scope="session")
def half_points(once) -> dict[str, dict[str, float]]:
    """What the same work gets from stock nbgrader and through the plug-in."""

    def make(root: Path) -> None:
        make_course(root, PLAIN + 'c.CourseDirectory.solution_directory = "solutions"\n')
        hand_in(root, "half", answered(**HALF))
        succeed(root, "autograde", FOLDER)
        graded = GradedClass(root)
        points = {"stock": graded.points("half"), "printed": graded.printed("half", "test_double")}
        (root / "nbgrader_config.py").write_text(PLUGGED)
        succeed(root, "autograde", FOLDER, "--force")
        (root / "points.json").write_text(json.dumps(points | {"plugged": graded.points("half")}))

    return json.loads((once("half_class", make) / "points.json").read_text())


def test_without_the_plugin_check_gives_the_points_in_the_kernel(half_points):
    assert half_points["stock"] == FULL | {"double": 1}
    assert "double: 1 of 2 points" in half_points["printed"]


def test_the_same_work_gets_the_same_points_with_and_without_the_plugin(half_points):
    assert half_points["plugged"] == half_points["stock"]


# What other courses hand out, and what their students make of it (nbgrader's own fixtures).
ASSIGNMENTS = {
    "submitted-unchanged.ipynb": ["submitted-unchanged.ipynb", "submitted-changed.ipynb"],
    "autotest-hidden.ipynb": ["autotest-hidden-changed-right.ipynb", "autotest-hidden-changed-wrong.ipynb"],
}
NOT_GRADABLE = {"nobody": None, "cut off": (STOCK_FILES / "submitted-changed.ipynb").read_bytes()[:1000]}


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
        for student, raw in NOT_GRADABLE.items() if config == PLUGGED else ():
            handed = root / "submitted" / student / folder.name
            handed.mkdir(parents=True)
            if raw is not None:
                (handed / "p1.ipynb").write_bytes(raw)
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
    assert len(totals) > 1


@pytest.mark.parametrize("student", NOT_GRADABLE)
def test_in_a_course_without_check_what_cannot_be_run_is_0_as_well(other_scores, student):
    for assignment in ASSIGNMENTS:
        grades = other_scores["plugged"][f"{Path(assignment).stem} {student}"]
        assert sum(score or 0 for score, *_ in grades.values()) == 0
