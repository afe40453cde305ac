"""A class on a cluster: hosts of their own, without a common disk, that die, join and are refused."""

from __future__ import annotations

import signal
import socket
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cluster_grades import in_gradebook
from cluster_lab import (
    PORT,
    PROGRAMS,
    Host,
    Program,
    network,
    running,
    sandboxes_below,
    skip_without_hosts,
    wait_until,
)
from small_class import notebooks
from tiny_course import FOLDER, after, answered, hand_in

from attention_lab.errors import CourseError
from nbjudge.batch.cluster import ClusterWorkers
from nbjudge.batch.worker_process import pack_assignment
from nbjudge.course.course import open_course

pytestmark = [pytest.mark.integration, pytest.mark.fault, pytest.mark.timeout(900)]
HERE = Path(__file__).parent


@dataclass
class Lab:
    """A teacher's host, the scheduler's, and two for workers."""

    hosts: dict[str, Host]
    scheduler: str
    record: Path

    def who_graded(self) -> Counter[str]:
        """How many notebooks each worker has graded."""
        return Counter(self.record.read_text().split() if self.record.exists() else [])

    def grade(self, course: Path, *options: str) -> Program:
        command = (f"{PROGRAMS}/attention-lab", "grade", FOLDER, "--scheduler", self.scheduler, *options)
        return self.hosts["teacher"].start(*command, cwd=course)


@pytest.fixture(scope="module")
def lab_of_all_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    skip_without_hosts()
    folder = tmp_path_factory.mktemp("lab")
    with network(folder, "teacher", "scheduler", "first", "second") as hosts:
        address = hosts["scheduler"].address
        command = (f"{PROGRAMS}/dask", "scheduler", "--host", address, "--port", str(PORT), "--no-dashboard")
        preload = ("--preload", str(HERE / "cluster_record.py"))
        hosts["scheduler"].start(*command, *preload, cwd=folder, WHO_GRADED=str(folder / "record"))
        yield Lab(hosts, f"tcp://{address}:{PORT}", folder / "record")


@pytest.fixture
def lab(lab_of_all_tests: Lab) -> Iterator[Lab]:
    """The lab without workers; those that a test starts end with it."""
    scheduler = lab_of_all_tests.hosts["scheduler"].programs[0]
    yield lab_of_all_tests
    for host in lab_of_all_tests.hosts.values():
        for program in host.programs:
            if program is not scheduler:
                program.tell_all(signal.SIGKILL)
                program.process.wait()


@pytest.mark.long
def test_hosts_without_the_courses_disk_give_the_same_grades_while_one_dies_and_one_joins(
    lab, copy_of_class, graded_one_by_one
):
    course, before, hidden = copy_of_class, lab.who_graded(), copy_of_class.parent
    lab.hosts["scheduler"].start_worker("bare", lab.scheduler, hidden, path=PROGRAMS)
    first = lab.hosts["first"].start_worker("first", lab.scheduler, hidden)
    grading = lab.grade(course)
    wait_until(lambda: (lab.who_graded() - before)["first"], "the first worker has graded a student")
    first.tell_all(signal.SIGSTOP)  # it holds what it has in hand
    second = lab.hosts["second"].start_worker("second", lab.scheduler, hidden, threads=2)
    wait_until(lambda: (lab.who_graded() - before)["second"], "the second worker has graded a student")
    first.tell_all(signal.SIGKILL)

    status, output = grading.finish()
    assert status == 0, output
    assert output.count("The worker bare (tcp://") == 1
    assert "is refused. The sandbox needs bubblewrap, and there is no `bwrap` on this machine" in output
    graded = lab.who_graded() - before
    assert set(graded) == {"first", "second"}
    assert in_gradebook(course) == in_gradebook(graded_one_by_one)
    assert notebooks(course / "autograded") == notebooks(graded_one_by_one / "autograded")

    second.process.terminate()
    second.finish()
    wait_until(lambda: not sandboxes_below(hidden), "no sandbox is left of either worker")


@pytest.mark.long
def test_what_is_in_work_ends_when_the_run_is_interrupted_or_killed(lab, copy_of_class):
    course, forever = copy_of_class, ("sleep", str(uuid.uuid4().int))
    hand_in(course, "ada", after(answered(), "shown", f"import os; os.system({' '.join(forever)!r})"))
    with (course / "nbgrader_config.py").open("a") as config:
        config.write("\nc.RunAndJudge.cell_seconds = c.RunAndJudge.notebook_seconds = 100_000\n")
    lab.hosts["first"].start_worker("again", lab.scheduler, course.parent)
    for number, status in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
        grading = lab.grade(course, "--students", "ada")
        wait_until(lambda: running(*forever), "the endless cell runs")
        grading.process.send_signal(number)
        assert grading.finish()[0] == status, grading.output
        assert "Traceback" not in grading.output
        wait_until(lambda: not running(*forever), "the endless cell was ended")
    assert "Stopped: 1 to go" in lab.hosts["teacher"].programs[-2].output


def test_where_every_worker_is_refused_nothing_is_graded_and_the_reason_is_given(lab, copy_of_class):
    lab.hosts["scheduler"].start_worker("only", lab.scheduler, copy_of_class.parent, path=PROGRAMS)
    status, output = lab.grade(copy_of_class).finish()
    assert status == 1
    assert "Traceback" not in output
    assert (
        "The only worker of the scheduler cannot grade. only was refused: The sandbox needs bubblewrap"
        in output
    )
    assert not list((copy_of_class / "autograded").rglob("*.ipynb"))


def test_where_no_scheduler_answers_it_is_said_in_a_sentence(whole_class):
    archive = pack_assignment(open_course(whole_class), FOLDER)
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    for wrong in (address, "here", "xyz://somewhere:1"):
        with pytest.raises(CourseError, match="No Dask scheduler answers at") as error:
            ClusterWorkers(archive, wrong, True, print)
        assert "\n" not in str(error.value)
