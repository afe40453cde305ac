"""The grader, a kernel or the sandbox is killed: at most the cell or submission it was at is lost."""

import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import psutil
import pytest
from grading_runs import database_is_sound, finish, grades, start, times_graded, words
from nbgrader.api import MissingEntry
from nbgrader.apps.api import NbGraderAPI
from nbgrader_command import sandboxes_below
from tiny_course import FOLDER, FULL, JUDGED, NOTHING, GradedClass, answered, hand_in, nbgrader

from nbjudge.course.assignment_forms import grading_template
from nbjudge.course.configuration import read_config
from nbjudge.course.course import Assignment, open_course
from nbjudge.course.loading import read_notebook
from nbjudge.errors import SandboxError
from nbjudge.grading.job import grade
from nbjudge.kernel.client import KernelClient
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.sandbox import fork_server_client as fork_server
from nbjudge.sandbox.fork_server_client import ForkServer, close_fork_server
from nbjudge.settings import Limits
from nbjudge.submission.merge import merge_submission
from nbjudge.submission.read_submission import SubmittedCell

pytestmark = [
    pytest.mark.integration,
    pytest.mark.fault,
    pytest.mark.timeout(1200),
    pytest.mark.filterwarnings("default"),  # nbgrader's own
]


KILLS = 20 if os.environ.get("EVERY_SEED") else 5
ROWS = "def row_sums(x):\n    return x.sum()"
CLASS = {
    "ada": (answered(), FULL),
    "ben": (
        answered(double="def double(x):\n    return x * 1", row_sums="def row_sums(x): x"),
        NOTHING | {"biggest": 1},
    ),
    "cyd": (answered(row_sums=ROWS), FULL | {"row_sums": 0}),
}
EXPECTED = {student: points for student, (_, points) in CLASS.items()}


@pytest.mark.long
def test_a_grader_killed_often_grades_all_rightly(course):
    for student, (work, _) in CLASS.items():
        hand_in(course, student, work)
    untouched = course.parent / "untouched"
    shutil.copytree(course, untouched / "course")
    finish(untouched / "course", "--version")  # the imports are done
    began = time.monotonic()
    assert finish(untouched / "course")[0] == 0
    whole = time.monotonic() - began
    assert grades(untouched / "course", CLASS) == EXPECTED

    moments = random.Random(20)
    for kill in range(KILLS):
        # Regrading everybody writes over what is there; the other runs take up what the last one left.
        run = start(course, *(["--force"] if moments.random() < 0.5 else []))
        run.join(moments.uniform(0, whole))
        run.kill()
        run.join()
        assert database_is_sound(course), f"after kill {kill}"
        assert "Traceback" not in words(course), words(course)
    left = sandboxes_below(course.parent)
    assert not psutil.wait_procs(left, timeout=30)[1], left

    last = nbgrader(course, "autograde", FOLDER)
    assert last.returncode == 0, last.stderr[-3000:]
    assert grades(course, CLASS) == EXPECTED
    assert times_graded(course) == {(student, exercise): 1 for student in CLASS for exercise in FULL}
    assert database_is_sound(course)


@pytest.mark.long
def test_only_half_graded_work_is_graded_again(course):
    for student in ("ada", "ben", "cut off", "empty"):
        hand_in(course, student, answered())
    run = start(course)
    file = course / "autograded" / "ben" / FOLDER / "tiny.ipynb"
    while run.is_alive() and not (file.exists() and file.stat().st_size):
        time.sleep(0.01)
    run.kill()
    run.join()
    cut_off, empty = (course / "autograded" / student / FOLDER for student in ("cut off", "empty"))
    cut_off.mkdir(parents=True)
    (cut_off / "tiny.ipynb").write_text(file.read_text()[:100])
    empty.mkdir(parents=True)
    done = course / "autograded" / "ada" / FOLDER / "tiny.ipynb"
    before = done.stat().st_mtime_ns

    status, output = finish(course)
    assert status == 0, output
    for student in ("ben", "cut off", "empty"):
        assert f"{student}: an earlier run stopped before it finished this submission" in output
    assert "ada: an earlier run" not in output
    assert done.stat().st_mtime_ns == before
    students = ["ada", "ben", "cut off", "empty"]
    assert grades(course, students) == dict.fromkeys(students, FULL)


PATIENT = Limits(cell=60, answer=60, notebook=240)
CELLS = [cell.id for cell in answered().cells if cell.cell_type == "code"]
Grade = Callable[[], dict[str, float]]


@pytest.fixture(scope="module")
def lesson(whole_course: Path) -> Iterator[Assignment]:
    (only,) = open_course(whole_course).assignments_in(FOLDER)
    yield only
    close_fork_server()


@pytest.fixture
def grade_honest_work(lesson: Assignment, tmp_path: Path) -> Grade:
    source = lesson.source_path
    form = grading_template(read_notebook(source), read_config(lesson.course.root), JUDGED, source.parent)
    cells = [SubmittedCell(cell.cell_type, cell.source, cell_id=cell.id) for cell in answered().cells]
    world = KernelEnvironment(limits=PATIENT, modules=lesson.modules)

    def points() -> dict[str, float]:
        verdicts = grade(merge_submission(form, cells), lesson, tmp_path, 7, world)
        return {verdict.exercise: verdict.points for verdict in verdicts}

    return points


def kill_while(
    monkeypatch: pytest.MonkeyPatch, method: str, name: str, times: int, gone: bool = False
) -> list[int]:
    """Kill the kernel when `method` begins with a cell or an exercise, and wait until its number is gone."""
    original, kills = getattr(KernelClient, method), []

    def killed(self: KernelClient, first: Any, *arguments: object) -> object:
        if len(kills) < times and getattr(first, "id", first) == name:
            kernel = self.process
            kills.append(kernel.pid)
            kernel.send_signal(signal.SIGKILL)
            ends = time.monotonic() + 30
            while (
                gone and psutil.pid_exists(kernel.pid) and time.monotonic() < ends
            ):  # and its number with it
                time.sleep(0.01)
        return original(self, first, *arguments)

    monkeypatch.setattr(KernelClient, method, killed)
    return kills


@pytest.mark.parametrize(
    ("method", "name", "gone"),
    [
        *(("_execute", name, False) for name in CELLS),
        *(("call", name, gone) for name in FULL for gone in (False, True)),
    ],
)
def test_a_kernel_that_is_killed_once_costs_nothing(method, name, gone, grade_honest_work, monkeypatch):
    kills = kill_while(monkeypatch, method, name, 1, gone)
    assert grade_honest_work() == FULL
    assert len(kills) == 1


@pytest.mark.parametrize(("method", "name"), [("_execute", "setup"), *product(("_execute", "call"), FULL)])
def test_a_killed_kernel_costs_one_exercise(method, name, grade_honest_work, monkeypatch):
    """The cell or the answer had the benefit of the doubt, and was not run again with the others."""
    kills = kill_while(monkeypatch, method, name, 100)
    assert grade_honest_work() == FULL | ({name: 0} if name in FULL else {})
    assert len(kills) == 2


class Grader:
    """A course graded in this process, as the formgrader does it."""

    def __init__(self, root: Path) -> None:
        config = read_config(root)
        config.CourseDirectory.root = str(root)
        self.root, self.api = root, NbGraderAPI(config=config)

    def try_to_grade(self, student: str) -> dict[str, Any]:
        hand_in(self.root, student, answered())
        return self.api.autograde(FOLDER, student)

    def points(self, student: str) -> dict[str, float]:
        result = self.try_to_grade(student)
        assert result["success"], result["log"] + result.get("error", "")
        return GradedClass(self.root).points(student)


@pytest.fixture
def grader(course: Path) -> Iterator[Grader]:
    yield Grader(course)
    fork_server.close_fork_server()


def test_a_dead_fork_server_is_replaced(grader, monkeypatch):
    execute, killed = KernelClient._execute, []

    def execute_and_kill(self: KernelClient, cell: Any, timeout: float) -> Any:
        if cell.id == "row_sums" and not killed:
            process = fork_server._current[0]._process
            process.kill()
            process.wait()
            killed.append(process.pid)
        return execute(self, cell, timeout)

    assert grader.points("ada") == FULL
    monkeypatch.setattr(KernelClient, "_execute", execute_and_kill)
    points = grader.points("ben")
    assert killed and points | {"row_sums": 2} == FULL
    assert fork_server._current[0]._process.pid not in killed
    assert grader.points("cyd") == FULL


def test_without_any_kernel_the_class_stops(grader, monkeypatch):
    def no_fork(self: ForkServer, *arguments: Any, **options: Any) -> Any:
        raise SandboxError("There is no memory for another process.")

    monkeypatch.setattr(ForkServer, "fork", no_fork)
    result = grader.try_to_grade("ada")
    assert not result["success"]
    assert "Nothing was graded. There is no memory for another process." in result["error"]
    with pytest.raises(MissingEntry):  # in the gradebook a submission without scores would count as 0
        GradedClass(grader.root).points("ada")
    monkeypatch.undo()
    assert grader.points("ada") == FULL


def test_files_that_stop_every_kernel_are_0(grader, monkeypatch, caplog):
    fork = ForkServer.fork

    def fork_without(self: ForkServer, limits: Any, files: dict[bytes, bytes]) -> Any:
        if b"unheard-of.bin" in files:
            raise SandboxError("A kernel could not be started in the sandbox: it ended.")
        return fork(self, limits, files)

    monkeypatch.setattr(ForkServer, "fork", fork_without)
    (hand_in(grader.root, "ada", None) / "unheard-of.bin").write_bytes(b"?")
    result = grader.try_to_grade("ada")
    assert result["success"]
    assert "Traceback" not in result["log"] + caplog.text
    graded = GradedClass(grader.root)
    assert graded.points("ada") == NOTHING
    for exercise in FULL:
        assert "with the files of this submission" in graded.reason("ada", exercise)
    assert grader.points("ben") == FULL


def test_files_without_space_are_left_out(course):
    folder = hand_in(course, "ada", answered())
    for number in range(3):
        (folder / f"{number}.bin").write_bytes(os.urandom(2**20))
    status, output = finish(course, "--RunAndJudge.disk_mebibytes=2")
    assert status == 0, output
    assert "Traceback" not in output
    assert grades(course, ["ada"]) == {"ada": FULL}
