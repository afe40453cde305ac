"""A run that stops leaves no 0 for a student it has not judged, and takes no earlier grade away."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook
from tiny_course import FOLDER, FULL, NAME, answered, hand_in

from nbjudge.batch.changed_submissions import make_plan
from nbjudge.batch.coordinator import Autograder, ClassRun
from nbjudge.cell_metadata import checked_exercise
from nbjudge.course.configuration import read_config
from nbjudge.course.folders import read_folders
from nbjudge.errors import BrokenAssignmentError, CourseError, WorkerDiedError
from nbjudge.grading.job import (
    GradingJob,
    GradingResult,
    NoKernelError,
    notebook_from_json,
    notebook_to_json,
)
from nbjudge.judge.verdict import GroupVerdict, Verdict
from nbjudge.record.graded_cell import write_verdict
from nbjudge.record.graded_notebook import read_graded

pytestmark = [
    pytest.mark.integration,
    pytest.mark.fault,
    pytest.mark.filterwarnings("default"),
]  # nbgrader's own
STOPS = [BrokenAssignmentError("A cell stops."), NoKernelError("No kernel."), KeyboardInterrupt()]


def judge_all_right(job: GradingJob) -> GradingResult:
    """In the place of a kernel: every exercise of the submission has all its points."""
    notebook = notebook_from_json(job.notebook)
    for cell in notebook.cells:
        exercise = checked_exercise(cell)
        if exercise is not None:
            write_verdict(cell, Verdict(exercise, 0, (GroupVerdict("all", FULL[exercise], True),), ()))
    return GradingResult(notebook_to_json(notebook), (), 0)


def stop_with(error: BaseException) -> Callable[[GradingJob], GradingResult]:
    def execute(job: GradingJob) -> GradingResult:
        raise error

    return execute


@pytest.fixture
def autograder(course: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Autograder]:
    monkeypatch.chdir(course)
    config = read_config(course)
    config.RunAndJudge.sandbox = False  # no kernel is started here
    grader = Autograder(config, course, FOLDER, course / "log")
    yield grader
    grader.close()


def scores(root: Path) -> dict[str, float]:
    """As every export of the gradebook has them: a submission without scores counts as 0."""
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        return {each.student_id: each.score for each in gradebook.assignment_submissions(FOLDER)}


def grade(autograder: Autograder, student: str, execute: Any) -> None:
    try:
        autograder.autograde(student, True, execute)
    except (SystemExit, KeyboardInterrupt):
        return


@pytest.mark.parametrize("error", STOPS, ids=lambda error: type(error).__name__)
def test_an_unjudged_student_keeps_the_score(course, autograder, error):
    hand_in(course, "ada", answered())
    grade(autograder, "ada", stop_with(error))
    assert scores(course) == {}
    assert not list((course / "autograded").rglob("*.ipynb"))
    grade(autograder, "ada", judge_all_right)
    assert scores(course) == {"ada": 5}

    # nbgrader enters 0 for a notebook that has another name before anything is graded.
    submitted = course / "submitted" / "ada" / FOLDER
    (submitted / f"{NAME}.ipynb").rename(submitted / "misnamed.ipynb")
    (submitted / "timestamp.txt").write_text("2026-01-01 12:00:00 UTC")
    grade(autograder, "ada", stop_with(error))
    assert scores(course) == {"ada": 5}
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        assert gradebook.find_submission(FOLDER, "ada").timestamp is None
    grade(autograder, "ada", judge_all_right)
    assert scores(course) == {"ada": 5}


def test_who_ends_the_grading_process_gets_zero(course, autograder):
    """Work that ended its grading process, alone and again, has 0 points and the reason, and a record."""
    hand_in(course, "eve", answered())
    autograder.autograde("eve", True, stop_with(WorkerDiedError()))
    assert scores(course) == {"eve": 0}
    record = read_graded(course / "autograded" / "eve" / FOLDER / f"{NAME}.ipynb").record
    assert "the process that graded it ended" in record.reason


class ThreeAtATime:
    """Workers of whom one stops the class while another is still at work."""

    def __init__(self) -> None:
        self.begun, self.stopped = threading.Barrier(2), threading.Event()

    def capacity(self) -> int:
        return 3

    def obstacle(self) -> str:
        return ""

    def run(self, job: GradingJob) -> GradingResult:
        if "slow" in job.notebook:
            self.begun.wait(60)
            self.stopped.wait(60)
            raise RuntimeError("its process was ended")
        if "stops" in job.notebook:
            self.begun.wait(60)
            raise BrokenAssignmentError("A cell stops.")
        return judge_all_right(job)

    def stop(self) -> None:
        self.stopped.set()

    def close(self) -> None:
        pass


def test_those_at_work_have_no_score_either(course, autograder):
    for student, text in {"ada": "", "ben": "# slow", "cyd": "# stops", "dan": ""}.items():
        hand_in(course, student, answered(biggest=f"def biggest(x):  {text}\n    return x.max()"))
    with pytest.raises(CourseError, match=r"Grading stopped at cyd. A cell stops."):
        plan = make_plan(read_folders(course), FOLDER)
        list(ClassRun(plan, autograder, ThreeAtATime(), lambda execute: []).results())
    graded = scores(course)
    assert set(graded) <= {"ada", "dan"} and set(graded.values()) <= {5}
    plan = make_plan(read_folders(course), FOLDER)
    assert {"ben", "cyd"} <= plan.todo.keys() == {"ada", "ben", "cyd", "dan"} - graded.keys()
    for student in plan.todo:
        grade(autograder, student, judge_all_right)
    assert scores(course) == dict.fromkeys(("ada", "ben", "cyd", "dan"), 5)
