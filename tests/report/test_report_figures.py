"""The report's figures count everybody."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from nbjudge.report.figures import MOST_BARS, bins


@given(values=some.lists(some.floats(0, 1e6), min_size=1, max_size=50))
def test_a_histogram_counts_everybody_in_bars_that_can_be_told_apart(values):
    heights, width = bins(values, max(values))
    assert sum(heights.values()) == len(values) and len(heights) <= MOST_BARS + 2
    assert list(heights) == [step * width for step in range(len(heights))]
