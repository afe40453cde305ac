"""nbgrader's own cheat attempts gain nothing, and its endless loops end."""

from __future__ import annotations

import pytest

pytestmark = [
    pytest.mark.integration,
    pytest.mark.long,
    pytest.mark.timeout(900),
]  # the first test waits until both have graded everything

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


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_gets_nothing_for_the_cell_it_is_after(graders, cheat):
    work, cell, honest = CHEATS[cheat]
    scores = graders["ours"].scores
    assert scores[work]["grades"][cell][0] == 0
    assert scores[honest]["grades"][cell][0] == scores[honest]["grades"][cell][1]


@pytest.mark.parametrize("attempt", ["cheat-attempt", "cheat-attempt-alternative"])
def test_a_cheat_gets_no_more_than_an_untouched_notebook(points, attempt):
    assert points("ours", f"variables {attempt} p1")[0] == points("ours", "variables unchanged p1")[0]


@pytest.mark.parametrize("attempt", ["cheat-attempt", "cheat-attempt-alternative"])
def test_a_hidden_error_is_shown_again(graders, attempt):
    notebook = graders["ours"].notebook(f"variables {attempt} p1")
    (test,) = (c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == "bar")
    assert [output["output_type"] for output in test["outputs"]] == ["error"]


@pytest.mark.parametrize("work", LOOPS)
def test_an_endless_loop_ends_with_the_reason_in_its_cell(graders, work):
    (cell,) = graders["ours"].notebook(work)["cells"]
    assert {output["output_type"] for output in cell["outputs"]} == {"error"}
    assert {output["ename"] for output in cell["outputs"]} <= {"KeyboardInterrupt", "TimeoutError"}


@pytest.mark.parametrize("notebook", ["environment", "file", "side_effect", "slow", "zero_points"])
def test_the_other_notebooks_of_someone_with_loops_are_graded(graders, notebook):
    work = f"running student {notebook}"
    assert graders["ours"].scores[work] == graders["stock"].scores[work]
    assert graders["ours"].notebook(work)["cells"]
