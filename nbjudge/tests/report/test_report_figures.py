"""The report's figures count everybody, and say where with round numbers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as some

from nbjudge.report.figures import (
    MOST_BARS,
    MOST_EXERCISES,
    MOST_MISTAKES,
    MOST_TICKS,
    bins,
    exercise_bars,
    mistake_bars,
    points_histogram,
    ticks,
)
from nbjudge.report.table_type import Table, table_of

MARKS = ["exercise", "full", "part", "none"]


@given(values=some.lists(some.floats(0, 1e6), min_size=1, max_size=50))
def test_a_histogram_counts_everybody_in_bars_that_can_be_told_apart(values):
    heights, width = bins(values, max(values))
    assert sum(heights.values()) == len(values) and len(heights) <= MOST_BARS + 2
    assert list(heights) == [step * width for step in range(len(heights))]


@given(values=some.lists(some.floats(0, 1e6), min_size=1, max_size=50), max_points=some.floats(0, 1e6))
def test_a_histogram_stays_within_its_frame(values, max_points):
    shown = points_histogram(values, max_points)
    assert sum(bar.count for bar in shown.bars) == len(values)
    assert max(bar.height for bar in shown.bars) == 100
    assert all(bar.left >= 0 and bar.left + bar.width <= 100.01 for bar in shown.bars)
    assert all(0 <= tick.at <= 100 for tick in (*shown.places, *shown.counts, shown.median))


def test_half_a_point_is_where_it_is():
    shown = points_histogram([0, 1, 3, 3, 4.5], 5)
    assert [(bar.place, bar.count) for bar in shown.bars] == [("0", 1), ("1", 1), ("3", 2), ("4.5", 1)]
    assert (shown.nearest, shown.median.label) == ("0.5", "3")
    assert [tick.label for tick in shown.places] == ["0", "1", "2", "3", "4", "5"]
    assert [tick.label for tick in shown.counts] == ["0", "1", "2"]


@given(high=some.floats(1e-3, 1e7), max_ticks=some.integers(3, 12))
def test_ticks_are_at_few_and_round_numbers(high, max_ticks):
    shown = ticks(0, high, max_ticks)
    assert 2 <= len(shown) <= max_ticks + 1 and shown[0].label == "0"
    assert re.fullmatch(r"0*(0\.0*)?[125]0*", shown[1].label)
    assert all(abs(float(tick.label) / high - tick.at / 100) < 1e-4 for tick in shown)


@given(high=some.integers(1, 2000))
def test_there_is_no_half_student(high):
    assert all(tick.label.isdecimal() for tick in ticks(0, high, MOST_TICKS, whole=True))


@given(some.lists(some.tuples(*[some.integers(0, 300)] * 3), min_size=1, max_size=40))
def test_the_parts_of_a_bar_fill_it_and_leave_no_one_out(counts):
    rows = [dict(zip(MARKS, (f"e{place}", *each), strict=True)) for place, each in enumerate(counts)]
    marked = [row for row in rows if row["full"] + row["part"] + row["none"]]
    shown = exercise_bars(table_of(MARKS, rows))
    if shown is None:
        assert not marked
        return
    assert len(shown.lines) == min(len(marked), MOST_EXERCISES)
    assert bool(shown.note) == (len(marked) > MOST_EXERCISES)
    for line in shown.lines:
        row = rows[int(line.name[1:])]
        assert {part.kind: part.count for part in line.parts} == {
            kind: row[kind] for kind in MARKS[1:] if row[kind]
        }
        assert sum(part.width for part in line.parts) == pytest.approx(100)
        assert line.parts[-1].left + line.parts[-1].width == pytest.approx(100)


def test_where_there_are_too_many_exercises_those_that_cost_most_are_shown_in_the_lessons_order():
    rows = [dict(zip(MARKS, (f"e{place}", place, 0, 60 - place), strict=True)) for place in range(60)]
    shown = exercise_bars(table_of(MARKS, rows[::-1]))
    assert [line.name for line in shown.lines] == [f"e{place}" for place in range(MOST_EXERCISES)][::-1]


def test_a_single_students_mistake_stays_in_the_table():
    columns = ("exercise", "mistake", "students", "of")
    rows = [
        {"exercise": "softmax", "mistake": f"m{place}", "students": max(1, 20 - place), "of": 30}
        for place in range(30)
    ]
    shown = mistake_bars(Table(columns, rows))
    assert [line.name for line in shown.lines] == [f"m{place}" for place in range(MOST_MISTAKES)]
    assert shown.note == "The most frequent; 18 more are in the table."
    assert all(line.parts[0].width < 90 for line in shown.lines)
    assert mistake_bars(Table(columns, rows[25:])) is None
