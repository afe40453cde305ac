"""The notebook that is graded is the lesson's own: nothing done to a released cell changes a grade."""

import copy

import nbformat
import pytest
from marked_cells import code
from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell
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
    """And the template holds nothing hidden."""
    work = merged_with(answered())
    assert [cell.id for cell in work.cells] == [cell.id for cell in FORM.cells]
    assert {name: cell_of(work, name).source for name in FULL} == RIGHT
    hidden = ("HIDDEN", "check(", "import check", "okapi", "SOLUTION")
    assert not [word for word in hidden if word in nbformat.writes(FORM)]


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


# Cells by a word for each; students write `mine`, `prose` and `raw`, and code that spoils the given data.
TEXTS = {"data": "data = [3, 1, 2, 10]", "answer": "top = max(data)", "test": "assert top == 10"}
TEXTS |= {"gone": "data = None", "head": "table.head()", "import": "import math", "spoil": "data.remove(10)"}
MARKS = {"answer": {"solution": True}, "test": {"grade": True, "locked": True, "points": 1}}
MAKERS = {"prose": new_markdown_cell, "raw": new_raw_cell}
# What the course gives, what is handed in, and what is graded: with a + the cells that are the student's.
COURSE = "data answer test gone"
PLACES = [
    (COURSE, COURSE, COURSE),
    (COURSE, f"mine prose {COURSE}", f"+mine +prose {COURSE}"),
    (COURSE, "data raw mine answer test gone", "data +raw +mine answer test gone"),
    (COURSE, "data answer prose mine test gone", "data answer +prose +mine test gone"),
    (COURSE, "data answer test mine raw gone", "data answer test +mine +raw gone"),
    (COURSE, f"{COURSE} mine prose", f"{COURSE} +mine +prose"),
    # A given cell that is run again has its effect, as in Jupyter and in stock nbgrader.
    (COURSE, "data spoil answer test gone", "data +spoil answer test gone"),
    (COURSE, "data spoil data answer test gone", "data +spoil +data answer test gone"),
    (COURSE, "data spoil data data answer test gone", "data +spoil +data +data answer test gone"),
    # A notebook that is pasted twice changes no test, although the answers of its second copy count.
    (COURSE, f"{COURSE} data spoil answer test gone", f"{COURSE} +data +spoil +gone"),
    # An own cell between two equal cells of the course stays there: a test may need it.
    ("answer head test head", "answer head mine test head", "answer head +mine test head"),
    ("answer import test import", "answer import mine test import", "answer import +mine test import"),
    # Repeating a given cell moves nothing, and one that is moved takes no other along.
    ("answer head test", "head mine answer head test", "+head +mine answer head test"),
    ("answer head test", "answer head test head mine", "answer head test +head +mine"),
    ("answer import test", "import mine answer test", "+mine answer import test"),
]


def notebook_of(words: str, *, has_marks: bool = False) -> NotebookNode:
    """A notebook of these cells without ids; given cells, as others, may have nbgrader's marks."""
    cells = []
    for word in words.split():
        text = TEXTS.get(word, word)
        named = word in MARKS or (has_marks and word in ("data", "gone"))
        cell = MAKERS[word](text) if word in MAKERS else code(text, word * named, **MARKS.get(word, {}))
        cells.append(cell)
    return without_ids(new_notebook(cells=cells))


@pytest.mark.parametrize("has_marks", [True, False])
@pytest.mark.parametrize(("course", "handed_in", "graded"), PLACES)
def test_own_cells_keep_their_places(course, handed_in, graded, has_marks):
    """Whose a cell is follows from its place and text; metadata and ids tell nothing of it."""
    work = notebook_of(handed_in, has_marks=has_marks)
    for cell in work.cells:
        cell.metadata["nbjudge"] = {"origin": "student" if cell.source in TEXTS.values() else "course"}
    merged = merge_submission(notebook_of(course, has_marks=has_marks), submitted(work))
    nbformat.validate(merged)
    words = {text: word for word, text in TEXTS.items()}
    found = [f"{'+' * is_added(cell)}{words.get(cell.source, cell.source)}" for cell in merged.cells]
    assert " ".join(found) == graded


def test_an_id_of_an_own_cells_form_tells_nothing():
    """Cells of the assignment may have any id, also one that the merge gives."""
    lesson = source()
    cell_of(lesson, "shown").id = "own-1-1"
    form = grading_template(lesson, settings(), JUDGED)
    assert not any(is_added(cell) for cell in merge_submission(form, submitted(answered())).cells)
    merged = merged_with(after(answered(), "setup", "first", "second"))
    assert len({cell.id for cell in merged.cells}) == len(merged.cells)


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
    "of two written copies the last": twice(RIGHT["double"], WRONG),
    "as a lambda": after(copy.deepcopy(WITHOUT), "setup", "double = lambda x: 2 * x"),
}


@pytest.mark.parametrize("name", FOUND)
def test_an_answer_is_found_wherever_it_was_written(name):
    assert doubles(FOUND[name]) == (name != "of two written copies the last")


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
    """Cells marked as nothing need no id, as `nbgrader update` leaves them; they have no checksums."""
    old = {"grade": False, "locked": False, "solution": False, "schema_version": 3}
    lesson, tags = source(), {"tags": ["left-out-of-grading"]}
    lesson.cells.append(new_code_cell("train()", id="training", metadata=tags))
    unnamed = [new_markdown_cell("Old."), new_code_cell("3"), new_code_cell("4", metadata=tags)]
    for cell in unnamed:
        cell.metadata["nbgrader"] = dict(old)
    form = grading_template(after(lesson, "setup", *unnamed), settings(), JUDGED)
    edited = SubmittedCell("code", "train(longer=True)", None, "training")
    merged = merge_submission(form, [*submitted(answered()), edited])
    assert [cell.source for cell in merged.cells if is_left_out(cell)] == ["4", "train()"]
    assert all("longer" not in cell.source for cell in merged.cells)
    marks = [cell.metadata.nbgrader for cell in merged.cells if cell.source in ("Old.", "3", "4")]
    assert marks == [old] * 3 and "checksum" in cell_of(merged, "setup").metadata.nbgrader


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
