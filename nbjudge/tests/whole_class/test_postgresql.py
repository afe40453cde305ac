"""A gradebook in PostgreSQL holds what one in SQLite holds, and nbgrader's own commands work with it."""

import csv
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from nbgrader.api import Gradebook
from small_class import DUE, in_gradebook, nbjudge, notebooks
from tiny_course import FOLDER, NAME, nbgrader, succeed

from nbjudge.course.folders import read_folders
from nbjudge.course.gradebook import not_generated_reason, rename_student

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(900)]


psycopg = pytest.importorskip("psycopg")

PACKAGE = Path("/usr/lib/postgresql")  # Debian's; each version has a folder below it
DATABASE = "postgres"
OWNER = "teacher"
PATIENCE = 120  # seconds


def programs() -> Path:
    """The folder of the newest version's programs; skips where there is none, but not in CI."""
    found = sorted(PACKAGE.glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if not found:
        assert not os.environ.get("CI"), f"There is no PostgreSQL under {PACKAGE}."
        pytest.skip(f"there is no PostgreSQL under {PACKAGE}: install the package postgresql")
    return found[-1].parent


@contextmanager
def postgresql() -> Iterator[str]:
    """The URL of an empty database on a running server."""
    with TemporaryDirectory(prefix="postgresql-") as name:
        folder, as_its_user = Path(name), dict[str, Any]()
        if os.geteuid() == 0:  # as which it does not run
            as_its_user = {"user": "postgres", "group": "postgres", "extra_groups": []}
            shutil.chown(folder, "postgres", "postgres")
        data, options = folder / "data", {"cwd": folder} | as_its_user
        quick = ("--auth=trust", "--locale=C.UTF-8", "--no-sync")
        initdb = [programs() / "initdb", "-D", data, "-U", OWNER, *quick]
        subprocess.run(initdb, check=True, capture_output=True, **options)
        settings = ["-c", "listen_addresses=", "-c", "fsync=off"]
        with (folder / "words").open("wb") as words:
            command = [programs() / "postgres", "-D", data, "-k", folder, *settings]
            server = subprocess.Popen(command, stderr=words, **options)
        try:
            _wait_until_it_answers(folder, server)
            yield f"postgresql+psycopg://{OWNER}@/{DATABASE}?host={folder}"
        finally:
            server.send_signal(signal.SIGINT)  # it closes connections and ends
            server.wait(PATIENCE)


def _wait_until_it_answers(folder: Path, server: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + PATIENCE
    while True:
        try:
            psycopg.connect(host=str(folder), user=OWNER, dbname=DATABASE).close()
            return
        except psycopg.OperationalError:
            log = (folder / "words").read_text(errors="replace")
            assert server.poll() is None and time.monotonic() < ends, log
            time.sleep(0.1)


@pytest.fixture
def url() -> Iterator[str]:
    programs()
    with postgresql() as address:
        yield address


def test_grades_and_commands_are_those_of_sqlite(copy_of_class, graded_one_by_one, url):
    root: Path = copy_of_class
    with (root / "nbgrader_config.py").open("a") as config:
        config.write(f"\nc.CourseDirectory.db_url = {url!r}\n")
    (root / "gradebook.db").unlink()
    assert not_generated_reason(read_folders(root), FOLDER)
    succeed(root, "generate_assignment", FOLDER, "--force")
    assert not not_generated_reason(read_folders(root), FOLDER)
    with Gradebook(url) as gradebook:
        gradebook.update_or_create_assignment(FOLDER, duedate=DUE)

    run = nbjudge(root, "grade", FOLDER, "--workers", "2")
    assert run.returncode == 0, run.stdout
    expected = in_gradebook(graded_one_by_one)
    flags = {cell[2] for about in expected.values() for cell in about.values() if isinstance(cell, tuple)}
    assert flags == {True, False}  # whether a person is needed
    assert [student for student, about in expected.items() if about["late penalty"]] == ["late"]
    assert in_gradebook(root, url) == expected
    assert notebooks(root / "autograded") == notebooks(graded_one_by_one / "autograded")

    second_run = nbgrader(root, "autograde", FOLDER, "--student", "ben", "--force")
    assert second_run.returncode == 0, second_run.stderr[-3000:]
    assert in_gradebook(root, url) == expected
    succeed(root, "generate_feedback", FOLDER, "--student", "ben")
    assert (root / "feedback" / "ben" / FOLDER / f"{NAME}.html").is_file()
    succeed(root, "export")
    with (root / "grades.csv").open(newline="") as grades:
        scores = {row["student_id"]: float(row["score"]) for row in csv.DictReader(grades)}
    late_students = {student for student, about in expected.items() if about["late penalty"]}
    assert scores == {
        student: 0 if student in late_students else about["score"] for student, about in expected.items()
    }
    assert not (root / "gradebook.db").exists()
    rename_student(url, "late", "later")
    rename_student(url, "late", "later")  # as after a power failure
    renamed = {"later" if student == "late" else student: about for student, about in expected.items()}
    assert in_gradebook(root, url) == renamed
