"""The solution is graded with a class: what it loses is a warning, or a stop where a given cell fails."""

import pickle
from datetime import date
from functools import partial
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import nbformat
import pytest
from marked_cells import code
from nbgrader.api import Gradebook
from nbgrader_command import run, run_program
from tiny_course import (
    CHECKS,
    CONFIG,
    FOLDER,
    FULL,
    JUDGED,
    GradedClass,
    after,
    answered,
    cell_of,
    hand_in,
    make_course,
    source,
    succeed,
    without,
    without_ids,
    written_question,
)

from nbjudge.batch.cluster import ClusterWorkers, versions
from nbjudge.batch.grade_command import LOG_FILE
from nbjudge.course.assignment_forms import grading_template, solved
from nbjudge.course.configuration import read_config
from nbjudge.course.course import Assignment, open_course
from nbjudge.errors import BrokenAssignmentError, CourseError
from nbjudge.grading import prepare as solution
from nbjudge.grading.job import GradingJob, GradingResult, notebook_to_json, run_job
from nbjudge.grading.prepare import check_solution, refuse_other_cells
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.settings import GradingSettings
from nbjudge.skeletons.notebooks import new_exercise
from nbjudge.submission.merge import merge_submission
from nbjudge.submission.read_submission import SubmittedCell

pytestmark = pytest.mark.integration


def lesson_with(given: str, **metadata: object) -> nbformat.NotebookNode:
    return after(source(), "double", nbformat.v4.new_code_cell(given, id="given", metadata=metadata))


def with_test(given: str, test: str) -> nbformat.NotebookNode:
    """A lesson with a given cell, and behind it a test of nbgrader's own kind."""
    return after(lesson_with(given), "given", code(test, "plain_test", grade=True, locked=True, points=1))


def with_scale(given: str) -> nbformat.NotebookNode:
    """A lesson in whose solution a judged answer needs a name of a given cell."""
    lesson = lesson_with(given)
    cell = next(cell for cell in lesson.cells if cell.id == "row_sums")
    cell.source = cell.source.replace("return x.sum", "return scale * x.sum")
    return lesson


def tiny_assignment(root: Path, lesson: nbformat.NotebookNode, despite: bool = False) -> Assignment:
    """The assignment with this lesson; written once, so that its times stay."""
    file, text = root / "source" / FOLDER / "tiny.ipynb", nbformat.writes(lesson)
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text() != text:
        file.write_text(text)
    (root / "checks").mkdir(exist_ok=True)
    (root / "checks" / "tiny.py").write_text(CHECKS)
    setting = f"c.RunAndJudge.grade_despite_failing_cells = {despite}\n"
    (root / "nbgrader_config.py").write_text(CONFIG + setting)
    solution = root / "solutions" / FOLDER / "tiny.ipynb"  # of the lesson with ids, whatever the source has
    solution.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(solved(source(), read_config(root)), solution)
    (tiny,) = open_course(root).assignments_in(FOLDER)
    return tiny


def warnings_of(root: Path, lesson: nbformat.NotebookNode, despite: bool = False, execute=run_job) -> str:
    """Return what the instructor reads of this lesson."""
    tiny = tiny_assignment(root, lesson, despite)
    settings = GradingSettings(config=read_config(root))
    return " ".join(check_solution(tiny, settings, partial(execute, assignment=tiny)))


def points_of(root: Path, lesson: nbformat.NotebookNode, *own: str, **answers: str) -> dict[str, float]:
    """The points of a submission to this lesson; `own` cells come first in it."""
    tiny = tiny_assignment(root, lesson)
    form = grading_template(lesson, read_config(root), JUDGED, root)
    cells = [
        SubmittedCell(cell.cell_type, cell.source, cell.metadata.get("nbgrader", {}).get("grade_id"))
        for cell in after(answered(**answers), "", *own).cells
    ]
    notebook = notebook_to_json(merge_submission(form, cells))
    graded = run_job(GradingJob("tiny", notebook, 7, KernelEnvironment(modules=("torch",))), tiny)
    return {exercise: points for exercise, points, _ in graded.points}


NO_PACKAGE = "import a_package_that_is_not_shown"
NO_FILE = "scale = open('missing.csv').read()"


@pytest.mark.parametrize(
    ("lesson", "lost"),
    [
        (with_test(NO_PACKAGE, "a_package_that_is_not_shown.first(3)\n1"), "5 (“a_package_that_is_not_shown"),
        (with_test(NO_FILE, "'scale' in dir() or 0.5"), "5 (“'scale' in dir() or 0.5”)"),
        (with_scale(NO_FILE), "8 (“print(row_sums(torch.ones(3, 4)))”)"),
    ],
    ids=["in the kernel", "in part", "judged"],
)
def test_a_cell_that_costs_points_stops_the_class(tmp_path, lesson, lost):
    with pytest.raises(BrokenAssignmentError, match=r"its own cell 4 \(“.*”\) stops with") as failure:
        warnings_of(tmp_path, lesson)
    assert f"its solution loses points in cell {lost}" in str(failure.value)
    assert "c.RunAndJudge.grade_despite_failing_cells = True" in str(failure.value)
    assert "--no-sandbox" in str(failure.value)
    warning = warnings_of(tmp_path, lesson, despite=True)
    assert f"its own solution loses points in cell {lost}" in warning and "Graded all the same" in warning
    assert points_of(tmp_path, lesson) == FULL


def with_failing_answer() -> nbformat.NotebookNode:
    lesson = with_test("pass", "assert double(1) == 2")
    for cell in lesson.cells:
        cell.source = cell.source.replace("  # okapi", "\n    ### END SOLUTION\n1 / 0")
    return lesson


PASSES = "assert double(1) == 2"
INPUT = "print(eval(input('A number? ')))"
COSTS_NOTHING = "; its tests pass all the same."


@pytest.mark.parametrize(
    ("lesson", "words"),
    [
        (
            with_test(NO_PACKAGE, PASSES),
            [f"its own cell 4 (“{NO_PACKAGE}”) stops with ModuleNotFoundError: No module", COSTS_NOTHING],
        ),
        (with_test(INPUT, PASSES), [f"its own cell 4 (“{INPUT}”) stops: input() cannot be", COSTS_NOTHING]),
        # An answer of the solution comes first, and what fails after it may follow from it.
        (with_failing_answer(), ["its own cell 3 (“def double(x):”) stops with ZeroDivisionError"]),
        # A test returns more points than its cell has, or depends on the date.
        (with_test("pass", "double(1) and 3"), ["cell 5 (“double(1)", "has 1 points: more counts as 1"]),
        (with_test("pass", "double(1) and float('inf')"), ["cell 5 (“double(1)", "more counts as 1"]),
        (
            with_test("import datetime", "assert datetime.date.today().year < 2000"),
            ["cell 5 (“assert dat", "stops with AssertionError"],
        ),
    ],
    ids=["package", "input", "answer", "too many points", "infinite points", "date"],
)
def test_what_fails_and_costs_nothing_is_a_warning(tmp_path, lesson, words):
    warning = warnings_of(tmp_path, lesson)
    assert warning.startswith("The notebook “tiny”: ")
    assert all(word in warning for word in words)


def test_a_sound_solution_is_graded_once_a_day(tmp_path, monkeypatch):
    """As long as nothing is wrong with it and no one changes the assignment."""
    runs = []

    def counted(job, assignment):
        runs.append(job)
        return run_job(job, assignment)

    def check(lesson: nbformat.NotebookNode) -> int:
        warnings_of(tmp_path, lesson, execute=counted)
        return len(runs)

    assert [check(source()), check(source())] == [1, 1]
    assert [check(lesson_with("2")), check(lesson_with("2"))] == [2, 2]
    (tmp_path / "source" / FOLDER / "data.csv").write_text("1")
    assert check(lesson_with("2")) == 3
    monkeypatch.setattr(solution, "date", SimpleNamespace(today=lambda: date(2030, 1, 1)))
    assert check(lesson_with("2")) == 4
    assert [check(lesson_with("1 / 0")), check(lesson_with("1 / 0"))] == [5, 6]


def test_what_students_add_changes_nothing_of_it(tmp_path):
    lesson = without_ids(lesson_with("open('missing.csv')", tags=["raises-exception"]))
    assert points_of(tmp_path, lesson, "1 / 0", "open('missing.csv')") == FULL
    assert warnings_of(tmp_path, lesson) == ""
    with pytest.raises(
        BrokenAssignmentError, match=r"its own cell 4 \(“scale = .*”\) stops with FileNotFound"
    ):
        warnings_of(tmp_path, without_ids(with_scale(NO_FILE)))


def test_cell_that_stops_because_of_an_answer(tmp_path):
    """It is the student's, and no warning; a missing kernel is one."""
    lesson = lesson_with("assert double(1) == 2")
    unchanged = "def double(x):\n    return x"
    assert points_of(tmp_path, lesson, double=unchanged) == FULL | {"double": 0}
    assert warnings_of(tmp_path, lesson) == ""

    def none_starts(job, assignment):
        return GradingResult(job.notebook, (), 0, "no kernel")

    warning = warnings_of(tmp_path, source(), execute=none_starts)
    assert "its own solution could not be run (no kernel)" in warning


def test_command_stops_or_grades_all_the_same(tmp_path):
    """It stops before the first student, unless the course sets `grade_despite_failing_cells`."""
    make_course(tmp_path, lesson=with_test(NO_FILE, "scale"))
    for student in ("ada", "bob"):
        hand_in(tmp_path, student, answered())
    ended = run(tmp_path, "autograde", FOLDER)
    output = ended.stderr + ended.stdout
    assert ended.returncode != 0
    assert "Nothing was graded. The notebook “tiny” cannot be graded" in output
    assert "Traceback" not in output
    assert "ada" not in output  # who need not be tried
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


WARNING = "its own solution loses points in cell 5 (“scale”)"


def test_a_cluster_says_it_as_well(monkeypatch):
    answers = ("tcp://a-worker", pickle.dumps(BrokenAssignmentError("its own cell stops")))
    monkeypatch.setattr(ClusterWorkers, "_grade_on_a_worker", lambda *args: answers)
    workers = object.__new__(ClusterWorkers)
    workers._archive = None
    with pytest.raises(BrokenAssignmentError, match="its own cell stops"):
        workers.run(None)
    # It compares versions also without torch.
    missing = Mock(side_effect=PackageNotFoundError("torch"))
    monkeypatch.setattr("nbjudge.batch.cluster.version", missing)
    assert versions()["torch"] == "not installed"


# ---- a gradebook that has other cells than the source --------------------------------------------


def reason_of(root: Path, lesson: nbformat.NotebookNode) -> str:
    """Return what is said instead of grading with this lesson."""
    (root / "source" / FOLDER / "tiny.ipynb").write_text(nbformat.writes(lesson))
    try:
        refuse_other_cells(open_course(root).assignments_in(FOLDER), read_config(root))
    except CourseError as error:
        return str(error)
    return ""


def test_cells_and_points_are_compared_before_grading(tmp_path):
    """With submissions nbgrader takes no other cells, and generate_assignment deletes the release."""
    make_course(tmp_path)
    with (tmp_path / "nbgrader_config.py").open("a") as config:
        config.write("\nc.RunAndJudge.build_command = 'nbgrader generate_assignment {assignment}'\n")
    with_question, with_points = after(source(), "test_biggest", written_question()), source()
    cell_of(with_points, "test_biggest").metadata.nbgrader.points = 4
    for lesson, reason in (
        (
            with_question,
            "than the gradebook: 'why' is new. Run `nbgrader generate_assignment 01_tiny --force`",
        ),
        (without(source(), "biggest", "test_biggest"), "'biggest' is gone, 'test_biggest' is gone"),
        (with_points, "gives other points than the gradebook: 'test_biggest' 4, not 1. Run `"),
    ):
        assert reason in reason_of(tmp_path, lesson)
    assert reason_of(tmp_path, source()) == ""

    hand_in(tmp_path, "ada", answered())
    succeed(tmp_path, "autograde", FOLDER)
    before = (tmp_path / "source" / FOLDER / "tiny.ipynb").read_text()
    with pytest.raises(CourseError, match="01_tiny has submissions in the gradebook"):
        new_exercise(open_course(tmp_path).assignments["tiny"], "another")
    assert (tmp_path / "source" / FOLDER / "tiny.ipynb").read_text() == before
    assert reason_of(tmp_path, with_question)
    for ended in (
        run(tmp_path, "autograde", FOLDER, "--force"),
        run_program(tmp_path, "nbjudge", "grade", FOLDER, "--force"),
    ):
        output = " ".join((ended.stdout + ended.stderr).split())
        assert ended.returncode != 0 and "Traceback" not in output
        assert "Nothing was graded. The source of 01_tiny/tiny has other cells for answers" in output
        assert "`nbgrader db assignment remove 01_tiny --force`" in output
        assert (tmp_path / "autograded" / "ada" / FOLDER / "tiny.ipynb").exists()
