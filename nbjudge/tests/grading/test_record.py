"""A verdict in its cell: nbgrader reads its points and nothing else, and a browser shows it as text."""

from html.parser import HTMLParser

import nbformat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nbgrader.utils import determine_grade

from nbjudge.judge.verdict import Finding, GroupVerdict, Verdict
from nbjudge.record.graded_cell import CELL, FRAME, as_html, as_text, read_verdict, write_verdict

# However slow the machine, and without a database beside the tests.
many = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
TAGS = {"div", "h4", "p", "strong", "br", "small", "code", "table", "thead", "tbody", "tr", "th", "td"}
SHOWN = {"text/plain", "image/png", "image/jpeg"}

# What a student's kernel may have left: numbers that look like points, markup.
texts = st.sampled_from(["0", "100", "-1", "nan", "inf", "<b>5</b>", "five", ""]) | st.text(max_size=20)
anything = texts | st.integers() | st.floats() | st.none() | st.lists(texts, max_size=2)
data = st.dictionaries(st.sampled_from(sorted(SHOWN)), texts, max_size=3)
outputs = st.one_of(
    st.builds(lambda n, t: new("stream", name=n, text=t), st.sampled_from(["stdout", "stderr"]), texts),
    st.builds(lambda d: new("display_data", data=d, metadata={}), data),
    st.builds(lambda d: new("execute_result", data=d, metadata={}, execution_count=1), data),
    st.builds(lambda t: new("error", ename="E", evalue="", traceback=t), st.lists(texts, max_size=3)),
)


def new(kind, **content):
    """An output as the kernel client puts it into a cell."""
    return nbformat.from_dict({"output_type": kind} | content)


def graded_cell(points, left=()):
    marks = {"grade": True, "grade_id": "test_x", "locked": True, "points": points, "solution": False}
    cell = nbformat.v4.new_code_cell("x", metadata={"nbgrader": marks | {"schema_version": 3, "task": False}})
    cell.outputs = list(left)
    return cell


def verdict(*agree, findings=()):
    """A verdict with a group of 1, 2, 4, … points for each answer."""
    groups = tuple(GroupVerdict(f"group {i}", 2**i, right) for i, right in enumerate(agree))
    return Verdict("softmax", 7, groups, findings)


def recorded(agree, left=()):
    expected = verdict(*agree)
    cell = graded_cell(expected.max_points, left)
    write_verdict(cell, expected)
    return cell, expected


class Page(HTMLParser):
    """The tags of a page, the attributes they carry, and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = set(), [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += attributes

    def handle_data(self, text):
        self.text += text


@pytest.mark.parametrize("agree", [(False, False), (True, False), (False, True), (True, True)])
def test_nbgrader_reads_exactly_the_points(agree):
    cell, expected = recorded(agree)
    assert determine_grade(cell) == (expected.points, expected.max_points)


@many
@given(st.tuples(st.booleans(), st.booleans(), st.booleans()), st.lists(outputs, max_size=4))
def test_whatever_the_student_left_in_the_cell_the_points_are_the_verdicts(agree, left):
    cell, expected = recorded(agree, left)
    assert determine_grade(cell) == (expected.points, expected.max_points)


@many
@given(st.lists(outputs, max_size=4))
def test_what_the_student_left_is_kept_only_as_text_and_pictures_that_a_notebook_may_hold(left):
    cell, _ = recorded((True,), left)
    *student_outputs, own = cell.outputs
    assert [
        output.output_type
        for output in student_outputs
        if output.output_type not in ("stream", "display_data")
    ] == []
    for output in student_outputs:
        assert output.get("name", "stdout") == "stdout"
        assert set(output.get("data", {})) <= SHOWN
    assert own.output_type == "execute_result"
    nbformat.validate(nbformat.v4.new_notebook(cells=[cell]))


def test_a_student_still_reads_what_the_cell_printed_and_where_it_stopped():
    left = [
        new("stream", name="stderr", text="a warning"),
        new("error", ename="E", evalue="", traceback=["\x1b[31mValueError\x1b[0m", "of mine"]),
    ]
    cell, _ = recorded((True,), left)
    assert [output.text for output in cell.outputs[:2]] == ["a warning", "ValueError\nof mine\n"]


@many
@given(st.lists(outputs, max_size=3))
def test_a_verdict_survives_a_notebook_round_trip(left):
    findings = (Finding("It is `NaN`: é, \u2028, 🙂.", "additive", "Yours begins [nan]."), Finding("No."))
    expected = verdict(True, False, findings=findings)
    cell = graded_cell(expected.max_points, left)
    write_verdict(cell, expected)
    text = nbformat.writes(nbformat.v4.new_notebook(cells=[cell]))
    (read,) = nbformat.reads(text, as_version=4).cells
    assert determine_grade(read) == (1, 3)
    assert read_verdict(read) == expected


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
almost = st.fixed_dictionaries(
    {"exercise": json_values, "seed": json_values, "findings": json_values},
    optional={"groups": json_values | st.lists(st.fixed_dictionaries({"name": texts, "points": anything}))},
)


@many
@given(json_values | almost)
def test_whatever_is_in_a_verdicts_place_is_a_verdict_or_none(found):
    cell = {"metadata": {"nbjudge": {"verdict": found}}, "outputs": []}
    assert read_verdict(cell) is None or read_verdict(cell).points >= 0
    assert read_verdict({"metadata": found}) is None and read_verdict(found) is None


def test_nothing_of_an_output_is_read_as_a_verdict():
    full_marks = verdict(True, True)
    cell = graded_cell(3, [new("execute_result", data={}, metadata={"nbjudge": full_marks.as_data()})])
    assert read_verdict(cell) is None
    write_verdict(cell, verdict(True, False))
    assert read_verdict(cell) == verdict(True, False)


def test_writing_a_verdict_again_leaves_nbgrader_reading_the_new_one():
    cell, _ = recorded((True, True))
    write_verdict(cell, verdict(True, False))
    assert determine_grade(cell) == (1, 3)


@many
@given(st.text(), st.text(), st.text())
def test_nothing_a_student_wrote_becomes_markup(sentence, evidence, name):
    attack = "<script>alert(1)</script>"
    hostile = Verdict(
        name + attack,
        0,
        (GroupVerdict(name + attack, 1, False),),
        (Finding(sentence + attack, evidence=evidence + "`<img src=x onerror=alert(1)>`"),),
    )
    page = Page(as_html(hostile))
    assert page.tags <= TAGS
    assert all(f'{name}="{value}"' in CELL + FRAME for name, value in page.attributes)
    assert page.text.count(attack) == 3
    assert "<img src=x onerror=alert(1)>" in page.text


def test_backticks_become_code_and_their_content_stays_text():
    result = verdict(False, findings=(Finding("`x < y` and `<b>` are meant."),))
    html = as_html(result)
    assert "<code>x &lt; y</code> and <code>&lt;b&gt;</code>" in html


def test_the_verdict_says_points_findings_and_groups_in_html_and_in_text():
    result = verdict(True, False, findings=(Finding("Rows do not sum to 1.", evidence="Yours is 2."),))
    for text in (Page(as_html(result)).text, as_text(result)):
        assert "softmax: 1 of 3 points" in text
        assert "Rows do not sum to 1." in text and "Yours is 2." in text
        assert "group 0" in text and "group 1" in text
    assert as_text(result).splitlines()[-2:] == ["  agrees: group 0", "  differs: group 1"]
    assert "Right in every case." in as_html(verdict(True, True))
