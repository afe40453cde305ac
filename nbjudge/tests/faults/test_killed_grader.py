"""The grader is killed at any moment: the next run finishes the class, as if nothing had happened."""

from __future__ import annotations

import os
import random
import shutil
import time

import pytest
from grading_runs import (
    database_is_sound,
    finish,
    grades,
    sandboxes_of,
    soon_none_is_left,
    start,
    times_graded,
    words,
)
from tiny_course import FOLDER, FULL, NOTHING, answered, hand_in, nbgrader

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.fault, pytest.mark.timeout(1200)]
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


def test_a_grader_killed_time_and_again_leaves_no_grade_out_and_none_wrong(course):
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
    assert soon_none_is_left(course), sandboxes_of(course)

    last = nbgrader(course, "autograde", FOLDER)
    assert last.returncode == 0, last.stderr[-3000:]
    assert grades(course, CLASS) == EXPECTED
    assert times_graded(course) == {(student, exercise): 1 for student in CLASS for exercise in FULL}
    assert database_is_sound(course)


def test_submissions_that_were_left_half_graded_are_graded_and_no_others(course):
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
