"""A cell of the assignment's own that fails is a warning; it stops the class if the solution loses points."""

from __future__ import annotations

import pickle
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader_command import run, run_program
from tiny_course import (
    CHECKS,
    FOLDER,
    FULL,
    JUDGED,
    ROOT,
    GradedClass,
    after,
    answered,
    hand_in,
    make_course,
    source,
    without_ids,
)

from nbjudge.batch.cluster import ClusterWorkers
from nbjudge.batch.cluster_worker import versions
from nbjudge.batch.grade_command import LOG_FILE
from nbjudge.course.assignment_forms import grading_template, solved
from nbjudge.course.configuration import read_config
from nbjudge.course.course import open_course
from nbjudge.errors import BrokenAssignmentError, SandboxError
from nbjudge.grading import broken_assignment
from nbjudge.grading.grade import grade
from nbjudge.grading.job import GradingJob, GradingResult, notebook_to_json, run_job
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.submission.merge import merge_submission
from nbjudge.submission.read_submission import SubmittedCell

pytestmark = pytest.mark.integration


def lesson_with(given: str, **metadata: object) -> nbformat.NotebookNode:
    return after(source(), "double", nbformat.v4.new_code_cell(given, id="given", metadata=metadata))


def with_test(given: str, test: str) -> nbformat.NotebookNode:
    """A lesson with a given cell, and behind it a test of nbgrader's own kind."""
    marks = {"grade": True, "locked": True, "solution": False, "points": 1, "schema_version": 3}
    cell = nbformat.v4.new_code_cell(test, id="plain_test")
    cell.metadata["nbgrader"] = marks | {"grade_id": "plain_test", "task": False, "cell_type": "code"}
    return after(lesson_with(given), "given", cell)


def with_scale(given: str) -> nbformat.NotebookNode:
    """A lesson in whose solution a judged answer needs a name of a given cell."""
    lesson = lesson_with(given)
    cell = next(cell for cell in lesson.cells if cell.id == "row_sums")
    cell.source = cell.source.replace("return x.sum", "return scale * x.sum")
    return lesson


def result_of(
    root: Path, lesson: nbformat.NotebookNode, *own: str, despite: bool = False, **answers: str
) -> GradingResult:
    """What comes of a submission to this lesson; `own` cells come first in it."""
    file, text = root / "source" / FOLDER / "tiny.ipynb", nbformat.writes(lesson)
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text() != text:
        file.write_text(text)
    (root / "checks").mkdir(exist_ok=True)
    (root / "checks" / "tiny.py").write_text(CHECKS)
    (root / "nbgrader_config.py").write_text((ROOT / "nbgrader_config.py").read_text())
    solution = root / "solutions" / FOLDER / "tiny.ipynb"  # of the lesson with ids, whatever the source has
    solution.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(solved(source(), read_config(root)), solution)
    form = grading_template(lesson, read_config(root), JUDGED, root)
    cells = [
        SubmittedCell(cell.cell_type, cell.source, cell.metadata.get("nbgrader", {}).get("grade_id"))
        for cell in after(answered(**answers), "", *own).cells
    ]
    (tiny,) = open_course(root).assignments_in(FOLDER)
    notebook = notebook_to_json(merge_submission(form, cells))
    world = KernelEnvironment(modules=("torch",))
    return run_job(GradingJob("tiny", notebook, 7, world, grade_despite_failing_cells=despite), tiny)


def points(result: GradingResult) -> dict[str, float]:
    return {exercise: points for exercise, points, _ in result.points}


NO_PACKAGE = "import a_package_that_is_not_shown"
NO_FILE = "scale = open('missing.csv').read()"


@pytest.mark.parametrize(
    ("given", "failure"),
    [
        (NO_PACKAGE, "“given” stops with ModuleNotFoundError: No module named 'a_package_that_is_not_shown'"),
        ("print(eval(input('A number? ')))", "“given” stops: input() cannot be answered while grading"),
    ],
)
def test_a_failing_cell_that_costs_the_solution_nothing_is_a_warning(tmp_path, given, failure):
    result = result_of(tmp_path, with_test(given, "assert double(1) == 2"), double=UNCHANGED)
    assert points(result) == FULL | {"double": 0}
    assert result.assignment_warning == (
        f"The notebook “tiny”: the assignment's own cell {failure}; its tests pass all the same."
    )


@pytest.mark.parametrize(
    ("lesson", "lost"),
    [
        (with_test(NO_PACKAGE, "a_package_that_is_not_shown.first(3)\n1"), "“plain_test”"),
        (with_test(NO_FILE, "'scale' in dir() or 0.5"), "“plain_test”"),
        (with_scale(NO_FILE), "“test_row_sums”"),
    ],
    ids=["in the kernel", "in part", "judged"],
)
def test_a_failing_cell_that_costs_the_solution_points_stops_the_class(tmp_path, lesson, lost):
    with pytest.raises(BrokenAssignmentError, match="its own cell “given” stops with") as failure:
        result_of(tmp_path, lesson)
    assert f"points are lost in {lost}, too" in str(failure.value)
    assert "c.RunAndJudge.grade_despite_failing_cells = True" in str(failure.value)
    result = result_of(tmp_path, lesson, despite=True)
    assert points(result) == FULL
    assert f"The solution loses points in {lost}, too" in result.assignment_warning


UNCHANGED = "def double(x):\n    return x"


def test_the_solution_is_graded_once_for_the_class_and_only_where_a_given_cell_fails(tmp_path, monkeypatch):
    seeds = []

    def counted(solution, lesson, folder, seed, environment):
        seeds.append(seed)
        return grade(solution, lesson, folder, seed, environment)

    monkeypatch.setattr(broken_assignment, "grade", counted)
    assert result_of(tmp_path, source(), "1 / 0").assignment_warning == ""
    assert not seeds
    warnings = {
        result_of(tmp_path, lesson_with("1 / 0"), *own).assignment_warning for own in ((), ("2 / 0",))
    }
    assert len(warnings) == 1 and len(seeds) == 1


def test_without_cell_ids_only_the_courses_own_cell_stops_grading(tmp_path, monkeypatch):
    monkeypatch.setattr(broken_assignment, "_known", {})
    lesson = without_ids(lesson_with("open('missing.csv')", tags=["raises-exception"]))
    result = result_of(tmp_path, lesson, "1 / 0", "open('missing.csv')")
    assert points(result) == FULL and result.assignment_warning == ""
    with pytest.raises(
        BrokenAssignmentError, match="its own cell “scale = open.'missing.csv'.*” stops with FileNotFound"
    ):
        result_of(tmp_path, without_ids(with_scale(NO_FILE)), "1 / 0")


def test_a_given_cell_is_looked_up_by_its_place_in_the_course_whatever_students_add(tmp_path, monkeypatch):
    """Who is graded first decides nothing: the same submissions in both orders, from one cache."""
    lesson = without_ids(lesson_with("assert double(1) == 2"))
    for order in ([3, 0], [0, 3]):
        monkeypatch.setattr(broken_assignment, "_known", {})
        for added in order:
            result = result_of(tmp_path, lesson, *["1 / 0"] * added, double=UNCHANGED)
            assert points(result) == FULL | {"double": 0} and result.assignment_warning == ""


def test_a_cell_that_stops_because_of_an_answer_is_the_students(tmp_path):
    result = result_of(tmp_path, lesson_with("assert double(1) == 2"), double=UNCHANGED)
    assert points(result) == FULL | {"double": 0} and result.assignment_warning == ""


def test_where_no_kernel_starts_for_the_solution_no_one_loses_a_point(tmp_path, monkeypatch):
    def none_starts(*_where):
        raise SandboxError("no kernel")

    monkeypatch.setattr(broken_assignment, "grade", none_starts)
    assert points(result_of(tmp_path, lesson_with("1 / 0"))) == FULL


def test_a_cell_that_is_to_show_an_error_may(tmp_path):
    result = result_of(tmp_path, lesson_with("1 / 0", tags=["raises-exception"]))
    assert points(result) == FULL and result.assignment_warning == ""


def test_the_command_stops_first_and_grades_all_the_same_with_the_setting(tmp_path):
    make_course(tmp_path, lesson=with_test(NO_FILE, "scale"))
    for student in ("ada", "bob"):
        hand_in(tmp_path, student, answered())
    ended = run(tmp_path, "autograde", FOLDER)
    output = ended.stderr + ended.stdout
    assert ended.returncode != 0
    assert "Grading stopped at ada. The notebook “tiny” cannot be graded" in output
    assert "Traceback" not in output
    assert "bob" not in output  # who need not be tried
    assert not list((tmp_path / "autograded").rglob("*.ipynb"))
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}") as gradebook:
        assert gradebook.assignment_submissions(FOLDER) == []  # no 0 for work that no one judged

    with (tmp_path / "nbgrader_config.py").open("a") as config:
        config.write("\nc.RunAndJudge.grade_despite_failing_cells = True\n")
    ended = run_program(tmp_path, "nbjudge", "grade", FOLDER)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " ".join(ended.stdout.split()).count(WARNING) == 1
    assert (tmp_path / LOG_FILE).read_text().count(WARNING) == 1
    assert GradedClass(tmp_path).points("bob") == FULL | {"plain_test": 0}


WARNING = "The solution loses points in “plain_test”, too"


def test_a_cluster_says_it_as_well(monkeypatch):
    answers = ("tcp://a-worker", pickle.dumps(BrokenAssignmentError("its own cell stops")))
    monkeypatch.setattr(ClusterWorkers, "_grade_on_a_worker", lambda *args: answers)
    workers = object.__new__(ClusterWorkers)
    workers._archive = None
    with pytest.raises(BrokenAssignmentError, match="its own cell stops"):
        workers.run(None)


def test_a_cluster_compares_versions_where_there_is_no_torch(monkeypatch):
    monkeypatch.setattr("nbjudge.batch.cluster_worker.version", missing)
    assert versions()["torch"] == "not installed"


def missing(package: str) -> str:
    from importlib.metadata import PackageNotFoundError

    raise PackageNotFoundError(package)
