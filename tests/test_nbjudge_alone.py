"""The grader by itself: an empty environment, a course that is not ours, NumPy and no torch."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "statistics"
MOST_MEGABYTES = 40
pytestmark = [
    pytest.mark.integration,
    pytest.mark.long,
    pytest.mark.timeout(1200),
]  # packages come from an index
MEGABYTE = 10**6

# What students wrote: right, right in another way, wrong in ways that asserts see and that they do not.
BY_N = "def deviation(sample):\n    return np.sqrt(((sample - sample.mean()) ** 2).sum() / len(sample))"
OF_SQUARES = (
    "def deviation(sample):\n    size = len(sample)\n"
    "    return np.sqrt(np.abs((sample**2).sum() - size * sample.mean() ** 2) / (size - 1))"
)
READY_MADE = "def deviation(sample):\n    return np.std(sample, ddof=1)"
ROWS = "def standardise(table):\n    return (table - table.mean(axis=0)) / table.std(axis=0, ddof=1)"
WRITTEN = {
    "ada": {},
    "bob": {"deviation": BY_N},
    "cyd": {"deviation": OF_SQUARES, "standardise": ROWS},
    "dee": {"deviation": READY_MADE},
    "eve": {"standardise": "def standardise(table):\n    return table.tolist()"},
    "fay": {"deviation": "def deviation(sample):\n    while True: pass", "standardise": "def standardise("},
}
FULL = {"test_deviation": 3.0, "test_standardise": 4.0, "test_relative_spread": 2.0}


class Environment:
    """A virtual environment of its own, on the PATH of what it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)

    def run(self, *words: str | Path, cwd: Path | None = None) -> str:
        program = self.folder / "bin" / str(words[0])
        clean = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL"))
        }
        clean["PATH"] = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        run = subprocess.run([program, *words[1:]], cwd=cwd, env=clean, capture_output=True, text=True)
        assert run.returncode == 0, f"{words}: {run.stdout[-3000:]}{run.stderr[-3000:]}"
        return run.stdout

    def install(self, *packages: str | Path) -> None:
        self.run("pip", "install", "-q", "--disable-pip-version-check", *packages)

    def installed(self) -> dict[str, str]:
        listed = json.loads(self.run("pip", "list", "--format=json", "--disable-pip-version-check"))
        return {package["name"]: package["version"] for package in listed}

    def megabytes(self) -> float:
        files = (file for file in self.folder.rglob("*") if file.is_file() and not file.is_symlink())
        return sum(file.stat().st_size for file in files) / MEGABYTE


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> tuple[Environment, dict[str, str], float]:
    """An environment with nbgrader, NumPy and the grader; what the grader brought, and how large that is."""
    folder = tmp_path_factory.mktemp("alone")
    environment = Environment(folder / "environment")
    environment.install("nbgrader", "numpy")  # the course's own
    before, megabytes = environment.installed(), environment.megabytes()
    # A copy, for to build a package writes beside it.
    grader = shutil.copytree(
        ROOT / "nbjudge", folder / "nbjudge", ignore=shutil.ignore_patterns("*.egg-info")
    )
    environment.install(f"{grader}[grading]")
    brought = {name: version for name, version in environment.installed().items() if name not in before}
    return environment, brought, environment.megabytes() - megabytes


def hand_in(course: Path, environment: Environment) -> None:
    environment.run("nbgrader", "generate_assignment", "ps1", cwd=course)
    for student, written in WRITTEN.items():
        notebook = nbformat.read(course / "source/ps1/spread.ipynb", as_version=4)
        released = nbformat.read(course / "release/ps1/spread.ipynb", as_version=4)
        for cell, solved in zip(released.cells, notebook.cells, strict=True):
            if cell.metadata.get("nbgrader", {}).get("solution"):
                cell.source = written.get(cell.metadata.nbgrader.grade_id, solved.source)
        folder = course / "submitted" / student / "ps1"
        folder.mkdir(parents=True)
        nbformat.write(released, folder / "spread.ipynb")


def scores(course: Path) -> dict[str, dict[str, float]]:
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        return {
            student: {
                grade.name: grade.auto_score
                for grade in gradebook.find_submission_notebook("spread", "ps1", student).grades
            }
            for student in WRITTEN
        }


@pytest.fixture(scope="module")
def graded_by_both(alone, tmp_path_factory) -> tuple[dict, dict, Path]:
    """The same hand-ins graded by stock nbgrader, and after `nbjudge init`; and the latter's course."""
    environment, _, _ = alone
    courses = []
    for name in ("stock", "ours"):
        course = tmp_path_factory.mktemp("statistics") / name
        shutil.copytree(EXAMPLE, course, ignore=shutil.ignore_patterns("checks", "__pycache__", ".*"))
        hand_in(course, environment)
        courses.append(course)
    stock, ours = courses
    # An endless loop would cost stock nbgrader its 30 seconds.
    environment.run("nbgrader", "autograde", "ps1", "--Execute.timeout=5", cwd=stock)
    assert "Added three lines" in environment.run("nbjudge", "init", cwd=ours)
    with (ours / "nbgrader_config.py").open("a") as config:
        config.write("c.RunAndJudge.cell_seconds = c.RunAndJudge.answer_seconds = 5\n")
    environment.run("nbjudge", "grade", "ps1", cwd=ours)
    return scores(stock), scores(ours), ours


def test_it_brings_neither_torch_nor_much_else(alone, capsys):
    environment, brought, megabytes = alone
    with capsys.disabled():
        named = ", ".join(f"{name} {version}" for name, version in sorted(brought.items()))
        print(f"\nnbjudge beside nbgrader and NumPy: {megabytes:.0f} MB ({named})")
    assert not {"torch", "pandas", "matplotlib", "attention-lab"} & set(environment.installed())
    assert megabytes <= MOST_MEGABYTES


def test_ordinary_asserts_get_stocks_points_cell_by_cell(graded_by_both):
    stock, ours, _ = graded_by_both
    assert ours == stock
    assert (
        stock["ada"] == FULL and stock["bob"]["test_deviation"] == 0 and stock["cyd"]["test_standardise"] == 0
    )


def test_init_again_changes_nothing(alone, graded_by_both):
    config = graded_by_both[2] / "nbgrader_config.py"
    before = config.read_text()
    assert "is left as it is" in alone[0].run("nbjudge", "init", cwd=config.parent)
    assert config.read_text() == before


def test_a_file_of_checks_is_all_it_takes_for_fresh_inputs_and_named_mistakes(alone, graded_by_both):
    environment, course = alone[0], graded_by_both[2]
    shutil.copytree(EXAMPLE / "checks", course / "checks", ignore=shutil.ignore_patterns("__pycache__"))
    output = environment.run("nbjudge", "try", cwd=course)
    assert "Right answers get full marks, and each mistake is named." in output
    environment.run("nbjudge", "grade", "ps1", "--force", cwd=course)
    points = scores(course)
    assert points["ada"] == FULL
    assert list(points["bob"].values()) == [0, 4, 0]
    assert list(points["cyd"].values()) == [2, 3, 2]
    assert list(points["dee"].values()) == [0, 4, 2]
    assert list(points["eve"].values()) == [3, 0, 2]
    assert list(points["fay"].values()) == [0, 0, 0]
    environment.run("nbgrader", "generate_feedback", "ps1", cwd=course)
    pages = {name: (course / f"feedback/{name}/ps1/spread.html").read_text() for name in WRITTEN}
    assert "divide by n - 1" in pages["bob"]
    assert "rounding eats the difference" in pages["cyd"] and "becomes NaN" in pages["cyd"]
    assert "a ready-made deviation" in pages["dee"]
    assert "a list of" in pages["eve"] and "an array of shape" in pages["eve"]
    assert "did not answer in time" in pages["fay"] and "SyntaxError" in pages["fay"]


def test_the_report_says_what_the_class_misunderstood(alone, graded_by_both):
    environment, course = alone[0], graded_by_both[2]
    environment.run("nbjudge", "report", "ps1", cwd=course)
    page = (course / "reports" / "ps1" / "index.html").read_text()
    assert "divide by n - 1" in page and "rounding eats the difference" in page
