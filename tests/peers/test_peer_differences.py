"""Every difference between our grades and stock nbgrader's is listed, with its reason, and is there."""

from __future__ import annotations

import pytest
from peer_courses import EXAMPLE_ARCHIVE, OLD_FORMATS, works
from peer_differences import DIFFERENCES

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]  # the first test grades everything


@pytest.mark.parametrize("work", DIFFERENCES)
def test_a_listed_difference_is_as_listed(points, work):
    listed = DIFFERENCES[work]
    assert (points("stock", work), points("ours", work)) == (listed.stock, listed.ours), listed.reason


@pytest.mark.parametrize("work", DIFFERENCES)
def test_no_listed_difference_takes_a_point_away(points, work):
    stock, ours = points("stock", work) or (0, 0), points("ours", work)
    assert ours[0] >= stock[0]


def test_the_list_names_works_that_are_graded():
    assert set(DIFFERENCES) < set(works())


def test_old_notebooks_are_graded_as_handed_in_where_stock_nbgrader_asks_for_an_update(graders):
    old = [
        f"{course.name} {student}" for course in (OLD_FORMATS, EXAMPLE_ARCHIVE) for student in course.students
    ]
    assert graders["stock"].refused == old
    assert graders["ours"].refused == []


def test_a_renamed_notebook_is_graded_with_a_word_about_it(graders):
    first = graders["ours"].notebook("ps1_archive hacker problem1")["cells"][0]
    assert "'myproblem1.ipynb'" in "".join(first["source"])
    assert not (graders["stock"].root / "autograded/hacker/ps1_archive/problem1.ipynb").exists()


def test_a_neighbouring_notebook_of_the_assignment_is_not_taken_for_a_missing_one(graders):
    grades = graders["ours"].scores["missing without-p2 p2"]["grades"]
    assert {grade[0] for grade in grades.values()} == {0, None}
    assert graders["ours"].scores["missing without-p2 p1"]["grades"]["bar"][0] == 1


def test_what_a_notebook_writes_is_gone_where_stock_nbgrader_keeps_it_beside_the_grade(graders):
    written = {
        name: sorted(path.parts[-4] for path in graded.root.rglob("side-effect.txt"))
        for name, graded in graders.items()
    }
    assert written == {"stock": ["autograded"], "ours": []}


@pytest.mark.parametrize("grader", ["stock", "ours"])
def test_a_lessons_picture_is_beside_the_graded_notebook(graders, grader):
    assert (graders[grader].root / "autograded/hacker/ps1/jupyter.png").is_file()
