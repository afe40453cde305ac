"""Runs of nbgrader's own command that something happens to, and what they left behind."""

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from multiprocessing.process import BaseProcess
from pathlib import Path

import psutil
from nbgrader_command import PROCESSES
from tiny_course import FOLDER, GradedClass

AUTOGRADE = (sys.executable, "-m", "nbgrader", "autograde", FOLDER)


def start(root: Path, *options: str, environment: dict[str, str] | None = None) -> BaseProcess:
    """Begin `nbgrader autograde` in a course; its words go to the file `words` beside the course."""
    run = PROCESSES.Process(target=_autograde, args=(root, options, environment or {}), daemon=True)
    run.start()
    return run


def finish(root: Path, *options: str, environment: dict[str, str] | None = None) -> tuple[int, str]:
    """Run the command to its end: its exit status and its words."""
    run = start(root, *options, environment=environment)
    run.join()
    return run.exitcode or 0, words(root)


def words(root: Path) -> str:
    return (root.parent / "words").read_text()


def finish_where(root: Path, bwrap_options: list[str], script: str = 'exec "$@"') -> tuple[int, str]:
    """Run the command where bubblewrap has changed the disks with `bwrap_options`, from a shell script."""
    bwrap = ["bwrap", "--dev-bind", "/", "/", *bwrap_options, "--chdir", str(root), "--"]
    run = subprocess.run(
        [*bwrap, "sh", "-c", script, "sh", *AUTOGRADE], capture_output=True, text=True, env=_environment(root)
    )
    return run.returncode, run.stdout + run.stderr


def _autograde(root: Path, options: tuple[str, ...], environment: dict[str, str]) -> None:
    from nbgrader.apps.nbgraderapp import main

    with open(root.parent / "words", "w", buffering=1) as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        os.environ.update(_environment(root) | environment)
        tempfile.tempdir = None  # to be read from the environment again
        os.chdir(root)
        sys.argv = ["nbgrader", "autograde", FOLDER, *options]
        main()


def _environment(root: Path) -> dict[str, str]:
    """Whatever the grader keeps in temporary folders is beside the course, to be found again."""
    folder = root.parent / "tmp"
    folder.mkdir(exist_ok=True)
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"TMPDIR": str(folder), "PATH": programs}


def sandboxes_of(root: Path) -> list[str]:
    """Sandboxes that serve this course: they print into a file in its temporary folder."""
    found = []
    for process in psutil.process_iter(["name"]):
        with suppress(OSError):
            printed = os.readlink(f"/proc/{process.pid}/fd/2")
            if "bwrap" in (process.info["name"] or "") and printed.startswith(f"{root.parent}/"):
                found.append(f"{process.pid} {process.info['name']}")
    return found


def soon_none_is_left(root: Path, patience: float = 30) -> bool:
    """Return whether the sandboxes of this course end by themselves."""
    ends = time.monotonic() + patience
    while sandboxes_of(root) and time.monotonic() < ends:
        time.sleep(0.3)
    return not sandboxes_of(root)


def database_is_sound(root: Path) -> bool:
    with sqlite3.connect(root / "gradebook.db") as connection:
        return connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def times_graded(root: Path) -> dict[tuple[str, str], int]:
    """Return how many grades the gradebook holds for each student and exercise."""
    question = """
        SELECT submitted_assignment.student_id, base_cell.name, count(grade.auto_score) FROM grade
        JOIN base_cell ON base_cell.id = grade.cell_id
        JOIN submitted_notebook ON submitted_notebook.id = grade.notebook_id
        JOIN submitted_assignment ON submitted_assignment.id = submitted_notebook.assignment_id
        GROUP BY submitted_assignment.student_id, base_cell.name
    """
    with sqlite3.connect(root / "gradebook.db") as connection:
        rows = connection.execute(question).fetchall()
    return {(student, cell.removeprefix("test_")): count for student, cell, count in rows}


def grades(root: Path, students: list[str] | dict[str, object]) -> dict[str, dict[str, float]]:
    """Points by student and exercise in the gradebook; the graded notebooks must hold the same."""
    graded = GradedClass(root)
    found = {student: graded.points(student) for student in students}
    for student, points in found.items():
        for exercise, number in points.items():
            assert graded.verdict(student, exercise)["points"] == number, (student, exercise)
    return found
