"""The sandbox itself breaks on the way: it is made again, and costs one submission at the most."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from grading_runs import finish, grades
from nbgrader.api import MissingEntry
from nbgrader.apps.api import NbGraderAPI
from tiny_course import FOLDER, FULL, NOTHING, GradedClass, answered, hand_in

from nbjudge.course.configuration import read_config
from nbjudge.errors import SandboxError
from nbjudge.kernel.client import KernelClient
from nbjudge.sandbox import fork_server_client as fork_server
from nbjudge.sandbox.fork_server_client import ForkServer

pytestmark = [
    pytest.mark.integration,
    pytest.mark.fault,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("default"),  # nbgrader's own
]


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


def kill_the_fork_server() -> int:
    process = fork_server._current[0]._process
    process.kill()
    process.wait()
    return process.pid


def test_a_fork_server_that_dies_is_replaced_and_costs_at_most_the_submission_it_served(grader, monkeypatch):
    execute, killed = KernelClient._execute, []

    def execute_and_kill(self: KernelClient, cell: Any, timeout: float) -> Any:
        if cell.id == "row_sums" and not killed:
            killed.append(kill_the_fork_server())
        return execute(self, cell, timeout)

    assert grader.points("ada") == FULL
    monkeypatch.setattr(KernelClient, "_execute", execute_and_kill)
    points = grader.points("ben")
    assert killed and points | {"row_sums": 2} == FULL
    assert fork_server._current[0]._process.pid not in killed
    assert grader.points("cyd") == FULL


def test_a_fork_server_that_dies_when_it_is_asked_for_a_kernel_costs_no_one_anything(grader, monkeypatch):
    fork, killed = ForkServer.fork, []

    def die_then_fork(self: ForkServer, *arguments: Any, **options: Any) -> Any:
        if not killed:
            killed.append(kill_the_fork_server())
        return fork(self, *arguments, **options)

    monkeypatch.setattr(ForkServer, "fork", die_then_fork)
    assert grader.points("ada") == FULL
    assert killed


def test_where_no_kernel_starts_at_all_the_class_stops_with_one_sentence_and_no_one_gets_0(
    grader, monkeypatch
):
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


def test_a_submission_with_whose_files_no_kernel_starts_is_0_with_the_reason_and_the_class_goes_on(
    grader, monkeypatch, caplog
):
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


def test_files_for_which_a_kernel_has_no_space_are_left_out(course):
    folder = hand_in(course, "ada", answered())
    for number in range(3):
        (folder / f"{number}.bin").write_bytes(os.urandom(2**20))
    status, output = finish(course, "--RunAndJudge.disk_mebibytes=2")
    assert status == 0, output
    assert "Traceback" not in output
    assert grades(course, ["ada"]) == {"ada": FULL}
