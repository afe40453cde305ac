"""A class on a cluster: workers without the course's disk, that die, join and are refused."""

from __future__ import annotations

import signal
import socket
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_lab import PROGRAMS, Lab, lab, running, sandboxes_below, skip_without_mounts, wait_until
from small_class import in_gradebook, notebooks
from tiny_course import FOLDER, after, answered, hand_in

from nbjudge.batch.cluster import ClusterWorkers
from nbjudge.batch.worker_process import pack_assignment
from nbjudge.course.course import open_course
from nbjudge.errors import CourseError

pytestmark = [pytest.mark.integration, pytest.mark.fault, pytest.mark.timeout(900)]


@pytest.fixture(name="lab")
def lab_without_workers(tmp_path: Path) -> Iterator[Lab]:
    skip_without_mounts()
    with lab(tmp_path) as started:
        yield started


@pytest.mark.long
def test_workers_die_and_join_and_grades_are_the_same(lab, copy_of_class, graded_one_by_one):
    """A worker that cannot grade is refused by name, and none needs the course's disk."""
    course, hidden = copy_of_class, copy_of_class.parent
    lab.start_worker("bare", hidden, path=PROGRAMS)
    first = lab.start_worker("first", hidden)
    grading = lab.grade(course)
    wait_until(lambda: lab.who_graded()["first"], "the first worker has graded a student")
    first.tell_all(signal.SIGSTOP)  # it holds what it has in hand
    second = lab.start_worker("second", hidden, threads=2)
    wait_until(lambda: lab.who_graded()["second"], "the second worker has graded a student")
    first.tell_all(signal.SIGKILL)

    status, output = grading.finish()
    assert status == 0, output
    assert output.count("The worker bare (tcp://") == 1
    assert "is refused. The sandbox needs bubblewrap, and there is no `bwrap` on this machine" in output
    assert set(lab.who_graded()) == {"first", "second"}
    assert in_gradebook(course) == in_gradebook(graded_one_by_one)
    assert notebooks(course / "autograded") == notebooks(graded_one_by_one / "autograded")

    second.process.terminate()
    second.finish()
    wait_until(lambda: not sandboxes_below(hidden), "no sandbox is left of either worker")


@pytest.mark.long
def test_work_ends_when_the_run_is_interrupted_or_killed(lab, copy_of_class):
    course, forever = copy_of_class, ("sleep", str(uuid.uuid4().int))
    hand_in(course, "ada", after(answered(), "shown", f"import os; os.system({' '.join(forever)!r})"))
    with (course / "nbgrader_config.py").open("a") as config:
        config.write("\nc.RunAndJudge.cell_seconds = c.RunAndJudge.notebook_seconds = 100_000\n")
    lab.start_worker("again", course.parent)
    for number, status in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
        grading = lab.grade(course, "--students", "ada")
        wait_until(lambda: running(*forever), "the endless cell runs")
        grading.process.send_signal(number)
        assert grading.finish()[0] == status, grading.output
        assert "Traceback" not in grading.output
        wait_until(lambda: not running(*forever), "the endless cell was ended")
    assert "Stopped: 1 to go" in lab.programs[-2].output


def test_nothing_is_graded_where_every_worker_is_refused(lab, copy_of_class):
    lab.start_worker("only", copy_of_class.parent, path=PROGRAMS)
    status, output = lab.grade(copy_of_class).finish()
    assert status == 1
    assert "Traceback" not in output
    assert (
        "The only worker of the scheduler cannot grade. only was refused: The sandbox needs bubblewrap"
        in output
    )
    assert not list((copy_of_class / "autograded").rglob("*.ipynb"))


def test_missing_scheduler_is_said_in_a_sentence(whole_class):
    archive = pack_assignment(open_course(whole_class), FOLDER)
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    for wrong in (address, "here", "xyz://somewhere:1"):
        with pytest.raises(CourseError, match="No Dask scheduler answers at") as error:
            ClusterWorkers(archive, wrong, True, print)
        assert "\n" not in str(error.value)
