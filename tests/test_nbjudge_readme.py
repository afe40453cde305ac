"""Every command of nbjudge's own page works as typed, and the grader works alone in an empty environment."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader_command import run_program
from old_course import CHECKS, make_old_course
from test_docs import fences

from nbjudge.course import CourseFolders, open_course, read_config
from nbjudge.course.gradebook import not_generated_reason

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "nbjudge" / "README.md"
NOT_YET = "does not have the assignment 'ps1' yet: run `nbgrader generate_assignment ps1`, which makes"


def commands() -> list[list[str]]:
    lines = [line for block in fences(PAGE, "sh") for line in block.splitlines()]
    return [shlex.split(line, comments=True) for line in lines]


def typed(root: Path, *words: str, status: int = 0) -> str:
    run = run_program(root, *words)
    assert run.returncode == status, f"{words}\n{run.stdout[-2000:]}{run.stderr[-2000:]}"
    assert "Traceback" not in run.stdout + run.stderr
    return " ".join((run.stdout + run.stderr).split())


def submit(root: Path, step: str, assignment: str, *students: str) -> None:
    """Put the files of the course's folder `step` into students' folders."""
    for student in students:
        shutil.copytree(root / step / assignment, root / "submitted" / student / assignment)


def type_the_page(root: Path) -> None:
    """All of it in its order; submissions come as soon as there is a release."""
    for words in commands():
        typed(root, *words)
        if words[:2] == ["nbgrader", "generate_assignment"]:
            submit(root, "release", words[2], "ada", "bob")


@pytest.mark.long
@pytest.mark.timeout(900)
def test_in_its_own_example(tmp_path):
    root = tmp_path / "statistics"
    shutil.copytree(EXAMPLE, root, ignore=shutil.ignore_patterns("__pycache__"))
    type_the_page(root)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_in_nbgraders_quickstart_course(tmp_path):
    typed(tmp_path, "nbgrader", "quickstart", "quick")
    type_the_page(tmp_path / "quick")


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory) -> Path:
    """nbgrader's quickstart course after `nbjudge init`: two notebooks without cell ids, no checks."""
    folder = tmp_path_factory.mktemp("courses")
    typed(folder, "nbgrader", "quickstart", "quick")
    output = typed(folder / "quick", "nbjudge", "init")
    assert "Next: nbjudge grade ps1" in output and f"Before that: The gradebook {NOT_YET}" in output
    return folder / "quick"


def test_an_ungenerated_assignment_is_told_once(quickstart):
    submit(quickstart, "source", "ps1", *(f"student{number}" for number in range(20)))
    for command in (("nbjudge", "grade"), ("nbgrader", "autograde"), ("nbjudge", "report")):
        assert typed(quickstart, *command, "ps1", status=1).count(NOT_YET) == 1
    assert not (quickstart / "autograded").exists()


def test_commands_say_what_is_missing(quickstart):
    for command in ("try", "visible"):
        assert "There is nothing to try: no file under" in typed(quickstart, "nbjudge", command, status=1)
    output = typed(quickstart, "nbjudge", "new-exercise", "ps1", "median", status=1)
    assert "'ps1' has 2 notebooks: name one of ps1/problem1, ps1/problem2." in output
    output = typed(quickstart, "nbjudge", "report", "ps9", status=1)
    assert "There is no assignment 'ps9'. There are: ps1/problem1, ps1/problem2." in output
    output = typed(quickstart, "nbjudge", "regrade", "mean", "ada", "--reason", "why", status=1)
    assert "has an exercise called 'mean'. Without checks, points are changed in the formgrader." in output


@pytest.mark.parametrize("old_checks", [False, True])
def test_a_new_exercise_needs_no_ids(tmp_path, old_checks):
    root, notebook = make_old_course(tmp_path / "old", checks=CHECKS if old_checks else ""), "week1/weather"
    path = root / "source" / f"{notebook}.ipynb"
    path.write_text(path.read_text().replace("raise RuntimeError", "RuntimeError"))
    typed(root, "nbjudge", "new-exercise", notebook, "median")
    typed(root, "nbjudge", "new-exercise", "weather", "doubled")
    written = json.loads(path.read_text())
    assert written["nbformat_minor"] == 2 and not any("id" in cell for cell in written["cells"])
    assert "Right answers get full marks" in typed(root, "nbjudge", "try", "week1")
    names = {"median", "doubled"} | ({"centred", "by_city"} if old_checks else set())
    assert open_course(root).assignments["weather"].exercises.keys() == names


def test_this_courses_own_command_is_named():
    folders = CourseFolders(ROOT)
    config = read_config(ROOT)
    config.CourseDirectory.db_url = "sqlite:////nowhere/gradebook.db"
    reason = not_generated_reason(folders, "01_dot_product", config)
    assert reason is not None and "the assignment '01_dot_product' yet: run `make build`" in reason


# ---- the grader by itself: an empty environment, NumPy and no torch; packages come from an index ----

EXAMPLE = ROOT / "examples" / "statistics"
MOST_MEGABYTES = 40
BY_N = "def deviation(sample):\n    return np.sqrt(((sample - sample.mean()) ** 2).sum() / len(sample))"


class Environment:
    """A virtual environment of its own, on the PATH of what it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)

    def run(self, *words: str | Path, cwd: Path | None = None) -> str:
        own = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL"))
        }
        own["PATH"] = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        program = self.folder / "bin" / str(words[0])
        run = subprocess.run([program, *words[1:]], cwd=cwd, env=own, capture_output=True, text=True)
        assert run.returncode == 0, f"{words}: {run.stdout[-3000:]}{run.stderr[-3000:]}"
        return run.stdout

    def installed(self) -> tuple[set[str], float]:
        """The packages, and the megabytes of everything."""
        listed = json.loads(self.run("pip", "list", "--format=json", "--disable-pip-version-check"))
        files = (file for file in self.folder.rglob("*") if file.is_file() and not file.is_symlink())
        return {each["name"] for each in listed}, sum(file.stat().st_size for file in files) / 10**6


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> tuple[Environment, float]:
    """An environment with nbgrader, NumPy and the grader; and how many megabytes the grader brought."""
    folder = tmp_path_factory.mktemp("alone")
    environment = Environment(folder / "environment")
    environment.run("pip", "install", "-q", "nbgrader", "numpy")  # the course's own
    _, before = environment.installed()
    # A copy, for to build a package writes beside it.
    unwanted = shutil.ignore_patterns("*.egg-info")
    grader = shutil.copytree(ROOT / "nbjudge", folder / "nbjudge", ignore=unwanted)
    environment.run("pip", "install", "-q", f"{grader}[grading]")
    return environment, environment.installed()[1] - before


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_it_brings_neither_torch_nor_much_else(alone):
    environment, megabytes = alone
    assert not {"torch", "pandas", "matplotlib", "attention-lab"} & environment.installed()[0]
    assert megabytes <= MOST_MEGABYTES


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_it_grades_a_course_with_checks(alone, tmp_path):
    """Its checks are tried, a right and a wrong answer are graded, and the report names the mistake."""
    environment, course = alone[0], tmp_path / "statistics"
    shutil.copytree(EXAMPLE, course, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    config = (course / "nbgrader_config.py").read_text()
    environment.run("nbjudge", "init", cwd=course)
    assert "is left as it is" in environment.run("nbjudge", "init", cwd=course)
    assert (course / "nbgrader_config.py").read_text().startswith(config)
    output = environment.run("nbjudge", "try", cwd=course)
    assert "Right answers get full marks, and each mistake is named." in output
    environment.run("nbgrader", "generate_assignment", "ps1", cwd=course)
    source = nbformat.read(course / "source/ps1/spread.ipynb", as_version=4)
    for student, answers in {"ada": {}, "bob": {"deviation": BY_N}}.items():
        released = nbformat.read(course / "release/ps1/spread.ipynb", as_version=4)
        for cell, solved in zip(released.cells, source.cells, strict=True):
            if cell.metadata.get("nbgrader", {}).get("solution"):
                cell.source = answers.get(cell.metadata.nbgrader.grade_id, solved.source)
        (course / "submitted" / student / "ps1").mkdir(parents=True)
        nbformat.write(released, course / "submitted" / student / "ps1" / "spread.ipynb")
    environment.run("nbjudge", "grade", "ps1", cwd=course)
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        scores = {
            assignment_submission.student_id: assignment_submission.score
            for assignment_submission in gradebook.assignment_submissions("ps1")
        }
    assert scores == {"ada": 9, "bob": 4}
    environment.run("nbjudge", "report", "ps1", cwd=course)
    assert "divide by n - 1" in (course / "reports" / "ps1" / "index.html").read_text()
