"""docs/judge.md holds the table of questions as the checks are, and nothing in it is blank."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from nbjudge.authoring import Exercise, case
from nbjudge.course.course import open_course
from nbjudge.errors import CourseError
from nbjudge.preflight.questions import blanks, rows_of, table, write_into
from nbjudge.preflight.relations import reasons

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def rows():
    return rows_of(open_course(ROOT).assignments.values(), Console(quiet=True))


def test_nothing_is_blank(rows):
    assert list(blanks(rows)) == []


def test_the_page_is_up_to_date(rows, tmp_path):
    page = tmp_path / "judge.md"
    page.write_text((ROOT / "docs" / "judge.md").read_text())
    write_into(page, table(rows))
    assert page.read_text() == (ROOT / "docs" / "judge.md").read_text()


def test_no_reason_is_given_for_what_is_asked(rows):
    """Such a reason was true once: it would mislead anyone who reads the checks."""
    for exercise, row in rows:
        assert set(exercise.not_asked) <= {name for name, reason in row.items() if reason}, exercise.name


def test_a_question_that_no_one_asks_or_explains_is_named():
    exercise = Exercise("double", results=("twice",))

    @exercise.group("numbers", points=1)
    def numbers(draw):
        yield case(draw.normal(3, 4))

    def double(x):
        if x.ndim == 0:
            raise ValueError
        return 2 * x

    row = reasons(exercise, double)
    assert {name for name, reason in row.items() if reason == ""} == {
        "dtypes",
        "leading axes",
        "equal sizes",
        "large values",
        "gradients",
        "refusal",
    }
    assert row["values"] is row["second call"] is row["arguments unchanged"] is None
    assert row["mode"] == "no module"
    assert len(list(blanks([(exercise, row)]))) == 6


def test_a_page_without_a_place_for_it_is_said_in_a_sentence(tmp_path):
    with pytest.raises(CourseError, match="the table is written between the two"):
        write_into(tmp_path / "none.md", "table")
