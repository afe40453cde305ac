"""A kernel that someone kills (the system, short of memory, say) costs no more than the cell it died in."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from tiny_course import FOLDER, FULL, JUDGED, answered

from nbjudge.course.assignment_forms import grading_template
from nbjudge.course.configuration import read_config
from nbjudge.course.course import Assignment, open_course
from nbjudge.course.loading import read_notebook
from nbjudge.grading.job import grade
from nbjudge.kernel.client import KernelClient
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.sandbox.fork_server_client import close_fork_server
from nbjudge.settings import Limits
from nbjudge.submission.merge import merge_submission
from nbjudge.submission.read_submission import SubmittedCell

pytestmark = [pytest.mark.integration, pytest.mark.fault]
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
    monkeypatch: pytest.MonkeyPatch, method: str, times: int, wanted: Callable[..., bool], gone: bool = False
) -> list[int]:
    """Have the kernel killed whenever `method` begins its work; returns the list of its process ids."""
    original, kills = getattr(KernelClient, method), []

    def killed(self: KernelClient, *arguments: object) -> object:
        if len(kills) < times and wanted(*arguments):
            kernel = self.process
            kills.append(kernel.pid)
            kernel.send_signal(signal.SIGKILL)
            if gone:  # and its number with it
                wait_until_gone(kernel.pid)
        return original(self, *arguments)

    monkeypatch.setattr(KernelClient, method, killed)
    return kills


def wait_until_gone(pid: int) -> None:
    ends = time.monotonic() + 30
    while psutil.pid_exists(pid) and time.monotonic() < ends:
        time.sleep(0.01)


@pytest.mark.parametrize("name", CELLS)
def test_a_kernel_that_is_killed_once_costs_nothing(name, grade_honest_work, monkeypatch):
    kills = kill_while(monkeypatch, "_execute", 1, lambda cell, *_: cell.id == name)
    assert grade_honest_work() == FULL
    assert len(kills) == 1


@pytest.mark.parametrize("name", ["setup", *FULL])
def test_a_cell_in_which_every_kernel_is_killed_costs_its_own_exercise(name, grade_honest_work, monkeypatch):
    kills = kill_while(monkeypatch, "_execute", 100, lambda cell, *_: cell.id == name)
    assert grade_honest_work() == FULL | ({name: 0} if name in FULL else {})
    assert len(kills) == 2  # it had the benefit of the doubt, and was not run again with the others


@pytest.mark.parametrize("name", FULL)
@pytest.mark.parametrize("gone", [False, True], ids=["while it answers", "before it is asked"])
def test_a_kernel_that_is_killed_once_costs_no_answer(name, gone, grade_honest_work, monkeypatch):
    kills = kill_while(monkeypatch, "call", 1, lambda exercise, *_: exercise == name, gone)
    assert grade_honest_work() == FULL
    assert len(kills) == 1


@pytest.mark.parametrize("name", FULL)
def test_an_answer_that_every_kernel_is_killed_over_costs_its_exercise(name, grade_honest_work, monkeypatch):
    kills = kill_while(monkeypatch, "call", 100, lambda exercise, *_: exercise == name)
    assert grade_honest_work() == FULL | {name: 0}
    assert len(kills) == 2  # it was asked once more, and then no further
