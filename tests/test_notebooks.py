"""Every lesson is made the way docs/writing-a-lesson.md says, and no solution reaches its release."""

import ast
import builtins
import re
from pathlib import Path

import nbformat
import pytest

from attention_lab.authoring.draw import FRESH_HEAD_COUNTS, FRESH_SMALL_SIZES, Draw
from attention_lab.build import canonical
from attention_lab.students import LESSON_MODULES, STUDENT_MODULES
from nbjudge.course.course import open_course
from nbjudge.course.notebooks import read_notebook

WIDTHS = {count * size for count in FRESH_HEAD_COUNTS for size in FRESH_SMALL_SIZES}  # of all heads together
DRAWN = WIDTHS.union(Draw.fresh_sizes, Draw.fresh_even_sizes, FRESH_HEAD_COUNTS, FRESH_SMALL_SIZES)
COURSE = open_course(Path(__file__).parents[1])
NOTEBOOKS = list(COURSE.lessons.values())
# The first page is made like a lesson and has no exercises; every other notebook must have some.
LESSONS = [notebook for notebook in NOTEBOOKS if notebook.folder != "00_start_here"]
SET_UP_IMPORTS = {"math": "math", "torch": "torch", "torch.nn": "nn", "torch.nn.functional": "F"}
HIDDEN = re.compile(r"### BEGIN HIDDEN TESTS\n(.*?)### END HIDDEN TESTS", re.DOTALL)
SOLUTION = re.compile(r"[ ]*### BEGIN SOLUTION\n(.*?)[ ]*### END SOLUTION", re.DOTALL)
SCHEME = re.compile(r"### BEGIN MARK SCHEME\n(.*?)### END MARK SCHEME", re.DOTALL)
CHECK = re.compile(r'^check\("(\w+)"\)\.points$', re.MULTILINE)
WIDGET_MODULES = {"ipywidgets", "attention_lab.sliders"}
MARKS = {  # (grade, locked, solution) of the cells that nbgrader knows
    ("code", "setup"): (False, True, False),
    ("code", "answer"): (False, False, True),
    ("code", "graded"): (True, True, False),
    ("markdown", "question"): (False, True, False),
    ("markdown", "written answer"): (True, False, True),
}

pytestmark = pytest.mark.lesson
every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
every_notebook = pytest.mark.parametrize("lesson", NOTEBOOKS, ids=lambda lesson: lesson.name)


def marks_of(cell):
    return cell.metadata.get("nbgrader", {})


def code_of(cell):
    """A code cell without magics, which are no Python."""
    return re.sub(r"^\s*[%!].*$", "", cell.source, flags=re.MULTILINE)


def release_of(lesson):
    return nbformat.read(COURSE.root / "release" / lesson.folder / f"{lesson.name}.ipynb", as_version=4)


def answer_cells(notebook):
    return {c.id: c for c in notebook.cells if c.cell_type == "code" and marks_of(c).get("solution")}


def graded_code_cells(notebook):
    return [c for c in notebook.cells if c.cell_type == "code" and marks_of(c).get("grade")]


@every_notebook
def test_the_source_is_in_canonical_form_without_outputs_or_widget_state(lesson):
    text = lesson.source_path.read_text()
    assert canonical(nbformat.reads(text, as_version=4)) == text, "run `make build`"
    notebook = read_notebook(lesson.source_path)
    assert "widgets" not in notebook.metadata
    for cell in notebook.cells:
        assert not cell.get("outputs"), cell.id
        folded = {"jp-MarkdownHeadingCollapsed"} if cell.id == "excursions" else set()
        assert set(cell.metadata) == set(cell.metadata) & {"nbgrader", "tags"} | folded, cell.id


@every_notebook
def test_every_cell_has_an_id_of_its_own_and_graders_know_it_by_that_id(lesson):
    cells = read_notebook(lesson.source_path).cells
    ids = [cell.id for cell in cells]
    assert len(set(ids)) == len(ids)
    for cell in cells:
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", cell.id)
        if marks_of(cell):
            assert marks_of(cell)["grade_id"] == cell.id


@every_notebook
def test_cells_are_marked_for_nbgrader_as_their_part_asks(lesson):
    for cell in read_notebook(lesson.source_path).cells:
        marks = marks_of(cell)
        if not marks:
            continue
        part = (
            ("setup" if cell.id == "setup" else "graded" if cell.id.startswith("test_") else "answer")
            if cell.cell_type == "code"
            else ("question" if cell.id.endswith("_question") else "written answer")
        )
        flags = (marks["grade"], marks["locked"], marks["solution"])
        assert flags == MARKS[cell.cell_type, part], f"{cell.id}, {part}"
        assert (marks["schema_version"], marks["task"]) == (3, False), cell.id
        assert ("points" in marks) == marks["grade"], cell.id


@every_lesson
def test_the_set_up_cell_comes_first_and_imports_what_answers_may_rely_on(lesson):
    code = [cell for cell in read_notebook(lesson.source_path).cells if cell.cell_type == "code"]
    assert code[0].id == "setup"
    imported = {
        alias.name: alias.asname or alias.name
        for node in ast.walk(ast.parse(code[0].source))
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert imported.items() >= SET_UP_IMPORTS.items()


def modules_imported(cells):
    """Of this package: "plots" for `from attention_lab.plots import curves`."""
    nodes = [node for cell in cells for node in ast.walk(ast.parse(code_of(cell)))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.split(".")[1] for name in names if name.startswith("attention_lab.")}


@every_notebook
def test_what_it_imports_students_have_and_what_is_graded_the_sandbox_shows(lesson):
    cells = [cell for cell in read_notebook(lesson.source_path).cells if cell.cell_type == "code"]
    assert modules_imported(cells) <= set(STUDENT_MODULES)
    if lesson in LESSONS:
        graded = [cell for cell in cells if "left-out-of-grading" not in cell.metadata.get("tags", [])]
        assert modules_imported(graded) <= set(LESSON_MODULES)


@every_notebook
def test_no_number_in_the_code_is_a_size_that_the_grader_draws(lesson):
    for cell in read_notebook(lesson.source_path).cells:
        if cell.cell_type == "code":
            constants = (n.value for n in ast.walk(ast.parse(code_of(cell))) if isinstance(n, ast.Constant))
            clashing = {n for n in constants if type(n) is int and n in DRAWN}
            assert not clashing, f"{cell.id}: {clashing} may be a hidden case's size"


@every_lesson
def test_every_graded_cell_hides_one_check_worth_what_its_groups_are_worth(lesson):
    for cell in graded_code_cells(read_notebook(lesson.source_path)):
        (hidden,) = HIDDEN.findall(cell.source)
        (name,) = CHECK.findall(cell.source)
        assert CHECK.findall(hidden) == [name], f"{cell.id}: the check stands outside the hidden region"
        assert cell.id == f"test_{name}"
        assert lesson.exercises[name].points == marks_of(cell)["points"], cell.id
        called = (n.func for n in ast.walk(ast.parse(HIDDEN.sub("", cell.source))) if isinstance(n, ast.Call))
        tests = {"example", "refuses", "same"} & {n.id for n in called if isinstance(n, ast.Name)}
        assert tests or "assert " in cell.source, f"{cell.id} shows the student no test"


@every_lesson
def test_under_every_graded_cell_the_tutor_is_asked(lesson):
    """In a cell that no grading run needs: the sandbox has no tutor, and a panel is no stored output."""
    cells = read_notebook(lesson.source_path).cells
    for cell, below in zip(cells, cells[1:], strict=False):
        if marks_of(cell).get("grade"):
            name = cell.id.removeprefix("test_")
            assert below.source == f'check("{name}")', cell.id
            assert below.metadata == {"tags": ["left-out-of-grading", "nbval-ignore-output"]}


@every_lesson
def test_the_path_ends_on_the_whole_lesson_on_one_page(lesson):
    cells = read_notebook(lesson.source_path).cells
    (place,) = (number for number, cell in enumerate(cells) if cell.source == "check()")
    assert cells[place].id == "one-page" and cells[place + 1].id == "excursions"
    assert cells[place].metadata == {"tags": ["left-out-of-grading", "nbval-ignore-output"]}
    assert (lesson.checks_path / "one_page.py").is_file()


@every_lesson
def test_every_exercise_has_an_answer_cell_and_a_graded_cell(lesson):
    notebook = read_notebook(lesson.source_path)
    names = set(lesson.exercises)
    assert names
    assert set(answer_cells(notebook)) == names
    assert {cell.id for cell in graded_code_cells(notebook)} == {f"test_{name}" for name in names}


@every_lesson
def test_an_answer_cell_is_one_documented_definition_with_one_solution(lesson):
    for name, cell in answer_cells(read_notebook(lesson.source_path)).items():
        (node,) = ast.parse(cell.source).body
        assert isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name
        documented = [n for n in ast.walk(node) if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
        said = " ".join(ast.get_docstring(each) or "" for each in documented)
        assert re.search(r"returns?\b|->", said), f"{name}: what is returned?"
        assert SOLUTION.findall(cell.source), name


@every_notebook
def test_the_release_holds_nothing_that_only_graders_may_see(lesson):
    text = (COURSE.root / "release" / lesson.folder / f"{lesson.name}.ipynb").read_text()
    for secret in ("BEGIN SOLUTION", "HIDDEN TESTS", "MARK SCHEME", "nbjudge", ").points"):
        assert secret not in text, secret
    source = read_notebook(lesson.source_path)
    schemes = [line for cell in source.cells for part in SCHEME.findall(cell.source) for line in lines(part)]
    models = [
        line
        for cell in source.cells
        if cell.cell_type == "markdown" and marks_of(cell).get("grade")
        for line in lines(cell.source)
    ]
    release = release_of(lesson)
    everything = "\n".join(cell.source for cell in release.cells)
    for line in (*schemes, *models):
        assert line not in everything
    for cell in release.cells:
        assert not cell.get("outputs"), cell.id
    assert "widgets" not in release.metadata


@every_lesson
def test_the_release_leaves_every_answer_to_be_written(lesson):
    solutions = answer_cells(read_notebook(lesson.source_path))
    for name, cell in answer_cells(release_of(lesson)).items():
        ast.parse(cell.source)
        assert "raise NotImplementedError" in cell.source, name
        for solution in SOLUTION.findall(solutions[name].source):
            leaked = [line for line in lines(solution) if line in cell.source]
            assert not leaked, name


def lines(text):
    return [line.strip() for line in text.splitlines() if len(line.strip()) > 3]


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
def test_what_is_left_out_of_grading_is_needed_by_nothing_that_is_run(lesson):
    defined, left_out = set(dir(builtins)), set()
    for cell in [c for c in read_notebook(lesson.source_path).cells if c.cell_type == "code"]:
        if "left-out-of-grading" in cell.metadata.get("tags", []):
            assert not marks_of(cell), cell.id
            left_out |= set(defined_names(cell))
            continue
        defined |= set(defined_names(cell))
        used = {node.id for node in ast.walk(ast.parse(code_of(cell))) if isinstance(node, ast.Name)}
        assert not (used & left_out) - defined, f"{cell.id} needs {(used & left_out) - defined}"


def test_the_first_page_asks_for_nothing_and_is_worth_nothing():
    (page,) = (notebook for notebook in NOTEBOOKS if notebook not in LESSONS)
    cells = read_notebook(page.source_path).cells
    assert [cell.id for cell in cells if marks_of(cell)] == ["setup"]
    assert not page.exercises and not page.problems()
