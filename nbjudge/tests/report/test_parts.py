"""CSV files without formulas, and the report's histogram and tables."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as some
from traitlets.config import Config

from nbjudge.csv_files import DECIMAL_SIGNS, SEPARATORS, CsvFormat, Verbatim, identifier
from nbjudge.report.page import MOST_BARS, MOST_TICKS, bins, points_histogram, ticks
from nbjudge.report.tables import NOT_SAID, WHO, _without_own_words, table_of

FORMATS = [
    CsvFormat(),
    CsvFormat(config=Config({"CsvFiles": {"separator": "semicolon", "decimal": "comma"}})),
    CsvFormat(separator="tab", decimal="point"),
    CsvFormat(separator="tab", decimal="comma"),
]
DANGEROUS = ["=1+1", " =1+1", "\t@SUM(A1)", "-cmd|' /C calc'!A0", "+1\n", "\uff1d1", "x\n=1+1"]
DANGEROUS += ["x;=HYPERLINK(1);y", "x,=HYPERLINK(1),y", "x\t'+1", 'x|"@y', "x; \uff1dy", "x\r\n'\"=1"]


def read(text: str, separator: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=separator))


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: f"{form.separator}-{form.decimal}")
@pytest.mark.parametrize("separator", [*SEPARATORS.values(), "|"])
def test_no_spreadsheet_finds_a_formula(form, separator):
    text = form.text([["before", value, "after"] for value in DANGEROUS])
    fields = [field.lstrip(' "') for row in read(text, separator) for field in row]
    assert not [field for field in fields if field[:1] in tuple("=+-@\uff1d")]
    assert len(text.splitlines()) == len(DANGEROUS)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: f"{form.separator}-{form.decimal}")
def test_numbers_and_texts_come_back_from_every_format(form):
    rows = [["Żółć; Łucja, x", 22.5, 3, -0.25, None, ["ada", "bob"]]]
    (row,) = read(form.text(rows), SEPARATORS[form.separator])
    numbers = [float(field.replace(DECIMAL_SIGNS[form.decimal], ".")) for field in row[1:4]]
    assert numbers == [22.5, 3, -0.25]
    assert [row[0], *row[4:]] == ["Żółć; Łucja, x", "", "ada; bob"]


def test_a_file_is_the_same_to_the_byte():
    rows = [
        [["ada", "Żółć"], 4.0, 2 / 3, 3, 'she said "no",\nand left'],
        [[], None, None, 0, "=1+1"],
    ]
    assert CsvFormat().text(rows) == (
        '\ufeff"ada; Żółć",4.0,0.666667,3,"she said ""no"", and left"\r\n"","","",0,"\'=1+1"\r\n'
    )


def test_an_id_that_calls_nothing_stays_as_it_is():
    names = ["+4912", "-7", "@ada", "ada.l+x@uni-x.org", "007"]
    assert read(CsvFormat().text([[identifier(name) for name in names]]), ",") == [names]
    assert not isinstance(identifier("=1+1"), Verbatim)
    assert read(CsvFormat().text([[identifier("=1+1")]]), ",") == [["'=1+1"]]


@given(values=some.lists(some.floats(0, 1e6), min_size=1, max_size=50), max_points=some.floats(0, 1e6))
def test_a_histogram_counts_everybody(values, max_points):
    """It stays within its frame."""
    heights, width = bins(values, max(values), 0)
    assert sum(heights.values()) == len(values) and len(heights) <= MOST_BARS + 2
    assert list(heights) == [step * width for step in range(len(heights))]
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
    """There is no half student."""
    assert all(tick.label.isdecimal() for tick in ticks(0, int(high) + 1, MOST_TICKS, whole=True))
    shown = ticks(0, high, max_ticks)
    assert 2 <= len(shown) <= max_ticks + 1 and shown[0].label == "0"
    assert re.fullmatch(r"0*(0\.0*)?[125]0*", shown[1].label)
    assert all(abs(float(tick.label) / high - tick.at / 100) < 1e-4 for tick in shown)


def test_no_more_students_than_there_are():
    """Sentences that few were told are one row: who was told several of them counts once in it."""
    rows = [
        {"exercise": "f", "students": len(who), "of": 5, "sentence": f"It says {who[0]}.", WHO: who}
        for who in (["ada", "ben"], ["ada", "eve"], ["ben", "eve"])
    ]
    (row,) = _without_own_words(table_of(["exercise", "students", "of", "sentence", WHO], rows)).rows
    assert (row["students"], row["of"], row["sentence"]) == (3, 5, NOT_SAID)
