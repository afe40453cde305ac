"""Given cells and tests of the lessons use names that students may use for helpers: it costs no points."""

from __future__ import annotations

import ast
import shutil
import symtable
from pathlib import Path

import pytest

from nbjudge.cell_metadata import is_written_by_student
from nbjudge.course.assignment_forms import grading_template
from nbjudge.course.configuration import read_config
from nbjudge.course.course import open_course
from nbjudge.course.loading import read_notebook
from nbjudge.grading.grade import grade
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.settings import Limits
from nbjudge.submission.merge import merge_submission
from nbjudge.submission.read_submission import SubmittedCell

pytestmark = [pytest.mark.integration, pytest.mark.lesson]
ROOT = Path(__file__).parents[1]
COURSE = open_course(ROOT)
PATIENT = Limits(cell=240, answer=240, notebook=1200)
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


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
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
