"""The report's histogram counts everybody; without names each student counts once."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as some

from nbjudge.judge.verdict import Finding, GroupVerdict, Verdict
from nbjudge.record.grades import CellGrade
from nbjudge.report.gather import ClassResults, Entry, ReportedNotebook, ReportedSubmission
from nbjudge.report.page import MOST_BARS, MOST_TICKS, bins, points_histogram, ticks
from nbjudge.report.tables import NOT_SAID, WHO, _without_own_words, findings, table_of


@given(values=some.lists(some.floats(0, 1e6), min_size=1, max_size=50))
def test_a_histogram_counts_everybody(values):
    heights, width = bins(values, max(values), 0)
    assert sum(heights.values()) == len(values) and len(heights) <= MOST_BARS + 2
    assert list(heights) == [step * width for step in range(len(heights))]


@given(values=some.lists(some.floats(0, 1e6), min_size=1, max_size=50), max_points=some.floats(0, 1e6))
def test_a_histogram_stays_within_its_frame(values, max_points):
    shown = points_histogram(values, max_points)
    assert sum(bar.students for bar in shown.bars) == len(values)
    assert max(bar.height for bar in shown.bars) == 100
    assert all(bar.left >= 0 and bar.left + bar.width <= 100.01 for bar in shown.bars)
    assert all(0 <= tick.at <= 100 for tick in (*shown.places, *shown.counts, shown.median))


def test_half_a_point_is_where_it_is():
    shown = points_histogram([0, 1, 3, 3, 4.5], 5)
    assert [(bar.place, bar.students) for bar in shown.bars] == [("0", 1), ("1", 1), ("3", 2), ("4.5", 1)]
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


def test_no_more_students_than_there_are():
    """Sentences that few were told are one row: who was told several of them counts once in it."""
    rows = [
        {"exercise": "f", "students": len(who), "of": 5, "sentence": f"It says {who[0]}.", WHO: who}
        for who in (["ada", "ben"], ["ada", "eve"], ["ben", "eve"])
    ]
    (row,) = _without_own_words(table_of(["exercise", "students", "of", "sentence", WHO], rows)).rows
    assert (row["students"], row["of"], row["sentence"]) == (3, 5, NOT_SAID)


def test_findings_are_counted_by_their_kind():
    """Other words for one kind are one row, and no words that fewer than three were told."""
    submissions = []
    for name in ("ada", "ben", "eve"):
        finding = Finding(f"`f` stops with {name}.", kind="stops")
        verdict = Verdict("f", 0, (GroupVerdict("all", 1.0, False),), (finding,))
        notebook = ReportedNotebook("n", ("f",), {"f": verdict}, (), "", None)
        entry = Entry(grades={("n", "f"): CellGrade(0.0, None, None, False, 0.0, 1.0, "code")})
        submissions.append(ReportedSubmission(name, "", "graded", "", entry, (notebook,)))
    results = ClassResults("ps1", tuple(submissions), 1.0)
    for anonymous, sentence in ((False, "`f` stops with ada."), (True, NOT_SAID)):
        (row,) = findings(results, anonymous)[1].rows
        assert (row["students"], row["sentence"]) == (3, sentence)
