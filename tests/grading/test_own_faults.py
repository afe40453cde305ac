"""A given cell that stops for everybody is the lesson's fault: it is said first, and nobody gets 0 for it."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader_command import run
from tiny_course import CHECKS, FOLDER, FULL, JUDGED, ROOT, after, answered, hand_in, make_course, source

from nbjudge.batch.cluster import ClusterWorkers
from nbjudge.batch.cluster_worker import versions
from nbjudge.course.configuration import read_config
from nbjudge.course.course import open_course
from nbjudge.pipeline import own_faults
from nbjudge.pipeline.job import GradingJob, notebook_to_json, run_job
from nbjudge.pipeline.own_faults import LessonFails
from nbjudge.read.submission import SubmittedCell
from nbjudge.rebuild.forms import graded, solved
from nbjudge.rebuild.rebuild import rebuild
from nbjudge.run.kernel_process import KernelEnvironment
from nbjudge.sandbox.forked_kernel import SandboxError


def lesson_with(given: str, **metadata: object) -> nbformat.NotebookNode:
    return after(source(), "double", nbformat.v4.new_code_cell(given, id="given", metadata=metadata))


def points(root: Path, lesson: nbformat.NotebookNode, *own: str, **answers: str) -> dict[str, float]:
    """What an answer is given in this lesson; `own` cells come first in the submission."""
    (root / "source" / FOLDER).mkdir(parents=True, exist_ok=True)
    nbformat.write(lesson, root / "source" / FOLDER / "tiny.ipynb")
    (root / "checks").mkdir(exist_ok=True)
    (root / "checks" / "tiny.py").write_text(CHECKS)
    (root / "nbgrader_config.py").write_text((ROOT / "nbgrader_config.py").read_text())
    solution = root / "solutions" / FOLDER / "tiny.ipynb"  # of the lesson with ids, whatever the source has
    solution.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(solved(source(), read_config(root)), solution)
    form = graded(lesson, read_config(root), JUDGED, root)
    cells = [
        SubmittedCell(cell.cell_type, cell.source, cell.metadata.get("nbgrader", {}).get("grade_id"))
        for cell in after(answered(**answers), "", *own).cells
    ]
    (tiny,) = open_course(root).lessons_in(FOLDER)
    world = KernelEnvironment(modules=("torch",))
    result = run_job(GradingJob("tiny", notebook_to_json(rebuild(form, cells)), 7, world), tiny)
    return {exercise: points for exercise, points, _ in result.points}


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("import a_package_that_is_not_shown", "No module named 'a_package_that_is_not_shown'"),
        ("open('missing.csv')", "No such file or directory: 'missing.csv'"),
    ],
)
def test_a_cell_that_stops_for_everybody_is_the_lessons_fault(tmp_path, given, error):
    with pytest.raises(LessonFails, match="its own cell “given” stops with") as failure:
        points(tmp_path, lesson_with(given))
    assert error in str(failure.value)


def without_ids(lesson: nbformat.NotebookNode) -> nbformat.NotebookNode:
    lesson.nbformat_minor = 2
    for cell in lesson.cells:
        del cell["id"]
    return lesson


def test_without_cell_ids_only_the_courses_own_cell_stops_grading(tmp_path, monkeypatch):
    monkeypatch.setattr(own_faults, "_known", {})
    lesson = without_ids(lesson_with("open('missing.csv')", tags=["raises-exception"]))
    assert points(tmp_path, lesson, "1 / 0", "open('missing.csv')") == FULL
    broken = without_ids(lesson_with("open('missing.csv')"))
    with pytest.raises(LessonFails, match="its own cell “open.'missing.csv'.” stops with FileNotFound"):
        points(tmp_path, broken, "1 / 0")


def test_a_given_cell_is_looked_up_by_its_place_in_the_course_whatever_students_add(tmp_path, monkeypatch):
    """Who is graded first decides nothing: the same submissions in both orders, from one cache."""
    lesson = without_ids(lesson_with("assert double(1) == 2"))
    wrong = {"double": "def double(x):\n    return x"}
    for order in ([3, 0], [0, 3]):
        monkeypatch.setattr(own_faults, "_known", {})
        for added in order:
            assert points(tmp_path, lesson, *["1 / 0"] * added, **wrong) == FULL | {"double": 0}


def test_a_cell_that_stops_because_of_an_answer_is_the_students(tmp_path):
    wrong = "def double(x):\n    return x"
    assert points(tmp_path, lesson_with("assert double(1) == 2"), double=wrong) == FULL | {"double": 0}


def test_where_no_kernel_starts_for_the_solution_nobody_loses_a_point(tmp_path, monkeypatch):
    def none_starts(*_where):
        raise SandboxError("no kernel")

    monkeypatch.setattr(own_faults, "student_kernel", none_starts)
    assert points(tmp_path, lesson_with("1 / 0")) == FULL


def test_a_cell_that_is_to_show_an_error_may(tmp_path):
    assert points(tmp_path, lesson_with("1 / 0", tags=["raises-exception"])) == FULL


def test_the_command_says_it_first_and_grades_nobody(tmp_path):
    make_course(tmp_path, lesson=lesson_with("open('missing.csv')"))
    for student in ("ada", "bob"):
        hand_in(tmp_path, student, answered())
    ended = run(tmp_path, "autograde", FOLDER)
    said = ended.stderr + ended.stdout
    assert ended.returncode != 0
    assert "Grading stopped at ada. The lesson “tiny” cannot be graded" in said
    assert "Traceback" not in said
    assert "bob" not in said  # who need not be tried
    assert not list((tmp_path / "autograded").rglob("*.ipynb"))
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as gradebook:
        assert gradebook.assignment_submissions(FOLDER) == []  # no 0 for work that nobody judged


def test_a_cluster_says_it_as_well(monkeypatch):
    answers = ("tcp://a-worker", "lesson fails", b"its own cell stops")
    monkeypatch.setattr(ClusterWorkers, "_ask_somebody", lambda *asked: answers)
    workers = object.__new__(ClusterWorkers)
    workers._archive = None
    with pytest.raises(LessonFails, match="its own cell stops"):
        workers.run(None)


def test_a_cluster_compares_versions_where_there_is_no_torch(monkeypatch):
    monkeypatch.setattr("nbjudge.batch.cluster_worker.version", missing)
    assert versions()["torch"] == "not installed"


def missing(package: str) -> str:
    from importlib.metadata import PackageNotFoundError

    raise PackageNotFoundError(package)
