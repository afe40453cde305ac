"""Where no sandbox can be made nothing is graded, unless that was asked for: then it is said, loudly."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from grading_runs import finish, grades
from tiny_course import FULL, NOTHING, answered, hand_in

pytestmark = [pytest.mark.integration, pytest.mark.fault, pytest.mark.timeout(600)]
LOUD = "GRADING WITHOUT THE SANDBOX: student code runs as you"
OPTION = "--RunAndJudge.sandbox=False"
NO_BWRAP = {"PATH": str(Path(sys.executable).parent)}
PROGRAMS_OF_THE_SYSTEM = "/usr/bin:/bin"
NOT_ALLOWED = """#!/bin/sh
echo "bwrap: No permissions to create new namespace, likely because the kernel does not allow it." >&2
exit 1
"""


def refused(course: Path, environment: dict[str, str]) -> str:
    """What the command says when it grades no one."""
    hand_in(course, "ada", answered())
    status, output = finish(course, environment=environment)
    assert status != 0
    assert "Traceback" not in output, output
    assert not list((course / "autograded").rglob("*.ipynb"))
    (sentence,) = [line for line in output.splitlines() if line.startswith("Nothing was graded")]
    assert OPTION in sentence
    return sentence


def test_without_bubblewrap_nothing_is_graded_and_the_package_is_named(course):
    sentence = refused(course, NO_BWRAP)
    assert "apt-get install bubblewrap" in sentence


def test_where_bubblewrap_may_not_start_nothing_is_graded_and_the_permission_is_named(course):
    fake = course.parent / "programs" / "bwrap"
    fake.parent.mkdir()
    fake.write_text(NOT_ALLOWED)
    fake.chmod(0o755)
    sentence = refused(course, {"PATH": f"{fake.parent}:{NO_BWRAP['PATH']}:{PROGRAMS_OF_THE_SYSTEM}"})
    assert "No permissions to create new namespace" in sentence
    assert "user.max_user_namespaces" in sentence


@pytest.mark.parametrize("said_by", ["option", "setting"])
def test_without_the_sandbox_the_grades_are_the_same_and_it_is_said_loudly(course, said_by):
    hand_in(course, "ada", answered())
    hand_in(course, "ben", answered(double="def double(x):\n    return x", biggest="def biggest(x): 1 / 0"))
    if said_by == "setting":
        with (course / "nbgrader_config.py").open("a") as config:
            config.write("\nc.RunAndJudge.sandbox = False\n")
    status, output = finish(course, *([OPTION] if said_by == "option" else []), environment=NO_BWRAP)
    assert status == 0, output
    assert f"WARNING] {LOUD}" in output
    assert grades(course, ["ada", "ben"]) == {"ada": FULL, "ben": NOTHING | {"row_sums": 2}}
