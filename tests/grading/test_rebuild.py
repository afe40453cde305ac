"""The notebook that is graded is the lesson's own: nothing done to a released cell changes a grade."""

from __future__ import annotations

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from tiny_course import FULL, JUDGED, ROOT, after, answered, cell_of, release, source, without

from nbjudge.cell_metadata import is_left_out
from nbjudge.course.configuration import read_config
from nbjudge.read.submission import SubmittedCell
from nbjudge.rebuild.forms import graded
from nbjudge.rebuild.rebuild import rebuild

FORM = graded(source(), read_config(ROOT), JUDGED)


def submitted(work: NotebookNode) -> list[SubmittedCell]:
    return [
        SubmittedCell(
            cell.cell_type, cell.source, cell.metadata.get("nbgrader", {}).get("grade_id"), cell.get("id")
        )
        for cell in work.cells
    ]


def rebuilt(work: NotebookNode) -> NotebookNode:
    return rebuild(FORM, submitted(work))


def names(work: NotebookNode) -> dict[str, object]:
    """The names that a notebook's code cells leave behind; a cell that fails is passed over."""
    space: dict[str, object] = {}
    for cell in work.cells:
        if cell.cell_type == "code":
            try:
                exec(cell.source, space)
            except Exception:
                continue
    return space


RIGHT = {name: cell_of(answered(), name).source for name in FULL}
STUB = {name: cell_of(release(), name).source for name in FULL}


def test_an_untouched_copy_gives_the_lesson_with_the_answers_in_it():
    work = rebuilt(answered())
    assert [cell.id for cell in work.cells] == [cell.id for cell in FORM.cells]
    assert {name: cell_of(work, name).source for name in FULL} == RIGHT


def test_the_graded_form_holds_no_hidden_region_and_no_solution():
    text = nbformat.writes(FORM)
    for secret in ("HIDDEN", "check(", "import check", "okapi", "SOLUTION"):
        assert secret not in text


def copied(work, cell_id, *, marked=True):
    twin = nbformat.from_dict(cell_of(work, cell_id))
    twin.id = "twin"
    if not marked:
        twin.metadata = nbformat.from_dict({})
    return after(work, "end", twin)


def edited(work, cell_id, text):
    cell_of(work, cell_id).source = text
    return work


def moved(work, cell_id):
    cell = cell_of(work, cell_id)
    return after(without(work, cell_id), "", cell)


def restamped(work):
    """Cells that claim to be graded, worth a thousand points, and locked."""
    for cell in work.cells:
        cell.metadata.nbgrader = {"grade": True, "points": 1000, "grade_id": cell.id, "solution": False}
        cell.metadata.nbjudge = {"check": "double"}
        cell.metadata.tags = ["skip-execution", "raises-exception"]
    return work


@pytest.mark.parametrize(
    "work",
    [
        without(answered(), "test_double"),
        without(answered(), "setup", "test_double", "test_row_sums", "test_biggest", "title"),
        copied(answered(), "test_double"),
        copied(answered(), "test_double", marked=False),
        copied(answered(), "setup"),
        moved(answered(), "test_biggest"),
        moved(answered(), "setup"),
        edited(answered(), "title", "# My own title"),
        edited(answered(), "test_double", ""),
        restamped(answered()),
        edited(answered(), "test_double", cell_of(release(), "test_double").source + "\n\n"),
    ],
)
def test_deleting_copying_moving_and_restamping_released_cells_changes_nothing(work):
    assert rebuilt(work) == rebuilt(answered())


def test_an_edited_graded_cell_runs_after_the_lessons_own_and_is_not_graded():
    work = rebuilt(edited(answered(), "test_double", "double = None"))
    position = [cell.id for cell in work.cells].index("test_double")
    assert work.cells[position].source == cell_of(FORM, "test_double").source
    assert work.cells[position + 1].source == "double = None"
    assert "nbgrader" not in work.cells[position + 1].metadata


def test_the_order_of_the_cells_is_the_lessons():
    work = answered()
    work.cells.reverse()
    back = rebuilt(work)
    assert [cell.id for cell in back.cells] == [cell.id for cell in FORM.cells]
    assert {name: cell_of(back, name).source for name in FULL} == RIGHT


def test_a_cell_of_ones_own_runs_where_it_stood_bare_of_marks():
    own = nbformat.v4.new_code_cell(
        "helper = 1", metadata={"tags": ["raises-exception"], "nbgrader": {"grade": True, "grade_id": "mine"}}
    )
    work = rebuilt(after(answered(), "shown", own))
    position = [cell.id for cell in work.cells].index("shown")
    assert work.cells[position + 1].source == "helper = 1"
    assert work.cells[position + 1].metadata == {}


@pytest.mark.parametrize("place", ["", "setup", "double", "test_double", "end"])
def test_own_cells_keep_their_place_and_their_order(place):
    work = rebuilt(after(answered(), place, "first", "second", nbformat.v4.new_markdown_cell("third")))
    ids = [cell.id for cell in work.cells]
    start = ids.index(place) + 1 if place else 0
    assert [cell.source for cell in work.cells[start : start + 3]] == ["first", "second", "third"]
    assert len(set(ids)) == len(ids)


def twice(first: str, second: str) -> NotebookNode:
    work = answered(double=first)
    twin = nbformat.from_dict(cell_of(work, "double"))
    twin.id, twin.source = "twin", second
    return after(work, "double", twin)


def doubles(work: NotebookNode) -> bool:
    import torch

    double = names(rebuilt(work)).get("double")
    try:
        return callable(double) and double(torch.ones(2)).tolist() == [2.0, 2.0]
    except NotImplementedError:
        return False


@pytest.mark.parametrize(
    "work",
    [
        twice(STUB["double"], RIGHT["double"]),
        twice(RIGHT["double"], STUB["double"]),
        twice("def double(x):\n    return x", RIGHT["double"]),
        twice("def twice_(x):\n    return 2 * x", "def double(x):\n    return twice_(x)"),
        twice(RIGHT["double"], "print('a cell that was split in two')"),
        edited(answered(double=STUB["double"]), "test_double", RIGHT["double"] + "\nprint(double(1))"),
        after(without(answered(), "double"), "setup", RIGHT["double"]),
        after(without(answered(), "double"), "end", RIGHT["double"]),
        after(answered(double=STUB["double"]), "setup", RIGHT["double"]),
        after(without(answered(), "double"), "setup", "double = lambda x: 2 * x"),
    ],
    ids=[
        "stub first",
        "stub last",
        "second try last",
        "helper in the first copy",
        "split, definition first",
        "in the test cell",
        "elsewhere, before",
        "elsewhere, at the end",
        "elsewhere, beside the stub",
        "as a lambda",
    ],
)
def test_an_answer_is_found_wherever_it_was_written(work):
    assert doubles(work)


def test_of_two_written_copies_the_last_counts():
    assert not doubles(twice(RIGHT["double"], "def double(x):\n    return x"))


def test_an_answer_turned_to_markdown_is_run_all_the_same():
    work = answered()
    cell_of(work, "double").cell_type = "markdown"
    assert cell_of(rebuilt(work), "double").cell_type == "code"
    assert doubles(work)


def test_an_answer_that_is_not_there_leaves_an_empty_cell_and_the_others_alone():
    work = rebuilt(without(answered(), "double"))
    assert "not in the submission" in cell_of(work, "double").source
    assert cell_of(work, "biggest").source == RIGHT["biggest"]


def test_a_cell_that_python_cannot_read_spoils_no_other():
    work = after(
        answered(double=STUB["double"]), "setup", "def double(x", "\x00", "(" * 10_000, RIGHT["double"]
    )
    assert doubles(work)


def test_without_marks_and_ids_cells_are_known_by_their_text():
    work = answered()
    for cell in work.cells:
        cell.metadata = nbformat.from_dict({})
        cell.pop("id")
    space = names(rebuilt(work))
    assert set(FULL) <= set(space)
    graded_cells = [cell for cell in rebuilt(work).cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert len(graded_cells) == len(FULL)
    assert [cell.source for cell in rebuilt(work).cells].count(cell_of(release(), "shown").source) == 1


def test_an_empty_submission_is_the_lesson_with_no_answers():
    work = rebuild(FORM, [])
    assert [cell.id for cell in work.cells] == [cell.id for cell in FORM.cells]
    assert not set(FULL) & set(names(work))


def test_a_training_run_of_the_lessons_own_is_marked_as_left_out_edited_or_not():
    lesson = source()
    training = nbformat.v4.new_code_cell("train()", id="training", metadata={"tags": ["left-out-of-grading"]})
    lesson.cells.append(training)
    edited = [*submitted(answered()), SubmittedCell("code", "train(longer=True)", None, "training")]
    work = rebuild(graded(lesson, read_config(ROOT), JUDGED), edited)
    assert [cell.id for cell in work.cells if is_left_out(cell)] == ["training"]
    assert all("longer" not in cell.source for cell in work.cells)


@pytest.mark.parametrize("slow", ["a." * 50_000, "a.a\n" * 60_000], ids=["one line", "many lines"])
def test_code_that_takes_minutes_to_colour_is_shown_without(slow):
    work = rebuilt(after(answered(), "end", slow))
    assert work.cells[-1].source == slow
    assert work.metadata.language_info.pygments_lexer == "text"
    assert '<span class="kn">' not in HTMLExporter().from_notebook_node(work)[0]
    assert '<span class="kn">' in HTMLExporter().from_notebook_node(rebuilt(answered()))[0]
