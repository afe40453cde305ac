"""When a course is read again: after a change of its files, and not in the middle of a run over a class."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nbjudge.course.course import Course, open_course, without_changes
from nbjudge.course.folders import CourseFolders


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
    os.utime(checks / "new.py", (1, 1))
    assert open_course(tmp_path, folders) is not changed


def test_another_course_is_read_as_usual(tmp_path):
    folders = CourseFolders(tmp_path / "one")
    with without_changes(Course(tmp_path / "other", CourseFolders(tmp_path / "other"))):
        course = open_course(tmp_path / "one", folders)
        (folders.checks).mkdir(parents=True)
        (folders.checks / "new.py").touch()
        assert open_course(tmp_path / "one", folders) is not course


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
