"""What is said of a class while it is graded and when it is done; when its course is read again."""

import io
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from nbjudge.batch.changed_submissions import Plan
from nbjudge.batch.coordinator import Bar, GradedSubmission, print_closing_table
from nbjudge.course.course import Course, open_course, without_changes
from nbjudge.course.folders import CourseFolders
from nbjudge.record.graded_notebook import GradedNotebook, NotebookRecord

HOSTILE = (
    "[red]ann[/red] [link=file:///x]y[/link] \x1b[2J\x1b]8;;http://example.com\x07 :smile: \u202egnp\nnext"
)
SHOWN = "[red]ann[/red] [link=file:///x]y[/link]"


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, no_color=True, width=400)


@pytest.mark.parametrize(
    "graded",
    [
        GradedSubmission(HOSTILE, problem=f"ValueError: {HOSTILE}"),
        GradedSubmission(HOSTILE, (GradedNotebook(NotebookRecord(reason=f"It holds {HOSTILE}.")),)),
        GradedSubmission("ben", problem=HOSTILE),
    ],
    ids=["not graded", "no points", "problem"],
)
def test_bar_and_closing_table_show_names_as_text(console, graded):
    run = SimpleNamespace(in_progress=[HOSTILE], workers=SimpleNamespace(obstacle=lambda: ""))
    with Bar(console, 2) as bar:
        bar.show(run, None)
    in_the_bar = console.file.getvalue()
    plan = Plan(CourseFolders(root=None), "01_[bold]tiny", dict.fromkeys([HOSTILE], "new"), 0)
    print_closing_table(console, plan, [graded], 1.0, stopped=False)
    output = console.file.getvalue()
    assert SHOWN in in_the_bar and SHOWN in output[len(in_the_bar) :] and ":smile:" in output
    assert "\x1b[2J" not in output and "\x1b]8" not in output and "\u202e" not in output
    assert "01_[bold]tiny: " in output


def test_changed_course_is_read_again(tmp_path):
    """But not in the middle of a run."""
    folders, checks = CourseFolders(tmp_path), tmp_path / "checks"
    checks.mkdir()
    course = open_course(tmp_path, folders)
    assert open_course(tmp_path, folders) is course
    with without_changes(course):
        (checks / "new.py").touch()
        assert open_course(tmp_path, folders) is course
    changed = open_course(tmp_path, folders)
    assert changed is not course
    with without_changes(Course(tmp_path / "other", CourseFolders(tmp_path / "other"))):  # another course
        os.utime(checks / "new.py", (1, 1))
        assert open_course(tmp_path, folders) is not changed


@pytest.mark.parametrize("folders", [None, CourseFolders(Path())], ids=["read", "given"])
def test_a_relative_folder_has_its_exercises(tmp_path, monkeypatch, folders):
    (tmp_path / "source" / "ps1").mkdir(parents=True)
    (tmp_path / "source" / "ps1" / "ps1.ipynb").write_text(
        '{"nbformat": 4, "nbformat_minor": 5, "cells": []}'
    )
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "ps1.py").write_text(
        "from nbjudge import Exercise\ndouble = Exercise('double', ('result',))\n"
    )
    monkeypatch.chdir(tmp_path)
    assert list(open_course(Path(), folders).assignments["ps1"].exercises) == ["double"]
