"""Honest work on nbgrader's own fixtures gets from us, cell by cell, what stock nbgrader gives it.

Every difference is listed with its reason and is there. nbgrader's own cheat attempts gain nothing.
"""

from __future__ import annotations

import csv
from typing import NamedTuple

import pytest
from peer_courses import EXAMPLE_ARCHIVE, GUIDE, OLD_FORMATS, works

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]  # the first test grades everything

# Points, and how many cells wait for someone to mark them; None where there is no grade at all.
Points = tuple[float, int] | None


class Difference(NamedTuple):
    stock: Points
    ours: Points
    reason: str


GIVES_UP = (
    "Stock nbgrader gives up on this student and ends with an error. We read a submission's text only, so a "
    "changed cell type means nothing: the cell is the lesson's own, and what is not answered is 0."
)
UNMARKED = (
    "Stock nbgrader finds none of its cells and leaves every score open. We find the cells by what they "
    "define, so the work gets its marks."
)
NO_FILE = (
    "Stock nbgrader writes 0 for what was not handed in, written answers too. We grade an empty notebook "
    "that says so; its written answers wait for a person, like every blank one."
)
NO_GRADE = (
    "The test's own result is no grade: nbgrader stops at it and leaves the student without one. With us it "
    "is 0 with a reason."
)
TOO_MANY = (
    "The test's own result is above its cell's points: nbgrader stops at it and leaves the student without a "
    "grade. With us it counts as all of them, which the highest number that is allowed would give as well."
)

DIFFERENCES = {
    "variables answer-cell-type-changed p1": Difference((0, 4), (1, 0), GIVES_UP),
    "variables grade-cell-type-changed p1": Difference((0, 4), (1, 0), GIVES_UP),
    "squares no-metadata p1": Difference((0, 6), (3, 2), UNMARKED),
    "squares no-metadata-autotest p1": Difference((0, 6), (3, 2), UNMARKED),
    "old_formats v0-invalid p1": Difference(
        (0, 6),
        (3, 2),
        "`nbgrader update` refuses a cell without a name, so stock nbgrader cannot grade the notebook. We "
        "need no update, and miss that one cell only.",
    ),
    "old_formats too-new p1": Difference(
        (0, 6),
        (0, 2),
        "Stock nbgrader stops the whole class at it. It is another notebook under this name: 0, with that "
        "reason.",
    ),
    "missing without-p2 p2": Difference((0, 0), (0, 2), NO_FILE),
    "missing empty-folder p1": Difference(None, (0, 2), NO_FILE),
    "missing empty-folder p2": Difference(None, (0, 2), NO_FILE),
    "ps1_archive hacker-again problem2": Difference((0, 0), (0, 2), NO_FILE),
    "ps1_archive hacker problem1": Difference(
        (0, 0),
        (3, 2),
        "It was handed in as `myproblem1.ipynb`, which stock nbgrader passes over. We grade it and say so.",
    ),
    "ps1_autotest hacker problem1": Difference(
        (3, 4),
        (3, 3),
        "The submission is older than the lesson's last test, which is worth 0 points. Stock nbgrader "
        "leaves it open; we run the lesson's own tests, so it is judged.",
    ),
    "results empty p1": Difference((0, 1), (0, 0), NO_GRADE),
    "results too-many p1": Difference((0, 1), (2, 0), TOO_MANY),
}

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
# The fixture, the cell it wants points for without the work, and someone who earned them.
CHEATS = {
    "hides every error": ("variables cheat-attempt p1", "bar", "variables changed p1"),
    "breaks the display of errors": (
        "variables cheat-attempt-alternative p1",
        "bar",
        "variables changed p1",
    ),
    "comments the test out": ("variables grade-cell-changed p1", "bar", "variables changed p1"),
    "comments half of the tests out": ("ps1 bitdiddle problem1", "correct_squares", "ps1 hacker problem1"),
    "makes the test prose": ("variables grade-cell-type-changed p1", "bar", "variables changed p1"),
    "passes the visible tests only": ("autotests wrong hidden", "test_hidden", "autotests changed hidden"),
    "knows the visible answers by heart": ("hidden released p1", "correct_squares", "squares solved p1"),
}
LOOPS = ("running student loop", "running student loop_with_output")


@pytest.mark.parametrize("work", works())
def test_scores_are_stock_nbgraders(graders, points, work):
    """All scores and comments are the same, or the difference is listed and takes no point away."""
    if work not in DIFFERENCES:
        assert graders["ours"].scores[work] == graders["stock"].scores[work]
        return
    listed = DIFFERENCES[work]
    assert (points("stock", work), points("ours", work)) == (listed.stock, listed.ours), listed.reason
    assert listed.ours[0] >= (listed.stock or (0, 0))[0]


@pytest.mark.parametrize("work", NBGRADERS_WORD)
@pytest.mark.parametrize("grader", ["stock", "ours"])
def test_scores_are_those_of_nbgraders_tests(points, grader, work):
    score, by_hand = points(grader, work)
    assert (score, by_hand > 0) == NBGRADERS_WORD[work]


@pytest.mark.parametrize("grader", ["stock", "ours"])
def test_example_class_scores_as_documented(graders, points, grader):
    """The example class of nbgrader's documentation gets the scores that it prints; its picture is copied."""
    with (GUIDE / "grades.csv").open(newline="") as printed:
        expected = {row["student_id"]: float(row["raw_score"]) for row in csv.DictReader(printed)}
    given = {
        student: sum(points(grader, f"ps1 {student} {name}")[0] for name in ("problem1", "problem2"))
        for student in expected
    }
    assert given == expected and len(set(given.values())) == len(given)
    assert (graders[grader].root / "autograded/hacker/ps1/jupyter.png").is_file()


@pytest.mark.parametrize("grader", ["stock", "ours"])
def test_late_submission_costs_what_the_course_says(graders, grader):
    late_work = graders[grader].scores["results some p1"]
    in_time = graders[grader].scores["squares solved p1"]
    assert (late_work["penalty"], in_time["penalty"] or 0) == (1.5, 0)


def test_odd_submissions_are_graded(graders, points):
    """Newer and renamed files, harmless warnings, a missing notebook, and one that needs an update."""
    ours, stock = graders["ours"], graders["stock"]
    # The cells of the newer submission are those of the release, which nbgrader remarks on.
    assert ours.scores["again student p1"]["comments"]["squares"] == "No response."
    assert points("ours", "results warning p1") == (2, 0)
    first = ours.notebook("ps1_archive hacker problem1")["cells"][0]
    assert "'myproblem1.ipynb'" in "".join(first["source"])
    grades = ours.scores["missing without-p2 p2"]["grades"]
    assert {grade[0] for grade in grades.values()} == {0, None}
    assert ours.scores["missing without-p2 p1"]["grades"]["bar"][0] == 1
    old = [f"{course.name} {name}" for course in (OLD_FORMATS, EXAMPLE_ARCHIVE) for name in course.students]
    assert (stock.refused, ours.refused) == (old, [])


def test_files_that_a_notebook_writes_are_gone(graders):
    """Stock nbgrader keeps them beside the grade."""
    written = {name: len([*graded.root.rglob("side-effect.txt")]) for name, graded in graders.items()}
    assert written == {"stock": 1, "ours": 0}


@pytest.mark.parametrize("cheat", CHEATS)
def test_cheat_gains_nothing(graders, cheat):
    work, cell, honest = CHEATS[cheat]
    scores = graders["ours"].scores
    assert scores[work]["grades"][cell][0] == 0
    assert scores[honest]["grades"][cell][0] == scores[honest]["grades"][cell][1]


@pytest.mark.parametrize("attempt", ["cheat-attempt", "cheat-attempt-alternative"])
def test_hidden_error_is_shown_again(graders, points, attempt):
    """It gets no more than an untouched notebook."""
    assert points("ours", f"variables {attempt} p1")[0] == points("ours", "variables unchanged p1")[0]
    notebook = graders["ours"].notebook(f"variables {attempt} p1")
    (test,) = (c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == "bar")
    assert [output["output_type"] for output in test["outputs"]] == ["error"]


@pytest.mark.parametrize("work", LOOPS)
def test_endless_loop_ends_with_the_reason(graders, work):
    (cell,) = graders["ours"].notebook(work)["cells"]
    assert {output["output_type"] for output in cell["outputs"]} == {"error"}
    assert {output["ename"] for output in cell["outputs"]} <= {"KeyboardInterrupt", "TimeoutError"}
