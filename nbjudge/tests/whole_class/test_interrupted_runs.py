"""Runs that are stopped, killed, or lose a worker: nothing is lost, and the next run goes on."""

import json
import os
import signal
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

import nbformat
import psutil
import pytest
from small_class import nbjudge
from tiny_course import FOLDER, FULL, NOTHING, GradedClass, answered, hand_in

from nbjudge.course.student_change import exclusive_run
from nbjudge.errors import CourseError
from nbjudge.record.graded_cell import Status
from nbjudge.record.graded_notebook import read_record

pytestmark = [pytest.mark.integration, pytest.mark.fault, pytest.mark.timeout(600)]
CLASS = {f"student {number}": (answered(), FULL) for number in range(5)}
CLASS["wrong"] = (answered(double="def double(x): x", row_sums="def row_sums(x): x", biggest=""), NOTHING)
EXPECTED = {student: points for student, (_, points) in CLASS.items()}


@pytest.fixture
def course(copy_of_class: Path) -> Path:
    """The course, handed in by a class that can only be graded in one way."""
    for old in (copy_of_class / "submitted").iterdir():
        os.rename(old, copy_of_class.parent / old.name)
    for student, (work, _) in CLASS.items():
        hand_in(copy_of_class, student, work)
    return copy_of_class


def graded_files(course: Path) -> dict[Path, int]:
    """When each graded notebook was written, of those that are done."""
    done = {}
    for file in sorted((course / "autograded").glob("*/*/*.ipynb")):
        # A run that begins takes away what the last one left unfinished; what is being written is no JSON.
        with suppress(FileNotFoundError, ValueError):
            if read_record(nbformat.from_dict(json.loads(file.read_text()))).status is Status.COMPLETED:
                done[file] = file.stat().st_mtime_ns
    return done


def begun_run(course: Path):
    """A run with two workers that has just graded a submission more."""
    before, run = len(graded_files(course)), nbjudge(course, "grade", FOLDER, "--workers", "2", wait=False)
    while run.poll() is None and len(graded_files(course)) == before:
        time.sleep(0.05)
    return run


def points(course: Path) -> dict[str, dict[str, float]]:
    with sqlite3.connect(course / "gradebook.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    found = {student: GradedClass(course).points(student) for student in CLASS}
    return {student: {name: of[name] for name in FULL} for student, of in found.items()}  # no written answers


def a_worker_of(run) -> psutil.Process:
    """A child of multiprocessing's fork server, which is a child of the run, is one."""
    while run.poll() is None:
        with suppress(psutil.NoSuchProcess):  # one that has just ended
            for process in psutil.Process(run.pid).children():
                if "multiprocessing.forkserver" in " ".join(process.cmdline()):
                    for worker in process.children():
                        return worker
        time.sleep(0.05)
    raise AssertionError("the run was over before it began")


def test_ctrl_c_stops_cleanly_and_the_next_run_goes_on(course):
    run = begun_run(course)
    family = psutil.Process(run.pid).children(recursive=True)
    run.send_signal(signal.SIGINT)
    output, _ = run.communicate(timeout=120)
    assert run.returncode == 130, output
    assert "Stopped" in output
    assert "Traceback" not in output
    assert not psutil.wait_procs(family, timeout=30)[1]
    done = graded_files(course)
    # nbgrader takes back what it had begun.
    assert len(list((course / "autograded").glob("*/*/*.ipynb"))) == len(done) >= 1

    second_run = nbjudge(course, "grade", FOLDER, "--workers", "1")
    assert second_run.returncode == 0, second_run.stdout
    assert f"{len(CLASS) - len(done)} graded" in second_run.stdout
    assert f"{len(done)} unchanged" in second_run.stdout
    assert done.items() <= graded_files(course).items()
    assert points(course) == EXPECTED


@pytest.mark.long
def test_killed_coordinator_takes_its_workers_along(course):
    for _ in range(2):
        run = begun_run(course)
        family = psutil.Process(run.pid).children(recursive=True)
        run.kill()
        run.communicate()
        assert not psutil.wait_procs(family, timeout=30)[1]
    last = nbjudge(course, "grade", FOLDER, "--workers", "1")
    assert last.returncode == 0, last.stdout
    assert points(course) == EXPECTED


def test_a_worker_that_is_killed_costs_no_one_anything(course):
    run = begun_run(course)
    a_worker_of(run).kill()
    output, _ = run.communicate(timeout=300)
    assert run.returncode == 0, output
    assert points(course) == EXPECTED


def test_two_runs_at_a_time_are_one_too_many(course):
    with exclusive_run(course):
        run = nbjudge(course, "grade", FOLDER)
    assert run.returncode == 1
    assert f"grading this class already (process {os.getpid()})" in " ".join(run.stdout.split())
    with pytest.raises(CourseError, match="cannot be written to"), exclusive_run(course / "nowhere"):
        pass
