"""Records: nbgrader reads the points and nothing else, a browser shows text, and a report every status."""

import json

import nbformat
import pytest
from any_json import json_values, many
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st
from marked_cells import code
from nbgrader.utils import determine_grade

from nbjudge.cell_metadata import Origin, mark_origin
from nbjudge.grading.job import _settle_points
from nbjudge.judge.verdict import Finding, GroupVerdict, Verdict
from nbjudge.record.graded_cell import (
    CELL,
    FRAME,
    ExerciseRecord,
    Status,
    as_html,
    as_text,
    read_exercise,
    read_verdict,
    write_cell_status,
    write_verdict,
)
from nbjudge.record.graded_notebook import NotebookRecord, read_graded, read_record, write_record
from nbjudge.report.gather import Failure, ReportedNotebook, read_reported

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
    cell = code("x", "test_x", grade=True, locked=True, points=points)
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


def parsed(html):
    return BeautifulSoup(html, "html.parser", multi_valued_attributes=None)


@many
@given(st.tuples(st.booleans(), st.booleans(), st.booleans()), st.lists(outputs, max_size=4))
def test_nothing_in_the_cell_changes_the_points(agree, left):
    """Only text and pictures are kept of it."""
    cell, expected = recorded(agree, left)
    assert determine_grade(cell) == (expected.points, expected.max_points)
    *student_outputs, own = cell.outputs
    assert {output.output_type for output in student_outputs} <= {"stream", "display_data"}
    for output in student_outputs:
        assert output.get("name", "stdout") == "stdout"
        assert set(output.get("data", {})) <= SHOWN
    assert own.output_type == "execute_result"
    nbformat.validate(nbformat.v4.new_notebook(cells=[cell]))


@many
@given(st.lists(outputs, max_size=3))
def test_a_verdict_survives_a_notebook_round_trip(left):
    """And what was printed can still be read."""
    printed = [
        new("stream", name="stderr", text="a warning"),
        new("error", ename="E", evalue="", traceback=["\x1b[31mValueError\x1b[0m", "of mine"]),
    ]
    cell, _ = recorded((True,), printed)
    assert [output.text for output in cell.outputs[:2]] == ["a warning", "ValueError\nof mine\n"]
    findings = (Finding("It is `NaN`: é, \u2028, 🙂.", "additive", "Yours begins [nan]."), Finding("No."))
    expected = verdict(True, False, findings=findings)
    cell = graded_cell(expected.max_points, left)
    write_verdict(cell, expected)
    text = nbformat.writes(nbformat.v4.new_notebook(cells=[cell]))
    (read,) = nbformat.reads(text, as_version=4).cells
    assert determine_grade(read) == (1, 3)
    assert read_verdict(read) == expected


almost = st.fixed_dictionaries(
    {"exercise": json_values, "seed": json_values, "findings": json_values},
    optional={"groups": json_values | st.lists(st.fixed_dictionaries({"name": texts, "points": anything}))},
)


@many
@given(json_values | almost)
def test_anything_is_read_as_a_verdict_or_none(found):
    """And as a record."""
    cell = {"metadata": {"nbjudge": {"verdict": found}}, "outputs": []}
    assert read_verdict(cell) is None or read_verdict(cell).points >= 0
    assert read_verdict({"metadata": found}) is None and read_verdict(found) is None
    record = read_record({"metadata": {"nbjudge": found}})
    assert record.status in Status and isinstance(record.reason, str)
    names = ("status", "version", "seconds", "reason", "material")
    read = read_record({"metadata": {"nbjudge": dict.fromkeys(names, found)}})
    assert read.status is (Status(found) if found in list(Status) else Status.COMPLETED)


def test_nothing_of_an_output_is_read_as_a_verdict():
    full_marks = verdict(True, True)
    cell = graded_cell(3, [new("execute_result", data={}, metadata={"nbjudge": full_marks.as_data()})])
    assert read_verdict(cell) is None
    write_verdict(cell, full_marks)
    write_verdict(cell, verdict(True, False))
    assert read_verdict(cell) == verdict(True, False) and determine_grade(cell) == (1, 3)


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
    page = parsed(as_html(hostile))
    attributes = [attribute for element in page(True) for attribute in element.attrs.items()]
    assert {element.name for element in page(True)} <= TAGS
    assert all(f'{name}="{value}"' in CELL + FRAME for name, value in attributes)
    assert page.text.count(attack) == 3
    assert "<img src=x onerror=alert(1)>" in page.text


def test_a_verdict_as_html_and_as_text():
    result = verdict(True, False, findings=(Finding("Rows do not sum to 1.", evidence="Yours is 2."),))
    html = as_html(verdict(False, findings=(Finding("`x < y` and `<b>` are meant."),)))
    assert "<code>x &lt; y</code> and <code>&lt;b&gt;</code>" in html
    for text in (parsed(as_html(result)).text, as_text(result)):
        assert "softmax: 1 of 3 points" in text
        assert "Rows do not sum to 1." in text and "Yours is 2." in text
        assert "group 0" in text and "group 1" in text
    assert as_text(result).splitlines()[-2:] == ["  agrees: group 0", "  differs: group 1"]
    assert "Right in every case." in as_html(verdict(True, True))


@pytest.mark.parametrize("status", Status)
def test_a_record_comes_back_as_it_was_written(status):
    notebook = nbformat.v4.new_notebook()
    record = NotebookRecord(status, "a reason", "a note", 1.5)
    write_record(notebook, record)
    cell = graded_cell(3)
    write_verdict(cell, verdict(True, False), status)
    notebook.cells.append(cell)
    read = nbformat.reads(nbformat.writes(notebook), as_version=4)
    assert read_record(read) == record
    assert read_exercise(read.cells[0]) == ExerciseRecord(verdict(True, False), status)


def own_cell(error, evalue, status=None):
    """A cell of the student's that has stopped."""
    cell = nbformat.v4.new_code_cell("x")
    mark_origin(cell, Origin.STUDENT)
    cell.outputs = [nbformat.v4.new_output("error", ename=error, evalue=evalue, traceback=[])]
    if status:
        write_cell_status(cell, status)
    return cell


OWN = "a cell of their own"


def test_a_report_tells_a_timeout_from_a_killed_kernel(tmp_path):
    """The status decides, not an error's name."""
    notebook, statuses = nbformat.v4.new_notebook(), [Status.TIMED_OUT, Status.KERNEL_DIED, Status.COMPLETED]
    for number, status in enumerate(statuses):
        cell = code("x", f"test_{number}", grade=True, locked=True, points=1)
        write_verdict(cell, verdict(False, findings=(Finding("It is over."),)), status)
        notebook.cells.append(cell)
    own = own_cell("died", "It died.", Status.KERNEL_DIED), own_cell("TimeoutError", "mine")
    notebook.cells += own
    write_record(notebook, NotebookRecord(seconds=2.5))
    path = tmp_path / "one.ipynb"
    path.write_text(json.dumps(notebook))
    cells = read_graded(path).cells
    assert [cell.exercise.status for cell in cells[:3]] == statuses
    assert [cell.status for cell in cells[3:]] == [Status.KERNEL_DIED, Status.COMPLETED]
    reported = read_reported(path)
    assert isinstance(reported, ReportedNotebook)
    assert reported.failures == (
        Failure(OWN, "killed its kernel", "It died."),
        Failure(OWN, "stops with TimeoutError", "mine"),
        Failure("softmax", "took too long", "It is over."),
        Failure("softmax", "killed its kernel", "It is over."),
    )


@pytest.mark.parametrize(
    ("shown", "points"),
    [
        ("0.5", 0.5),
        ("np.float64(0.5)", 0.5),
        ("np.int64(1)", 1),
        ("array(0.25)", 0.25),
        ("tensor(0.5000)", 0.5),
        ("tensor(0.5000, dtype=torch.float64)", 0.5),
        ("tensor(1.5000, grad_fn=<MeanBackward0>)", 1.5),
        ("tensor([0.5000])", 2),  # no single number: all points, as nbgrader gives for any text
        ("np.True_", 2),
        ("np.float64(5.0)", 2),  # above its cell's points
    ],
)
def test_points_shown_by_a_library_are_numbers(shown, points):
    cell = graded_cell(2, [new("execute_result", data={"text/plain": shown}, execution_count=1)])
    _settle_points(cell)
    assert determine_grade(cell) == (points, 2)
