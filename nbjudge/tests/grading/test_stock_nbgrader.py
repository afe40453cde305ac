"""`check` works without the plug-in, and in courses without `check` nothing is had for nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import nbformat
import pytest
from nbgrader import tests as nbgrader_tests
from nbgrader.api import Gradebook
from old_course import code, solution
from tiny_course import CONFIG, FOLDER, FULL, GradedClass, answered, hand_in, make_course, succeed

pytestmark = pytest.mark.integration

STOCK_FILES = Path(nbgrader_tests.__file__).parent / "apps" / "files"
PLAIN = "c = get_config()\n"

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
        (root / "nbgrader_config.py").write_text(CONFIG)
        succeed(root, "autograde", FOLDER, "--force")
        (root / "points.json").write_text(json.dumps(points | {"plugged": graded.points("half")}))

    return json.loads((once("half_class", make) / "points.json").read_text())


def test_check_gives_the_points_without_the_plugin(half_points):
    assert half_points["plugged"] == half_points["stock"] == FULL | {"double": 1}
    assert "double: 1 of 2 points" in half_points["printed"]


# A course of nbgrader's own fixtures; `tests/peers` holds the scores of all of them to the stock ones.
ASSIGNMENT = STOCK_FILES / "submitted-unchanged.ipynb"
NOT_GRADABLE = {"missing": None, "cut off": (STOCK_FILES / "submitted-changed.ipynb").read_bytes()[:1000]}


def grade_other_course(root: Path) -> None:
    (root / "nbgrader_config.py").write_text(CONFIG)
    for folder in (root / "source" / "ps1", *(root / "submitted" / name / "ps1" for name in NOT_GRADABLE)):
        folder.mkdir(parents=True)
    shutil.copy(ASSIGNMENT, root / "source" / "ps1" / "p1.ipynb")
    for student, raw in NOT_GRADABLE.items():
        if raw is not None:
            (root / "submitted" / student / "ps1" / "p1.ipynb").write_bytes(raw)
    succeed(root, "generate_assignment", "ps1")
    succeed(root, "autograde", "ps1")


@pytest.mark.parametrize("student", NOT_GRADABLE)
def test_what_cannot_be_run_is_0_without_check_too(once, student):
    root = once("other_course", grade_other_course)
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        (notebook,) = gradebook.find_submission("ps1", student).notebooks
        assert notebook.max_score > 0
        assert sum(grade.auto_score or 0 for grade in notebook.grades) == 0


# Ordinary asserts in a hidden region, on numbers drawn from a generator that the notebook seeded.
DRAWN = """assert double(np.ones(1)) == 2
### BEGIN HIDDEN TESTS
first = generator.integers(100)
assert first == 85, "the first number of this generator"
### END HIDDEN TESTS"""
PLAIN_CELLS = [
    code("import numpy as np\ngenerator = np.random.default_rng(0)"),
    code(f"def double(x):\n{solution('return 2 * x')}", "double", solution=True),
    code(DRAWN, "test_double", grade=True, locked=True, points=2, cell_type="code"),
]


def grade_plain_course(root: Path) -> None:
    (root / "source" / "ps1").mkdir(parents=True)
    nbformat.write(nbformat.v4.new_notebook(cells=PLAIN_CELLS), root / "source" / "ps1" / "p1.ipynb")
    points = {}
    for grader, config in (("stock", PLAIN), ("ours", CONFIG)):
        (root / "nbgrader_config.py").write_text(config)
        succeed(root, "generate_assignment", "ps1", "--force")
        work = nbformat.read(root / "release" / "ps1" / "p1.ipynb", as_version=4)
        work.cells[1].source = "def double(x):\n    return x + x"
        (root / "submitted" / "ann" / "ps1").mkdir(parents=True, exist_ok=True)
        nbformat.write(work, root / "submitted" / "ann" / "ps1" / "p1.ipynb")
        succeed(root, "autograde", "ps1", "--force")
        with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
            points[grader] = gradebook.find_submission("ps1", "ann").score
        graded = nbformat.read(root / "autograded" / "ann" / "ps1" / "p1.ipynb", as_version=4)
        points[f"cells of {grader}"] = len(graded.cells)
    (root / "points.json").write_text(json.dumps(points))


def test_an_untouched_test_with_hidden_asserts_runs_once(once):
    points = json.loads((once("plain_course", grade_plain_course) / "points.json").read_text())
    assert points["ours"] == points["stock"] == 2
    assert points["cells of ours"] == points["cells of stock"] == 3
