"""A class on a cluster: workers without the course's disk, that die, join and are refused."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from small_class import in_gradebook, notebooks
from tiny_course import FOLDER, after, answered, hand_in

from nbjudge.batch.cluster import ClusterWorkers
from nbjudge.batch.worker_process import pack_assignment
from nbjudge.course.course import open_course
from nbjudge.errors import CourseError

pytestmark = [pytest.mark.integration, pytest.mark.fault, pytest.mark.timeout(900)]


PROGRAMS = str(Path(sys.executable).parent)
PATIENCE = 240  # seconds, for a machine under load
# Where the course is for everybody else, there is an empty disk, with the worker's home on it.
ON_A_DISK_OF_ITS_OWN = (
    'mount -t tmpfs none "$0" && mkdir "$0/home" && cd "$0/home" && PATH="$FOUND_ON" exec "$@"'
)


def wait_until(happened: Callable[[], object], what: str) -> None:
    """Wait for something to happen; that it takes long is no failure."""
    ends = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < ends, f"{what}: not after {PATIENCE} s"
        time.sleep(0.3)  # what is waited for is often looked for among all processes, which takes a while


@dataclass
class Program:
    """Something that runs, with its output in a file."""

    process: subprocess.Popen[bytes]
    words: Path

    @property
    def output(self) -> str:
        return self.words.read_text(errors="replace")

    def tell_all(self, number: int) -> None:
        """Signal it and all that it started in its group: the whole machine, so to speak."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def finish(self) -> tuple[int, str]:
        return self.process.wait(PATIENCE), self.output


@dataclass
class Lab:
    """A scheduler, and the programs that were started beside it."""

    folder: Path
    scheduler: str
    programs: list[Program] = field(default_factory=list)

    def start(self, *command: str, cwd: Path | None = None, **environment: str) -> Program:
        words = self.folder / f"{time.monotonic_ns()}.txt"
        settings = {"PATH": f"{PROGRAMS}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
        with words.open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=os.environ | settings | environment,
                start_new_session=True,
            )
        self.programs.append(Program(process, words))
        return self.programs[-1]

    def start_worker(self, name: str, hidden: Path, threads: int = 1, path: str | None = None) -> Program:
        """A Dask worker that sees nothing of the folder `hidden`; on `path` its programs are found."""
        worker = (f"{PROGRAMS}/dask", "worker", self.scheduler, "--name", name, "--nthreads", str(threads))
        own = f"{hidden}/home"
        settings = {"HOME": own, "TMPDIR": own, "FOUND_ON": path or f"{PROGRAMS}:{os.environ['PATH']}"}
        shell = ("unshare", "--mount", "/bin/sh", "-c", ON_A_DISK_OF_ITS_OWN, str(hidden))
        return self.start(*shell, *worker, **settings)

    def grade(self, course: Path, *options: str) -> Program:
        command = (f"{PROGRAMS}/nbjudge", "grade", FOLDER, "--scheduler", self.scheduler, *options)
        return self.start(*command, cwd=course)

    def who_graded(self) -> Counter[str]:
        """Return how many notebooks each worker has graded."""
        record = self.folder / "record"
        return Counter(record.read_text().split() if record.exists() else [])


@contextmanager
def lab(folder: Path) -> Iterator[Lab]:
    """A running scheduler; all that runs beside it ends with it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    started = Lab(folder, f"tcp://127.0.0.1:{port}")
    command = (f"{PROGRAMS}/dask", "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    preload = ("--preload", str(Path(__file__).with_name("cluster_record.py")))
    try:
        started.start(*command, *preload, cwd=folder, WHO_GRADED=str(folder / "record"))
        yield started
    finally:
        for program in started.programs:
            program.tell_all(signal.SIGKILL)
            program.process.wait()


def skip_without_mounts() -> None:
    """Skip where no worker can have a disk of its own; in CI it must."""
    can = os.geteuid() == 0 and shutil.which("unshare") is not None
    if not can or subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        assert not os.environ.get("CI"), "a mount namespace cannot be made"
        pytest.skip("mount namespaces are root's to make, with `unshare`")


def sandboxes_below(folder: Path) -> list[psutil.Process]:
    """Sandboxes that print into a file below a folder."""
    found = []
    for process in psutil.process_iter(["name"]):
        with suppress(OSError):
            printed = os.readlink(f"/proc/{process.pid}/fd/2")
            if "bwrap" in (process.info["name"] or "") and printed.startswith(str(folder)):
                found.append(process)
    return found


def running(*command: str) -> list[psutil.Process]:
    found = psutil.process_iter(["cmdline"])
    return [process for process in found if process.info["cmdline"] == list(command)]


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
def test_work_ends_when_the_run_is_stopped(lab, copy_of_class):
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


def test_without_workers_nothing_is_graded(lab, copy_of_class):
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
