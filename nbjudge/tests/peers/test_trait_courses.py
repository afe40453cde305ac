"""Courses with the traits of public ones get from us, cell by cell, what stock nbgrader gives, or better."""

from __future__ import annotations

import sys

import nbformat
import pytest
import real_courses
from compare_graders import DELETED, LOG, compare
from trait_courses import TRAITS

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]  # the first test grades everything

COURSES = [assignment.name for assignment in TRAITS]
WORKS = [
    f"{assignment.name} {student} {name}"
    for assignment in TRAITS
    for student in assignment.students
    for name in assignment.source
]


def test_all_are_graded_and_a_warning_is_said_once(trait_graders):
    """A given cell that fails is one warning for the class."""
    for graded in trait_graders.values():
        assert set(graded.scores) == set(WORKS)
        assert not graded.report["stopped"] + graded.report["not released"]
    log = (trait_graders["ours"].root / LOG).read_text()
    assert log.count("its tests pass all the same") == 1


@pytest.mark.parametrize("work", WORKS)
def test_each_cell_gets_stock_nbgraders_points(trait_graders, work):
    """Comments and penalties too. Where a test cell was deleted we grade it, and stock nbgrader does not."""
    compared = [cell for cell in compare(**trait_graders) if cell.work == work]
    assert compared and not [cell for cell in compared if cell.verdict == "WORSE"]
    if "deleted-test" in work:
        assert {cell.reason for cell in compared if cell.verdict == "better"} <= {DELETED}
    else:
        assert trait_graders["ours"].scores[work] == trait_graders["stock"].scores[work]


@pytest.mark.parametrize("course", COURSES)
@pytest.mark.parametrize(
    ("student", "share"),
    [("solution", 1), ("noisy", 1), ("deleted-test", 1), ("half-done", 0.99), ("syntax-error", 0.99)]
    + [("untouched", 0)],
)
def test_points_follow_the_work_that_is_done(trait_graders, course, student, share):
    """Own errors and a missing test cell cost the solution nothing."""
    works = [work for work in trait_graders["ours"].scores.values() if work["assignment"] == course]
    grades = [
        grade for work in works if work["student"].endswith(student) for grade in work["grades"].values()
    ]
    score, best = (sum(grade[at] or 0 for grade in grades if not grade[2]) for at in (0, 1))
    assert score == best if share == 1 else score <= share * best


def test_real_courses_compares_any_course(tmp_path, monkeypatch, capsys):
    """`python tests/peers/real_courses.py FOLDER` grades an instructor's sources with both graders."""
    folder = tmp_path / "mine" / "source" / "ps1"
    folder.mkdir(parents=True)
    nbformat.write(TRAITS[0].source["statistics"], folder / "statistics.ipynb")
    (folder / "other.ipynb").write_text("no notebook")
    options = ["--students", "solution", "untouched", "--keep", str(tmp_path / "graded")]
    monkeypatch.setattr(sys, "argv", ["real_courses.py", str(tmp_path / "mine"), *options])
    assert real_courses.main() == 0
    output = capsys.readouterr().out
    assert "1 notebooks are left out" in output and "6 cells: 6 equal" in output
