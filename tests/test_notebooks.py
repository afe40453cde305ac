"""Every lesson is made the way docs/writing-a-lesson.md says."""

import ast
import builtins
import re

import nbformat
import pytest
from lesson_cells import (
    CHECK,
    HIDDEN,
    LESSONS,
    NOTEBOOKS,
    SOLUTION,
    answer_cells,
    code_of,
    every_lesson,
    every_notebook,
    graded_code_cells,
    is_prediction,
    marks_of,
)

from attention_lab.authoring.draw import FRESH_HEAD_COUNTS, FRESH_SMALL_SIZES, Draw
from attention_lab.maintain.build import canonical
from attention_lab.students import LESSON_MODULES, STUDENT_MODULES
from nbjudge.course import read_notebook

WIDTHS = {count * size for count in FRESH_HEAD_COUNTS for size in FRESH_SMALL_SIZES}  # of all heads together
DRAWN = WIDTHS.union(Draw.fresh_sizes, Draw.fresh_even_sizes, FRESH_HEAD_COUNTS, FRESH_SMALL_SIZES)
NOT_DRAWN = {"language_model": {9}}  # the contract's number of heads; its checks draw from `ModelDraw`
SET_UP_IMPORTS = {"math": "math", "torch": "torch", "torch.nn": "nn", "torch.nn.functional": "F"}
MARKS = {  # (grade, locked, solution) of the cells that nbgrader knows
    ("code", "setup"): (False, True, False),
    ("code", "answer"): (False, False, True),
    ("code", "graded"): (True, True, False),
    ("markdown", "question"): (False, True, False),
    ("markdown", "written answer"): (True, False, True),
}
ASKED_FOR_HELP = {"tags": ["left-out-of-grading", "nbval-ignore-output"]}  # the metadata of the tutor's cells

pytestmark = pytest.mark.lesson


@every_notebook
def test_the_source_is_in_canonical_form(lesson):
    text = lesson.source_path.read_text()
    assert canonical(nbformat.reads(text, as_version=4)) == text, "its form is JupyterLab's: run `make build`"
    notebook = read_notebook(lesson.source_path)
    assert "widgets" not in notebook.metadata, "the state of widgets is stored in it: run `make build`"
    for cell in notebook.cells:
        assert not cell.get("outputs"), f"{cell.id} holds an output: run `make build`"
        folded = {"jp-MarkdownHeadingCollapsed"} if cell.id == "excursions" else set()
        allowed = set(cell.metadata) & {"nbgrader", "tags"} | folded
        assert set(cell.metadata) == allowed, f"the metadata of {cell.id} should hold {sorted(allowed)} only"


@every_notebook
def test_every_cell_has_an_id_of_its_own(lesson):
    cells = read_notebook(lesson.source_path).cells
    ids = [cell.id for cell in cells]
    twice = {each for each in ids if ids.count(each) > 1}
    assert not twice, f"several cells have one id: {twice}"
    for cell in cells:
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", cell.id), f"{cell.id!r}: give it a name of letters"
        if marks_of(cell):
            assert marks_of(cell)["grade_id"] == cell.id, f"nbgrader's id of {cell.id} should be the cell's"


def is_graded(cell):
    return cell.id.startswith("test_") or is_prediction(cell)


@every_notebook
def test_cells_are_marked_for_nbgrader(lesson):
    for cell in read_notebook(lesson.source_path).cells:
        marks = marks_of(cell)
        if not marks:
            continue
        part = (
            ("setup" if cell.id == "setup" else "graded" if is_graded(cell) else "answer")
            if cell.cell_type == "code"
            else ("question" if cell.id.endswith("_question") else "written answer")
        )
        flags = (marks["grade"], marks["locked"], marks["solution"])
        wanted = MARKS[cell.cell_type, part]
        assert flags == wanted, f"{cell.id} is a {part} cell: (grade, locked, solution) should be {wanted}"
        form = (marks["schema_version"], marks["task"])
        assert form == (3, False), f"{cell.id}: nbgrader's schema_version should be 3, and task False"
        assert ("points" in marks) == marks["grade"], f"{cell.id}: graded cells have points, others none"


@every_lesson
def test_the_set_up_cell_imports_what_answers_use(lesson):
    code = [cell for cell in read_notebook(lesson.source_path).cells if cell.cell_type == "code"]
    assert code[0].id == "setup", f"the first code cell is {code[0].id}, and should be setup"
    imported = {
        alias.name: alias.asname or alias.name
        for node in ast.walk(ast.parse(code[0].source))
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    missing = SET_UP_IMPORTS.items() - imported.items()
    assert not missing, f"answers may rely on {SET_UP_IMPORTS}; setup does not import {dict(missing)}"


def modules_imported(cells):
    """Of this package: "plots" for `from attention_lab.plots import curves`."""
    nodes = [node for cell in cells for node in ast.walk(ast.parse(code_of(cell)))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[1] for name in names if name.startswith("attention_lab.")}


@every_notebook
def test_the_sandbox_shows_what_is_imported(lesson):
    cells = [cell for cell in read_notebook(lesson.source_path).cells if cell.cell_type == "code"]
    unknown = modules_imported(cells) - set(STUDENT_MODULES)
    assert not unknown, f"students do not have {unknown}: name what they need in attention_lab/students.py"
    if lesson in LESSONS:
        graded = [cell for cell in cells if "left-out-of-grading" not in cell.metadata.get("tags", [])]
        unknown = modules_imported(graded) - set(LESSON_MODULES)
        assert not unknown, f"no sandbox shows {unknown}: see LESSON_MODULES, attention_lab/students.py"


@every_notebook
def test_no_cell_reads_ipythons_history(lesson):
    """nbval has no `Out` and no `In`; `_` may be a loop's variable, and is not read."""
    for cell in read_notebook(lesson.solution_path).cells:
        names = ast.walk(ast.parse(code_of(cell))) if cell.cell_type == "code" else ()
        read = {node.id for node in names if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        assert not read & {"Out", "In", "_", "__", "___"}, f"{cell.id}: give the value a name"


@every_notebook
def test_no_number_is_a_size_that_is_drawn(lesson):
    """In a cell that a grading run has."""
    for cell in read_notebook(lesson.source_path).cells:
        if cell.cell_type == "code" and "left-out-of-grading" not in cell.metadata.get("tags", []):
            constants = (n.value for n in ast.walk(ast.parse(code_of(cell))) if isinstance(n, ast.Constant))
            drawn = DRAWN - NOT_DRAWN.get(lesson.name, set())
            clashing = {n for n in constants if type(n) is int and n in drawn}
            assert not clashing, f"{cell.id}: {clashing} may be a hidden case's size"


@every_lesson
def test_every_graded_cell_hides_one_check(lesson):
    for cell in graded_code_cells(read_notebook(lesson.source_path)):
        hidden, names = HIDDEN.findall(cell.source), CHECK.findall(cell.source)
        assert len(hidden) == len(names) == 1, f"{cell.id} should have one hidden region with one check in it"
        (hidden,), (name,) = hidden, names
        assert CHECK.findall(hidden) == [name], f"{cell.id}: the check is outside the hidden region"
        assert cell.id == f"test_{name}", f"{cell.id} checks {name}: call it test_{name}"
        worth, marked = lesson.exercises[name].points, marks_of(cell)["points"]
        assert worth == marked, f"{cell.id} is worth {marked} points, and its case groups {worth}"
        called = (n.func for n in ast.walk(ast.parse(HIDDEN.sub("", cell.source))) if isinstance(n, ast.Call))
        tests = {"example", "refuses", "same"} & {n.id for n in called if isinstance(n, ast.Name)}
        in_a_module = (
            f"test_{name}({name})" in cell.source
        )  # its body is in visible_tests.py, for students to read
        assert tests or in_a_module or "assert " in cell.source, f"{cell.id} shows the student no test"


@every_lesson
def test_under_every_graded_cell_the_tutor_is_asked(lesson):
    """In a cell that no grading run needs: the sandbox has no tutor, and a panel is no stored output."""
    cells = read_notebook(lesson.source_path).cells
    for cell, below in zip(cells, cells[1:], strict=False):
        if marks_of(cell).get("grade") and not is_prediction(cell):
            name = cell.id.removeprefix("test_")
            assert below.source == f'check("{name}")', f'below {cell.id} a cell should ask check("{name}")'
            assert below.metadata == ASKED_FOR_HELP, f"the metadata of {below.id} should be {ASKED_FOR_HELP}"


@every_lesson
def test_a_lesson_begins_with_questions_of_earlier_ones(lesson):
    below_setup = read_notebook(lesson.source_path).cells[2]
    is_asked = below_setup.source == f"earlier_questions({int(lesson.folder[:2])})"
    assert is_asked == (lesson.folder[:2] > "01"), "the cell below setup should ask earlier_questions(NUMBER)"
    assert not is_asked or below_setup.metadata == ASKED_FOR_HELP


@every_lesson
def test_a_lesson_ends_on_its_whole_code(lesson):
    cells = read_notebook(lesson.source_path).cells
    places = [number for number, cell in enumerate(cells) if cell.source == "check()"]
    assert len(places) == 1, "one cell, behind the last exercise, should hold check()"
    page = cells[places[0]]
    assert page.id == "one-page", f"check() is in {page.id}: its cell is one-page"
    assert page.metadata == ASKED_FOR_HELP, f"the metadata of one-page should be {ASKED_FOR_HELP}"


@every_lesson
def test_every_exercise_has_both_its_cells(lesson):
    notebook = read_notebook(lesson.source_path)
    names = set(lesson.exercises)
    assert names, f"no exercise is found under {lesson.checks_path}"
    answers, graded = set(answer_cells(notebook)), {cell.id for cell in graded_code_cells(notebook)}
    assert answers == names, f"answer cells and exercises differ in {answers ^ names}"
    expected = {f"test_{name}" for name in names}
    assert graded == expected, f"graded cells and exercises differ in {graded ^ expected}"


@every_lesson
def test_an_answer_cell_is_one_definition(lesson):
    for name, cell in answer_cells(read_notebook(lesson.source_path)).items():
        nodes = ast.parse(cell.source).body
        assert [getattr(node, "name", None) for node in nodes] == [name], f"{name}: define just that"
        (node,) = nodes
        documented = [n for n in ast.walk(node) if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
        docstrings = " ".join(ast.get_docstring(each) or "" for each in documented)
        assert re.search(r"returns?\b|->", docstrings), f"{name}: what is returned?"
        assert SOLUTION.findall(cell.source), f"{name}: where does its solution begin and end?"


def defined_names(cell):
    """The names that a cell binds at its top or anywhere inside."""
    for node in ast.walk(ast.parse(code_of(cell))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)


@every_notebook
def test_nothing_graded_needs_a_cell_left_out(lesson):
    defined, left_out = set(dir(builtins)), set()
    for cell in [c for c in read_notebook(lesson.source_path).cells if c.cell_type == "code"]:
        if "left-out-of-grading" in cell.metadata.get("tags", []):
            assert not marks_of(cell), f"{cell.id} is left out of grading and marked for nbgrader: it is one"
            left_out |= set(defined_names(cell))
            continue
        defined |= set(defined_names(cell))
        used = {node.id for node in ast.walk(ast.parse(code_of(cell))) if isinstance(node, ast.Name)}
        assert not (used & left_out) - defined, f"{cell.id} needs {(used & left_out) - defined}"


def test_the_first_page_is_worth_nothing():
    (page,) = (notebook for notebook in NOTEBOOKS if notebook not in LESSONS)
    cells = read_notebook(page.source_path).cells
    assert [cell.id for cell in cells if marks_of(cell)] == ["setup"]
    assert not page.exercises and not page.problems
