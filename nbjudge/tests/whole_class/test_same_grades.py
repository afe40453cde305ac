"""A class graded all at once is graded as nbgrader would have graded it, one by one."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console
from small_class import assert_same, nbjudge, recorded
from tiny_course import FOLDER

from nbjudge.batch.changed_submissions import make_plan
from nbjudge.batch.grade_command import Options, grade_plan
from nbjudge.course.folders import read_folders

pytestmark = pytest.mark.integration


@pytest.fixture
def one_by_one(graded_one_by_one):
    """What `nbgrader autograde` leaves of the class."""
    return recorded(graded_one_by_one)


def test_the_command_leaves_what_nbgrader_leaves(copy_of_class, one_by_one):
    run = nbjudge(copy_of_class, "grade", FOLDER, "--workers", "2")
    assert run.returncode == 0, run.stdout
    assert "11 graded" in run.stdout
    found = recorded(copy_of_class)
    assert len(found["grades"]) == 4 * 11
    assert {row[5] for row in found["grades"]} == {0, 1}  # some need a person
    assert sum(bool(row[2]) for row in found["submissions"]) == 1  # someone was late
    assert_same(found, one_by_one)


@pytest.mark.filterwarnings("ignore:Object of type:sqlalchemy.exc.SAWarning")  # nbgrader's own
def test_in_any_order_with_any_number_of_workers(copy_of_class, one_by_one):
    plan = make_plan(read_folders(copy_of_class), FOLDER)
    backwards = replace(plan, todo=dict(reversed(plan.todo.items())))
    results, printed = [], io.StringIO()
    grade_plan(backwards, Options(workers=1, timings=True), Console(file=printed, width=300), results.append)
    assert len(results) == 11
    assert not any(graded.problem for graded in results)
    assert [graded.student for graded in results if graded.reason] == ["no notebook", "cut off"]
    assert_same(recorded(copy_of_class), one_by_one)
    assert "Where the time of 9 notebooks went" in printed.getvalue()
    phases = "read the course .*, import nbgrader .*, wait until a worker has imported"
    assert re.search(rf"Start: .* until the first notebook went to a worker \({phases}", printed.getvalue())
