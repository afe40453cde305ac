"""Courses with the traits of public ones get from us, cell by cell, what stock nbgrader gives, or better."""

from __future__ import annotations

import pytest
from class_of_six import is_answer
from graded import DELETED, compare
from run_graders import LOG
from trait_courses import TRAITS

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]  # the first test grades everything

COURSES = [assignment.name for assignment in TRAITS]
WORKS = [
    f"{assignment.name} {student} {name}"
    for assignment in TRAITS
    for student in assignment.students
    for name in assignment.source
]


@pytest.mark.parametrize("work", WORKS)
def test_each_cell_gets_what_stock_nbgrader_gives_or_better_for_a_listed_reason(trait_graders, work):
    compared = [each for each in compare(**trait_graders) if each.work == work]
    assert compared
    assert not [each for each in compared if each.verdict == "WORSE"]
    better = {each.reason for each in compared if each.verdict == "better"}
    assert better <= ({DELETED} if "deleted-test" in work else set())


@pytest.mark.parametrize("work", [work for work in WORKS if "deleted-test" not in work])
def test_comments_and_penalties_are_those_of_stock_nbgrader(trait_graders, work):
    assert trait_graders["ours"].scores[work] == trait_graders["stock"].scores[work]


@pytest.mark.parametrize("grader", ["stock", "ours"])
def test_no_one_is_left_without_a_grade(trait_graders, grader):
    assert set(trait_graders[grader].scores) == set(WORKS)
    assert not trait_graders[grader].report["stopped"] + trait_graders[grader].report["not released"]


def test_a_failing_demonstration_of_the_courses_own_is_one_warning_for_the_class(trait_graders):
    log = (trait_graders["ours"].root / LOG).read_text()
    failure = '(“periods = int(input("How many periods? "))”) stops: input() cannot be answered while grading'
    assert log.count("its tests pass all the same") == log.count(failure) == 1


@pytest.mark.parametrize("course", COURSES)
@pytest.mark.parametrize("student", ["solution", "noisy", "deleted-test"])
def test_the_solution_has_all_automatic_points_beside_own_errors_and_without_a_test_cell(
    trait_graders, course, student
):
    grades = _automatic_grades(trait_graders["ours"], course, student)
    assert all(score == max_score for score, max_score in grades)


@pytest.mark.parametrize("course", COURSES)
@pytest.mark.parametrize("student", ["untouched", "half-done", "syntax-error"])
def test_work_that_is_not_done_has_fewer_points(trait_graders, course, student):
    grades = _automatic_grades(trait_graders["ours"], course, student)
    assert sum(score for score, _ in grades) < sum(max_score for _, max_score in grades)


def test_the_untouched_notebook_has_no_points(trait_graders):
    for course in COURSES:
        assert not any(score for score, _ in _automatic_grades(trait_graders["ours"], course, "untouched"))


def test_the_courses_are_of_the_format_of_public_ones():
    notebooks = [notebook for assignment in TRAITS for notebook in assignment.source.values()]
    assert {notebook.nbformat_minor for notebook in notebooks} == {2}
    assert not [cell for notebook in notebooks for cell in notebook.cells if "id" in cell]
    assert all(any(map(is_answer, notebook.cells)) for notebook in notebooks)


def _automatic_grades(graded, course, student):
    works = [work for work in graded.scores.values() if work["assignment"] == course]
    grades = [work["grades"].values() for work in works if work["student"].endswith(student)]
    assert grades
    return [(score, max_score) for each in grades for score, max_score, waits in each if not waits]
