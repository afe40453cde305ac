"""After a run that failed, `check` says that an earlier definition was checked."""

from __future__ import annotations

import pytest

from nbjudge.tutor.learner.checking import FailedRuns

FIRST, BROKEN = "def head(x):\n    return x", "def head(x):\n    return x +"
OLDER = ": an earlier definition was checked."


def run(runs: FailedRuns, names: dict, *cells: str) -> None:
    for source in cells:
        runs.begin(source, names)
        error = None
        try:
            exec(source, names)
        except Exception as caught:
            error = caught
        runs.end(error, names)


@pytest.mark.parametrize(
    ("cells", "when_right", "when_wrong"),
    [
        ((FIRST,), "", ""),
        ((FIRST, BROKEN), "SyntaxError", "SyntaxError"),
        ((FIRST, f"import nosuchmodule\n{FIRST}"), "ModuleNotFoundError", "ModuleNotFoundError"),
        ((FIRST, BROKEN, FIRST), "", ""),
        ((f"{FIRST}\nprint(y)",), "", "NameError: name 'y' is not defined."),
        ((FIRST, "1 / 0"), "", ""),  # another cell
        ((FIRST, "raise NotImplementedError\nhead = 1"), "", ""),
        ((BROKEN,), "SyntaxError", "SyntaxError"),
    ],
)
def test_a_failed_run_of_the_answer_is_said(cells, when_right, when_wrong):
    """An older definition is always said, an error behind the definition if the answer is wrong."""
    runs, names = FailedRuns(), {}
    run(runs, names, *cells)
    for is_right, expected in ((True, when_right), (False, when_wrong)):
        note = runs.note("head", names, is_right)
        assert expected in note and bool(expected) == bool(note)
    assert (OLDER in runs.note("head", names, True)) == (len(cells) == 2 and bool(when_right))


def test_a_cell_that_defines_and_checks_is_judged():
    """The definition of a running cell is not the one that the failed run left."""
    runs, names = FailedRuns(), {}
    run(runs, names, FIRST, BROKEN)
    exec(FIRST, names)
    assert runs.note("head", names, True) == ""
