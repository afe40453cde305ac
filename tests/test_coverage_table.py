"""docs/judge.md holds the coverage table of the checks as they are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from nbjudge.authoring import Exercise, case
from nbjudge.course.course import open_course
from nbjudge.errors import CourseError
from nbjudge.try_checks.coverage import RELATIONS, coverage_of, coverage_table, rows_of, write_into

ROOT = Path(__file__).parents[1]


def test_the_page_is_up_to_date(tmp_path):
    """A relation that an exercise no longer covers shows in the page's diff."""
    rows = rows_of(open_course(ROOT).assignments.values(), Console(quiet=True))
    page = tmp_path / "judge.md"
    page.write_text((ROOT / "docs" / "judge.md").read_text())
    write_into(page, coverage_table(rows))
    assert page.read_text() == (ROOT / "docs" / "judge.md").read_text()


@pytest.fixture
def double():
    def double(x):
        if x.ndim == 0:
            raise ValueError
        return 2 * x

    return double


def exercise_with(cases):
    exercise = Exercise("double", results=("twice",))
    exercise.group("numbers", points=1)(cases)
    return exercise


def test_each_relation_is_covered_or_not(double):
    """What is covered what is not and what does not apply."""
    row = coverage_of(exercise_with(lambda draw: [case(draw.normal(3, 4))]), double)
    found = {coverage: {name for name in row if row[name] == coverage} for coverage in row.values()}
    assert found["covered"] == {"values", "unequal sizes", "second call", "arguments unchanged"}
    assert found["not covered"] == {
        "dtypes",
        "leading axes",
        "equal sizes",
        "large values",
        "gradients",
        "refusal",
    }
    assert found["does not apply"] == {"empty rows", "mode", "step not allowed"}


def test_another_case_covers_more(double):
    cases = [((3, 4), "float64"), ((5, 5), "float32")]
    exercise = exercise_with(lambda draw: [case(draw.normal(*shape, dtype=dtype)) for shape, dtype in cases])
    row = coverage_of(exercise, double)
    assert row["dtypes"] == row["equal sizes"] == "covered"
    table = coverage_table([(exercise, row)])
    header, _, line, counts, _, legend = table.splitlines()
    assert Counter(line)["✓"] == 6 and Counter(line)["○"] == 4 and Counter(line)["–"] == 3
    assert counts.startswith("| **covered** | 1 of 1 | 1 of 1 | 0 of 1 |") and "not covered" in legend
    assert header.count("|") == len(RELATIONS) + 2


def test_a_page_without_a_place_is_refused(tmp_path):
    """A page without a place for it is said in a sentence."""
    with pytest.raises(CourseError, match="the table is written between the two"):
        write_into(tmp_path / "none.md", "table")
