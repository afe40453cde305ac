"""Every command of nbjudge's own page works as typed, in its example and in nbgrader's quickstart course."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from nbgrader_command import run_program
from old_course import CHECKS, make_old_course

from nbjudge.course.configuration import read_config
from nbjudge.course.course import open_course
from nbjudge.course.folders import CourseFolders
from nbjudge.course.gradebook import not_generated_reason

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "nbjudge" / "README.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
NOT_YET = "does not have the assignment 'ps1' yet: run `nbgrader generate_assignment ps1`, which makes"


def commands() -> list[list[str]]:
    lines = [line for block in BLOCK.findall(PAGE.read_text()) for line in block.splitlines()]
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
    shutil.copytree(ROOT / "examples" / "statistics", root, ignore=shutil.ignore_patterns("__pycache__"))
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


def test_an_assignment_that_was_never_generated_is_said_once_before_any_work(quickstart):
    submit(quickstart, "source", "ps1", *(f"student{number}" for number in range(20)))
    for command in (("nbjudge", "grade"), ("nbgrader", "autograde"), ("nbjudge", "report")):
        assert typed(quickstart, *command, "ps1", status=1).count(NOT_YET) == 1
    assert not (quickstart / "autograded").exists()


def test_commands_say_which_notebook_and_what_is_missing(quickstart):
    for command in ("try", "visible"):
        assert "There is nothing to try: no file under" in typed(quickstart, "nbjudge", command, status=1)
    output = typed(quickstart, "nbjudge", "new-exercise", "ps1", "median", status=1)
    assert "'ps1' has 2 notebooks: name one of ps1/problem1, ps1/problem2." in output
    output = typed(quickstart, "nbjudge", "report", "ps9", status=1)
    assert "There is no assignment 'ps9'. There are: ps1/problem1, ps1/problem2." in output
    output = typed(quickstart, "nbjudge", "regrade", "mean", "ada", "--reason", "why", status=1)
    assert "has an exercise called 'mean'. Without checks, points are changed in the formgrader." in output


@pytest.mark.parametrize("old_checks", [False, True])
def test_a_new_exercise_works_in_a_notebook_without_ids(tmp_path, old_checks):
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
