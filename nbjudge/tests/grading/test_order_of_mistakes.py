"""Of mistakes in several files, those are named first whose file the exercise lists first."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nbjudge.course.course import open_course
from nbjudge.errors import CourseError

NAME = "tiny"
EXERCISE = 'from nbjudge.authoring import Exercise\n\nones = Exercise("ones", results=("one",){})\n'
MISTAKE = "from .ones import ones\n\n\n@ones.mistake('It is {}.')\ndef {}(x):\n    return x\n"


def mistakes(root: Path, listed: str) -> list[str]:
    checks = root / "checks" / NAME
    checks.mkdir(parents=True)
    for name in ("source", "checks"):
        (root / name).mkdir(exist_ok=True)
    (root / "source" / "01").mkdir()
    (root / "source" / "01" / f"{NAME}.ipynb").write_text(
        '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
    )
    (checks / "ones.py").write_text(EXERCISE.format(listed))
    for name in ("a", "b"):
        (checks / f"{name}.py").write_text(MISTAKE.format(name, name))
    return [mistake.name for mistake in open_course(root).assignments[NAME].exercises["ones"].mistakes]


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_the_files_are_taken_in_the_order_that_is_given(tmp_path, order):
    assert mistakes(tmp_path, f", mistakes_from={tuple(order)}") == list(order)


@pytest.mark.parametrize("listed", ["", ", mistakes_from=('b',)"])
def test_an_author_who_gives_no_order_is_asked_for_one(tmp_path, listed):
    with pytest.raises(CourseError, match=re.escape("The mistakes of `ones` are in a, b")):
        mistakes(tmp_path, listed)
