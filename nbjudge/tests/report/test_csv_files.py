"""CSV files that every spreadsheet reads as the same table, and in which it finds no formula."""

from __future__ import annotations

import csv
import io

import pytest
from traitlets.config import Config

from nbjudge.course.configuration import check_settings
from nbjudge.csv_files import DECIMAL_SIGNS, SEPARATORS, CsvFormat, Verbatim, identifier
from nbjudge.errors import CourseError

FORMATS = [
    CsvFormat(),
    CsvFormat(separator="semicolon", decimal="comma"),
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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"separator": ";"}, "CsvFiles.separator is ';', and must be one of 'comma', 'semicolon', 'tab'"),
        ({"decimal": "dot"}, "CsvFiles.decimal is 'dot'"),
        ({"seperator": "comma"}, "no option c.CsvFiles.seperator .* Did you mean separator"),
        ({"decimal": "comma"}, "Set c.CsvFiles.separator to 'semicolon'"),
    ],
)
def test_an_unknown_setting_or_value_is_an_error(settings, message):
    with pytest.raises(CourseError, match=message):
        check_settings(Config({"CsvFiles": settings}))


def test_the_course_sets_the_format():
    course = Config({"CsvFiles": {"separator": "semicolon", "decimal": "comma"}})
    assert CsvFormat(config=course).text([[1.5, 2]]) == "\ufeff1,5;2\r\n"
    assert CsvFormat(config=Config()).text([[1.5, 2]]) == "\ufeff1.5,2\r\n"
