"""The notebook that is graded is the lesson's own: nothing done to a released cell changes a grade."""

from __future__ import annotations

import copy

import nbformat
import pytest
from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell
from old_course import code
from tiny_course import (
    FULL,
    JUDGED,
    after,
    answered,
    cell_of,
    release,
    settings,
    source,
    without,
    without_ids,
    written_question,
)

from nbjudge.cell_metadata import is_added, is_left_out, recorded_remarks
from nbjudge.course.assignment_forms import grading_template
from nbjudge.submission.merge import merge_submission
from nbjudge.submission.read_submission import SubmittedCell

FORM = grading_template(source(), settings(), JUDGED)


def submitted(work: NotebookNode) -> list[SubmittedCell]:
    return [
        SubmittedCell(
            cell.cell_type, cell.source, cell.metadata.get("nbgrader", {}).get("grade_id"), cell.get("id")
        )
        for cell in work.cells
    ]


def merged_with(work: NotebookNode) -> NotebookNode:
    return merge_submission(FORM, submitted(work))


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


def test_untouched_copy_gives_the_lesson_with_answers():
    work = merged_with(answered())
    assert [cell.id for cell in work.cells] == [cell.id for cell in FORM.cells]
    assert {name: cell_of(work, name).source for name in FULL} == RIGHT


def test_template_holds_nothing_hidden():
    assert not [
        word for word in ("HIDDEN", "check(", "import check", "okapi") if word in nbformat.writes(FORM)
    ]
    assert "SOLUTION" not in nbformat.writes(FORM)


def copied(cell_id, *, marked=True):
    twin = nbformat.from_dict(cell_of(answered(), cell_id) | {"id": "twin"})
    if not marked:
        twin.metadata = nbformat.from_dict({})
    return after(answered(), "end", twin)


def edited(work, cell_id, text, cell_type="code"):
    cell_of(work, cell_id).update(source=text, cell_type=cell_type)
    return work


def moved(cell_id):
    work = answered()
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
        copied("test_double"),
        copied("test_double", marked=False),
        copied("title"),
        moved("test_biggest"),
        moved("setup"),
        edited(answered(), "title", "# My own title", "markdown"),
        edited(answered(), "test_double", ""),
        restamped(answered()),
        nbformat.from_dict(answered() | {"cells": answered().cells[::-1]}),
        edited(answered(), "test_double", cell_of(release(), "test_double").source + "\n\n"),
    ],
)
def test_nothing_done_to_released_cells_changes_them(work):
    """Deleted, copied, moved, reversed, edited and restamped cells are those of the lesson again."""
    assert merged_with(work) == merged_with(answered())


@pytest.mark.parametrize("cell_id", ["shown", "test_double"])
def test_own_cell_runs_where_it_was_bare_of_marks(cell_id):
    """So does an edited graded cell, behind the lesson's own, and neither is graded."""
    work = answered()
    if cell_id == "shown":
        marks = {"tags": ["raises-exception"], "nbgrader": {"grade": True, "grade_id": "mine"}}
        after(work, cell_id, new_code_cell("own = None", metadata=marks))
    else:
        edited(work, cell_id, "own = None")
    merged = merged_with(work)
    position = [cell.id for cell in merged.cells].index(cell_id)
    assert merged.cells[position].source == cell_of(FORM, cell_id).source
    assert merged.cells[position + 1].source == "own = None"
    assert merged.cells[position + 1].metadata == {"nbjudge": {"origin": "student"}}


@pytest.mark.parametrize("place", ["", "setup", "double", "test_double", "end"])
def test_own_cells_keep_their_place_and_their_order(place):
    work = merged_with(after(answered(), place, "first", "second", new_markdown_cell("third")))
    ids = [cell.id for cell in work.cells]
    start = ids.index(place) + 1 if place else 0
    assert [cell.source for cell in work.cells[start : start + 3]] == ["first", "second", "third"]
    assert len(set(ids)) == len(ids)


def old_form(*given: str) -> NotebookNode:
    """The grading template of a course from before cells had ids; `given` cells follow the first answer."""
    return grading_template(without_ids(after(source(), "double", *given)), settings(), JUDGED)


def old_work(form: NotebookNode) -> NotebookNode:
    """Return what a student hands in who has fixed answers into such a notebook."""
    work = nbformat.from_dict(form)
    for cell in work.cells:
        cell.source = RIGHT.get(cell.metadata.get("nbgrader", {}).get("grade_id", ""), cell.source)
    return work


def with_own(work: NotebookNode, position: int, *own: NotebookNode) -> NotebookNode:
    work.cells[position:position] = own
    return work


@pytest.mark.parametrize("make", [new_code_cell, new_markdown_cell, new_raw_cell])
@pytest.mark.parametrize("position", [0, 4, -1])
def test_merge_records_which_cells_are_the_students(make, position):
    form = old_form("import math")
    position %= len(form.cells) + 1
    merged = merge_submission(form, submitted(with_own(old_work(form), position, make("mine"))))
    nbformat.validate(merged)
    assert [at for at, cell in enumerate(merged.cells) if is_added(cell)] == [position]
    assert merged.cells[position].source == "mine"
    assert not any(is_added(cell) for cell in merge_submission(form, submitted(old_work(form))).cells)


def test_metadata_and_ids_tell_nothing_of_origin():
    """A student cannot claim a cell of the assignment, whose cells may have any id."""
    work = old_work(form := old_form())
    for cell in work.cells:
        cell.metadata["nbjudge"] = {"origin": "student"}
    own = new_code_cell("mine", metadata={"nbjudge": {"origin": "course"}})
    merged = merge_submission(form, submitted(with_own(work, 1, own)))
    assert [cell.source for cell in merged.cells if is_added(cell)] == ["mine"]
    lesson = source()
    cell_of(lesson, "shown").id = "own-1-1"
    merged = merge_submission(grading_template(lesson, settings(), JUDGED), submitted(answered()))
    assert not any(is_added(cell) for cell in merged.cells)


@pytest.mark.parametrize("text", ["table.head()", "import math"])
def test_equal_cells_without_ids_keep_their_places(text):
    """An own cell between two equal cells of the course stays between them: a test may need it there."""
    form = old_form(text)
    form.cells.append(nbformat.from_dict(form.cells[3]))  # the same text at the end
    own = new_code_cell("helper = 1")
    merged = merge_submission(form, submitted(with_own(old_work(form), 4, own)))
    texts = [cell.source for cell in merged.cells]
    assert texts[3:5] == [text, "helper = 1"] and texts[-1] == text
    assert len(texts) == len(form.cells) + 1


def test_repeating_a_given_cell_moves_nothing():
    form = old_form("table.head()")
    own = [new_code_cell(text) for text in ("table.head()", "helper = 1")]
    before = merge_submission(form, submitted(with_own(old_work(form), 2, *own)))
    assert [cell.source for cell in before.cells if is_added(cell)] == ["table.head()", "helper = 1"]
    assert [cell.source for cell in before.cells][2:4] == ["table.head()", "helper = 1"]
    behind = merge_submission(form, submitted(with_own(old_work(form), len(form.cells), *own)))
    assert [cell.source for cell in behind.cells][-2:] == ["table.head()", "helper = 1"]


GIVEN = "data = [3, 1, 2, 10]"


def reloading(copies: int, *, has_marks: bool = False) -> tuple[NotebookNode, NotebookNode]:
    """A course's notebook, and a student's in which the given data are spoiled and then given again."""
    given = code(GIVEN, "data" if has_marks else "", locked=True)
    answer = code("top = None", "top", solution=True)
    test = code("assert top == 10", "test", locked=True, grade=True, points=1)
    form = new_notebook(cells=[given, answer, test, new_code_cell("data = None")])
    work = nbformat.from_dict(form)
    work.cells[1].source = "top = max(data)"
    repeated = [nbformat.from_dict(work.cells[0] | {"id": f"repeated-{number}"}) for number in range(copies)]
    work.cells[1:1] = [new_code_cell("data.remove(max(data))"), *repeated]
    return form, work


@pytest.mark.parametrize("has_marks", [True, False])
@pytest.mark.parametrize(("copies", "top"), [(0, 3), (1, 10), (2, 10)])
def test_a_given_cell_that_is_run_again_has_its_effect(copies, top, has_marks):
    """In Jupyter and in stock nbgrader the copy runs, so it runs here, as a cell of the student's."""
    form, work = reloading(copies, has_marks=has_marks)
    merged = merge_submission(form, submitted(work))
    assert names(merged)["top"] == top
    assert [cell.source for cell in merged.cells if is_added(cell)].count(GIVEN) == copies


def test_a_notebook_pasted_twice_changes_no_test():
    """Its second copy's given cells run behind the tests, although the answers there count."""
    form, work = reloading(0)
    work.cells += nbformat.from_dict(work.cells)
    merged = merge_submission(form, submitted(work))
    texts = [cell.source for cell in merged.cells]
    assert [text for text in texts if text.startswith("assert")] == ["assert top == 10"]
    assert texts[-5:-3] == ["assert top == 10", "data = None"]
    assert texts[-3:] == [GIVEN, "data.remove(max(data))", "data = None"]


def test_moved_given_cell_takes_no_other_along():
    work = old_work(form := old_form("import math"))
    moved = work.cells.pop(3)
    merged = merge_submission(form, submitted(with_own(work, 0, moved, new_code_cell("mine"))))
    assert [cell.source for cell in merged.cells if cell.source in ("import math", "mine")] == [
        "mine",
        "import math",
    ]


def twice(first: str, second: str) -> NotebookNode:
    work = answered(double=first)
    twin = nbformat.from_dict(cell_of(work, "double") | {"id": "twin", "source": second})
    return after(work, "double", twin)


def doubles(work: NotebookNode) -> bool:
    import torch

    double = names(merged_with(work)).get("double")
    try:
        return callable(double) and double(torch.ones(2)).tolist() == [2.0, 2.0]
    except NotImplementedError:
        return False


WRONG, WITHOUT = "def double(x):\n    return x", without(answered(), "double")
FOUND = {
    "stub first": twice(STUB["double"], RIGHT["double"]),
    "stub last": twice(RIGHT["double"], STUB["double"]),
    "second try last": twice(WRONG, RIGHT["double"]),
    "helper in the first copy": twice(
        "def twice_(x):\n    return 2 * x", "def double(x):\n    return twice_(x)"
    ),
    "split, definition first": twice(RIGHT["double"], "print('a cell that was split in two')"),
    "turned to markdown": edited(answered(), "double", RIGHT["double"], "markdown"),
    "among cells that are no Python": after(
        answered(double=STUB["double"]), "setup", "def double(x", "\x00", "(" * 10_000, RIGHT["double"]
    ),
    "in the test cell": edited(
        answered(double=STUB["double"]), "test_double", RIGHT["double"] + "\nprint(double(1))"
    ),
    "elsewhere, before": after(copy.deepcopy(WITHOUT), "setup", RIGHT["double"]),
    "elsewhere, at the end": after(copy.deepcopy(WITHOUT), "end", RIGHT["double"]),
    "elsewhere, beside the stub": after(answered(double=STUB["double"]), "setup", RIGHT["double"]),
    "as a lambda": after(copy.deepcopy(WITHOUT), "setup", "double = lambda x: 2 * x"),
}


@pytest.mark.parametrize("work", FOUND.values(), ids=FOUND)
def test_an_answer_is_found_wherever_it_was_written(work):
    assert doubles(work)


def test_of_two_written_copies_the_last_counts():
    assert not doubles(twice(RIGHT["double"], WRONG))


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (["First half.", "Second half."], "First half.\n\nSecond half."),
        (["First half.", ""], "First half."),
        (["The same.", "The same."], "The same."),
        (["Why?", "Because."], "Because."),
    ],
)
def test_split_written_answer_is_put_together(parts, whole):
    lesson = new_notebook(cells=[written_question()])
    cells = [SubmittedCell("markdown", part, grade_id="why") for part in parts]
    assert [cell.source for cell in merge_submission(lesson, cells).cells] == [whole]


@pytest.mark.parametrize(
    ("before", "behind", "answer"),
    [
        (["Why?", "Because."], [], "Because."),
        (["Why?", "Because.", "2 + 2", "It must."], [], "Because.\n\nIt must."),
        (["Why?"], ["Because."], "Why?"),  # below a given cell
        (["Because.", "My notes."], [], "Because."),
        (["Why?", "2 + 2"], [], "Why?"),
    ],
)
def test_prose_below_an_untouched_cell_is_the_answer(before, behind, answer):
    """The cell itself is as it was given out, and would be 0 points without a person who looks at it."""
    lesson = new_notebook(cells=[written_question(), new_code_cell("given = 1")])
    given = SubmittedCell("code", "given = 1")
    own = [SubmittedCell("code" if "+" in text else "markdown", text) for text in (*before, *behind)]
    own[0] = SubmittedCell("markdown", before[0], grade_id="why")
    merged = merge_submission(lesson, [*own[: len(before)], given, *own[len(before) :]])
    assert cell_of(merged, "why").source == answer
    is_moved = answer != "Why?" and before[0] == "Why?"
    assert bool(recorded_remarks(merged)) == is_moved
    texts = [cell.source for cell in merged.cells]
    assert ("Because." in texts[1:]) == (bool(behind)) and texts.count("2 + 2") == before.count("2 + 2")


def test_missing_answers_leave_the_others_alone():
    work = merged_with(without(answered(), "double"))
    assert "not in the submission" in cell_of(work, "double").source
    assert cell_of(work, "biggest").source == RIGHT["biggest"]
    empty = merge_submission(FORM, [])
    assert [cell.id for cell in empty.cells] == [cell.id for cell in FORM.cells]
    assert not set(FULL) & set(names(empty))


def test_bare_cells_are_known_by_their_text():
    work = answered()
    for cell in work.cells:
        cell.metadata = nbformat.from_dict({})
        cell.pop("id")
    space = names(merged_with(work))
    assert set(FULL) <= set(space)
    cells = merged_with(work).cells
    graded_cells = [cell for cell in cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert len(graded_cells) == len(FULL)
    assert [cell.source for cell in cells].count(cell_of(release(), "shown").source) == 1


def test_training_run_is_left_out_edited_or_not():
    lesson = source()
    training = new_code_cell("train()", id="training", metadata={"tags": ["left-out-of-grading"]})
    lesson.cells.append(training)
    edited = [*submitted(answered()), SubmittedCell("code", "train(longer=True)", None, "training")]
    work = merge_submission(grading_template(lesson, settings(), JUDGED), edited)
    assert [cell.id for cell in work.cells if is_left_out(cell)] == ["training"]
    assert all("longer" not in cell.source for cell in work.cells)


def test_cells_marked_as_nothing_need_no_id():
    """As `nbgrader update` leaves them; nbgrader computes no checksums for them either."""
    old = {"grade": False, "locked": False, "solution": False, "schema_version": 3}
    lesson = source()
    prose, code, training = new_markdown_cell("Old."), new_code_cell("3"), new_code_cell("4")
    training.metadata["tags"] = ["left-out-of-grading"]
    for cell in (prose, code, training):
        cell.metadata["nbgrader"] = dict(old)
    form = grading_template(after(lesson, "setup", prose, code, training), settings(), JUDGED)
    merged = merge_submission(form, submitted(answered()))
    marks = [cell.metadata.nbgrader for cell in merged.cells if cell.source in ("Old.", "3", "4")]
    assert marks == [old] * 3
    assert [cell.source for cell in merged.cells if is_left_out(cell)] == ["4"]
    assert "checksum" in cell_of(merged, "setup").metadata.nbgrader


@pytest.mark.parametrize(
    "slow",
    ["a." * 50_000, "a.a\n" * 60_000, "[\n" * 2_000],
    ids=["one line", "many lines", "open brackets"],
)
def test_code_slow_to_colour_is_shown_without(slow):
    work = merged_with(after(answered(), "end", slow))
    assert work.cells[-1].source == slow
    assert work.metadata.language_info.pygments_lexer == "text"
    assert '<span class="kn">' not in HTMLExporter().from_notebook_node(work)[0]
    assert '<span class="kn">' in HTMLExporter().from_notebook_node(merged_with(answered()))[0]
