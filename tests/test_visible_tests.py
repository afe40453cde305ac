"""The tests that students see: what goes wrong in them points at the student's own lines."""

import ast

import pytest
from test_notebooks import HIDDEN, every_lesson, graded_code_cells

from attention_lab.start.visible_tests import LEFT_OUT_TAG
from nbjudge import cell_metadata
from nbjudge.course.notebooks import read_notebook

pytestmark = pytest.mark.lesson


def test_the_students_tests_leave_out_what_the_grader_does():
    """The students' package knows the tag by itself: it comes without the grader."""
    assert LEFT_OUT_TAG == cell_metadata.LEFT_OUT_TAG


@every_lesson
def test_an_exception_in_a_visible_test_shows_the_students_line_and_none_of_the_package(lesson):
    notebook = read_notebook(lesson.source_path)
    (setup,) = (cell for cell in notebook.cells if cell.id == "setup")
    helpers = {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(setup.source))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("attention_lab")
        for alias in node.names
    }
    for cell in graded_code_cells(notebook):
        nodes = list(ast.walk(ast.parse(HIDDEN.sub("", cell.source))))
        assert not helpers & {n.id for n in nodes if isinstance(n, ast.Name)}, cell.id
        # A refusal is a ValueError; whatever else the answer raises must come through.
        caught = [ast.unparse(n.type) for n in nodes if isinstance(n, ast.ExceptHandler) and n.type]
        assert set(caught) <= {"ValueError"} and not any(
            isinstance(n, ast.ExceptHandler) and n.type is None for n in nodes
        ), cell.id
