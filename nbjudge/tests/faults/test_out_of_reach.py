"""What the grader may not read is no one's fault: no grade, a sentence, and the others are graded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from grading_runs import finish, finish_where, grades
from tiny_course import FOLDER, FULL, answered, hand_in

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.fault, pytest.mark.timeout(600)]
# An account that has no way around a file's mode, as root has.
UNPRIVILEGED = ["--unshare-user", "--uid", "2001", "--gid", "2001"]


@pytest.mark.parametrize("closed", [f"submitted/ben/{FOLDER}", f"submitted/ben/{FOLDER}/tiny.ipynb"])
def test_a_folder_or_file_that_may_not_be_read_is_said_and_costs_no_one_else(course: Path, closed):
    for student in ("ada", "ben", "cyd"):
        hand_in(course, student, answered())
    os.chmod(course / closed, 0)
    status, output = finish_where(course, UNPRIVILEGED)
    os.chmod(course / closed, 0o755)
    assert status == 1
    (sentence,) = [line for line in output.splitlines() if "make it readable" in line]
    assert f"submitted/ben/{FOLDER}" in sentence and "Permission denied" in sentence
    assert "Traceback" not in output
    assert grades(course, ["ada", "cyd"]) == {"ada": FULL, "cyd": FULL}
    assert not (course / "autograded/ben" / FOLDER / "tiny.ipynb").exists()
    assert finish(course)[0] == 0
    assert grades(course, ["ben"]) == {"ben": FULL}
