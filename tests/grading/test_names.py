"""Given cells and tests use names that students use, too: an answer is called with the student's own."""

from __future__ import annotations

import ast
import shutil
import symtable
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from nbjudge.authoring import case
from nbjudge.calls import Answer, calls_for
from nbjudge.cell_metadata import Origin, is_written_by_student, mark_origin
from nbjudge.course.assignment_forms import grading_template
from nbjudge.course.configuration import read_config
from nbjudge.course.course import open_course
from nbjudge.course.loading import read_notebook
from nbjudge.grading.grade import grade
from nbjudge.kernel.client import KernelClient, open_kernel
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.settings import Limits
from nbjudge.submission.merge import merge_submission
from nbjudge.submission.read_submission import SubmittedCell

pytestmark = pytest.mark.integration
ROOT = Path(__file__).parents[2]
COURSE = open_course(ROOT)
PATIENT = Limits(cell=240, answer=240, notebook=1200)
DIE = "import os\nos._exit(1)"


def given(source: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_code_cell(source)


def written(source: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_code_cell(source, metadata={"nbgrader": {"solution": True}})


def answer_of(kernel: KernelClient, *cells: nbformat.NotebookNode) -> Answer:
    for cell in cells:
        kernel.run_cell(cell)
    (answer,) = kernel.call("total", calls_for([case(3)], [None]), {}).answers
    return answer


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[KernelClient]:
    with open_kernel(tmp_path, KernelEnvironment(limits=PATIENT)) as kernel:
        yield kernel


HELPED = "def weights(n):\n    return n + 1\ndef total(n):\n    return 2 * weights(n)"
CLIPPED = "def total(n):\n    return min(n, limit)"
USED = {
    "its helper's name": ((written(HELPED), given("weights = [0.5, 0.5]")), 8),
    "a removed helper": ((written(HELPED), given("del weights")), 8),
    "its own name": ((written(HELPED), given("total = 0")), 8),
    "its helper's name after an error": ((written(HELPED + "\n1 / 0"), given("weights = 0")), 8),
    "its helper's name before a new kernel": ((written(HELPED), given("weights = 0"), written(DIE)), 8),
    "a name that only given cells have": (
        (written("def total(n):\n    return n + later"), given("later = 4")),
        7,
    ),
    "a name that the student uses again": (
        (written(HELPED), given("weights = [0.5]"), written("def weights(n):\n    return n")),
        6,
    ),
    # A given cell that sets its own name again takes effect; one that sets a student's does not.
    "its own again": ((given("limit = 1.0"), written(CLIPPED), given("limit = 2.0")), 2),
    "its own again, and fails": ((given("limit = 1.0"), written(CLIPPED), given("limit = 2.0\n1 / 0")), 2),
    "its own after a failure": ((given("limit = 1.0\n1 / 0"), written(CLIPPED), given("limit = 2.0")), 2),
    "a student's first": ((written("limit = 1.0"), given("limit = 2.0"), written(CLIPPED)), 2),
    "builtin names": ((written("limit = dict = set = 2.0\n" + CLIPPED), given("limit = 1.0")), 2),
    "a student's later": (
        (given("limit = 1.0"), written("limit = 2.0"), written(CLIPPED), given("limit = 1.0")),
        2,
    ),
}


@pytest.mark.parametrize(("cells", "value"), USED.values(), ids=USED)
def test_an_answer_finds_the_names_of_its_student(kernel, cells, value):
    assert answer_of(kernel, *cells).value == value


def test_given_cells_find_their_names_after_a_call(kernel):
    """Given cells find their own names after an answer was asked."""
    answer_of(kernel, written(HELPED), given("weights = [0.5, 0.5]; new = 7"))
    shown = given("print(weights, new)")
    kernel.run_cell(shown)
    assert shown.outputs[0].text == "[0.5, 0.5] 7\n"


@pytest.mark.parametrize(("origin", "status"), [(Origin.STUDENT, "value"), (Origin.COURSE, "raised")])
def test_without_cell_ids_the_merge_says_whose_it_is(kernel, origin, status):
    """Without cell ids a helper is the students if the merge says so."""
    total = written("def total(n):\n    return 2 * weights(n)")
    helper, taken = given("def weights(n):\n    return n + 1"), given("weights = [0.5, 0.5]")
    mark_origin(helper, origin)
    mark_origin(taken, Origin.COURSE)
    for cell in (total, helper, taken):
        del cell["id"]
    answer = answer_of(kernel, total, helper, taken)
    assert answer.status == status


# ---- the lessons ---------------------------------------------------------------------------------

LESSONS = [lesson for lesson in COURSE.assignments.values() if lesson.exercises]
CALLS_ITS_HELPERS = """
from functools import wraps as _wraps
{helpers}
_helpers = lambda: ({names},)
_plain_{name} = {name}
"""
FUNCTION = """
@_wraps(_plain_{name})
def {name}(*args, **kwargs):
    for helper in _helpers():
        helper(0)
    return _plain_{name}(*args, **kwargs)
"""
CLASS = """
class {name}(_plain_{name}):
    def {method}(self, *args, **kwargs):
        for helper in _helpers():
            helper(0)
        return super().{method}(*args, **kwargs)
"""


def names_assigned(source: str) -> set[str]:
    """At the top level of a cell, by whatever statement; imports aside, which everybody needs."""
    names = set()
    for statement in parsed(source).body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            names.add(statement.name)
        else:
            nodes = ast.walk(statement)
            names |= {
                node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
    return names


def global_names(source: str) -> set[str]:
    """Those that a cell looks up or assigns at its top level; a function's own variables are none."""
    names, tables = set(), [symtable.symtable(source, "<cell>", "exec")]
    while tables:
        table = tables.pop()
        module = table.get_type() == "module"
        names |= {symbol.get_name() for symbol in table.get_symbols() if module or symbol.is_global()}
        tables += table.get_children()
    return names


def parsed(source: str) -> ast.Module:
    return ast.parse("\n".join(line for line in source.splitlines() if not line.startswith(("%", "!"))))


def with_helpers(source: str, name: str, reference: object, names: list[str]) -> str:
    """The cell of an answer, which calls a helper of each of these names whenever it is asked."""
    helpers = "\n".join(f"def {helper}(value):\n    return value" for helper in names)
    text = source + CALLS_ITS_HELPERS.format(helpers=helpers, names=", ".join(names), name=name)
    method = "forward" if hasattr(reference, "forward") else "__init__"
    return text + (CLASS if isinstance(reference, type) else FUNCTION).format(name=name, method=method)


@pytest.mark.lesson
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
@pytest.mark.integration
def test_helpers_names_cost_no_right_answer(lesson, tmp_path):
    """Every answer calls a helper under each name that a given cell or a test uses for something else.

    Those cells do nothing here but use these names: what they work out besides takes a minute.
    """
    notebook, config = read_notebook(lesson.source_path), read_config(ROOT)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    answers = "\n".join(cell.source for cell in code if is_written_by_student(cell))
    given_cells = [cell for cell in code if not is_written_by_student(cell) and cell.id != "setup"]
    not_theirs = global_names(answers) | lesson.exercises.keys()
    helpers = sorted(set().union(*(names_assigned(cell.source) for cell in given_cells)) - not_theirs)
    assert len(helpers) > 5
    form = grading_template(notebook, config, lesson.exercise_of_cell, lesson.source_path.parent)
    for cell in form.cells:
        used = names_assigned(cell.source) if cell.id in {given.id for given in given_cells} else set()
        if used and not used & not_theirs:
            cell.source = " = ".join([*sorted(used), "0"])
    for cell in code:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in lesson.exercises:
            cell.source = with_helpers(cell.source, name, lesson.reference_answer(name), helpers)
    submitted = [SubmittedCell(cell.cell_type, cell.source, cell_id=cell.id) for cell in notebook.cells]
    folder = shutil.copytree(lesson.source_path.parent, tmp_path / "work")  # with the files that are given
    shown = tuple(config.RunAndJudge.exposed_modules)
    world = KernelEnvironment(limits=PATIENT, modules=lesson.modules, exposed_modules=shown)
    verdicts = grade(merge_submission(form, submitted), lesson, folder, 7, world)
    assert {verdict.exercise for verdict in verdicts} == lesson.exercises.keys()
    assert {
        verdict.exercise: verdict.message for verdict in verdicts if verdict.points < verdict.max_points
    } == {}
