"""What is said of a class while it is graded and when it is done: names and errors are text."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from nbjudge.batch.changed_submissions import Plan
from nbjudge.batch.coordinator import Bar, GradedSubmission, print_closing_table
from nbjudge.course.folders import CourseFolders
from nbjudge.record.graded_notebook import GradedNotebook, NotebookRecord

HOSTILE = (
    "[red]ann[/red] [link=file:///x]y[/link] \x1b[2J\x1b]8;;http://example.com\x07 :smile: \u202egnp\nnext"
)
SHOWN = "[red]ann[/red] [link=file:///x]y[/link]"


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, no_color=True, width=400)


def said_by(console: Console) -> str:
    return console.file.getvalue()  # type: ignore[attr-defined]


def closing_words(console: Console, *results: GradedSubmission) -> str:
    plan = Plan(CourseFolders(root=None), "01_[bold]tiny", dict.fromkeys([HOSTILE], "new"), 0)  # type: ignore[arg-type]
    print_closing_table(console, plan, results, 1.0, stopped=False)
    return said_by(console)


@pytest.mark.parametrize(
    "graded",
    [
        GradedSubmission(HOSTILE, problem=f"ValueError: {HOSTILE}"),
        GradedSubmission(
            HOSTILE,
            (GradedNotebook(NotebookRecord(reason=f"No notebook was handed in (it holds {HOSTILE}).")),),
        ),
        GradedSubmission("ben", problem=HOSTILE),
    ],
    ids=["not graded", "no points", "problem"],
)
def test_closing_table_shows_names_as_text(console, graded):
    output = closing_words(console, graded)
    assert SHOWN in output and ":smile:" in output
    assert "\x1b[2J" not in output and "\x1b]8" not in output and "\u202e" not in output
    assert "01_[bold]tiny: " in output


def test_the_bar_shows_names_as_text(console):
    run = SimpleNamespace(in_progress=[HOSTILE], workers=SimpleNamespace(obstacle=lambda: ""))
    with Bar(console, 2) as bar:
        bar.show(run, None)  # type: ignore[arg-type]
    output = said_by(console)
    assert SHOWN in output and "\x1b[2J" not in output and "\x1b]8" not in output
