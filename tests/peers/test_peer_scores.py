"""Honest work on nbgrader's own fixtures gets from us, cell by cell, what stock nbgrader gives it."""

from __future__ import annotations

import csv

import pytest
from peer_courses import GUIDE, works
from peer_differences import DIFFERENCES

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]  # the first test grades everything

# What nbgrader's own tests say of the same work (test_nbgrader_autograde.py):
# points, and whether someone has to mark a cell by hand.
NBGRADERS_WORD = {
    "variables unchanged p1": (1, False),  # test_grade
    "variables changed p1": (2, True),
    "autotests unchanged simple": (0, False),  # test_grade_autotest
    "autotests changed simple": (1, False),
    "autotests unchanged hashed": (0, False),  # test_grade_hashed_autotest
    "autotests changed hashed": (1, False),
    "autotests unchanged multi": (0, False),  # test_grade_complex_autotest
    "autotests changed multi": (3, False),
    "autotests unchanged hidden": (0, False),  # test_hidden_tests_autotest
    "autotests changed hidden": (1, False),
    "autotests wrong hidden": (0, False),
    "hidden released p1": (1.5, False),  # test_hidden_tests_single_notebook
    "running student environment": (0, False),  # test_grade_with_validating_envvar
    "running student slow": (0, False),  # test_autograde_timeout
    "patient student slow": (1, False),
}


@pytest.mark.parametrize("work", [work for work in works() if work not in DIFFERENCES])
def test_each_cell_gets_the_points_and_the_comment_that_stock_nbgrader_gives(graders, work):
    assert graders["ours"].scores[work] == graders["stock"].scores[work]


@pytest.mark.parametrize("work", NBGRADERS_WORD)
@pytest.mark.parametrize("grader", ["stock", "ours"])
def test_both_give_what_nbgraders_own_tests_expect(points, grader, work):
    score, by_hand = points(grader, work)
    assert (score, by_hand > 0) == NBGRADERS_WORD[work]


@pytest.mark.parametrize("grader", ["stock", "ours"])
def test_the_documentations_example_class_gets_the_scores_that_the_documentation_prints(points, grader):
    with (GUIDE / "grades.csv").open(newline="") as printed:
        expected = {row["student_id"]: float(row["raw_score"]) for row in csv.DictReader(printed)}
    given = {
        student: sum(points(grader, f"ps1 {student} {name}")[0] for name in ("problem1", "problem2"))
        for student in expected
    }
    assert given == expected
    assert len(set(given.values())) == len(given)


def test_a_newer_submission_is_graded_in_the_place_of_an_empty_one(graders):
    # The cells of the second one are those of the release, which nbgrader remarks on.
    comments = graders["ours"].scores["again student p1"]["comments"]
    assert comments["squares"] == "No response."


@pytest.mark.parametrize("grader", ["stock", "ours"])
def test_a_late_submission_costs_what_the_course_says(graders, grader):
    late_work = graders[grader].scores["results some p1"]
    in_time = graders[grader].scores["squares solved p1"]
    assert (late_work["penalty"], in_time["penalty"] or 0) == (1.5, 0)


def test_a_courses_own_pattern_of_harmless_warnings_is_kept_to(points):
    assert points("ours", "results warning p1") == (2, 0)
