"""The sandbox holds under an ordinary account: anyone who grades need not be root."""

from __future__ import annotations

import pytest
from machine import REFUSED, Machine
from tiny_course import FOLDER, GradedClass, answered, hand_in, make_course

pytestmark = [pytest.mark.integration, pytest.mark.skipif(bool(REFUSED), reason=REFUSED)]
GRADER = "grader"


@pytest.mark.timeout(240)
def test_an_ordinary_account_grades_a_class(tmp_path):
    machine = Machine(tmp_path, GRADER)
    course = machine.home(GRADER) / "course"
    make_course(course)
    hand_in(course, "ada", answered())
    machine.give(GRADER, machine.home(GRADER))
    run = machine.typed(GRADER, "sh", "-c", f"cd course && python -m nbgrader autograde {FOLDER}")
    assert run.returncode == 0, run.stderr[-3000:]
    assert sum(GradedClass(course).points("ada").values()) == 5
