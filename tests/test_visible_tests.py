"""The tests that students see: what goes wrong in them points at the student's own lines."""

import ast
import contextlib
import io
import re
import shutil

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from lesson_cells import COURSE, HIDDEN, every_lesson, graded_code_cells
from rich.console import Console

from nbjudge.course import open_course, read_notebook
from nbjudge.try_checks.visible import problems, table_of, visible_tests

pytestmark = pytest.mark.lesson


@every_lesson
@pytest.mark.integration
@pytest.mark.timeout(600)
def test_they_catch_mistakes_and_nothing_right(lesson, capsys):
    tried = visible_tests(lesson)
    with capsys.disabled():
        Console(width=100).print(table_of(tried))
    assert {each.exercise for each in tried} == set(lesson.exercises)
    assert [problem for each in tried for problem in problems(each)] == []


def test_what_they_miss_is_said(tmp_path):
    """A test that cannot fail is found out."""
    shutil.copytree(COURSE.root, tmp_path / "course", ignore=shutil.ignore_patterns(".*", "build", "demo"))
    course = open_course(tmp_path / "course")
    source = course.folders.source / "01_dot_product" / "dot_product.ipynb"
    notebook = nbformat.read(source, as_version=4)
    (cell,) = (cell for cell in notebook.cells if cell.id == "test_attention_scores")
    hidden = HIDDEN.search(cell.source).group(0)
    cell.source = f"weights = attention_scores(torch.ones(2, 2), torch.ones(3, 2))\n{hidden}"
    nbformat.write(notebook, source)
    (lesson,) = open_course(tmp_path / "course").choose("01_dot_product")
    (tried,) = (test for test in visible_tests(lesson) if test.exercise == "attention_scores")
    message = " ".join(problems(tried))
    assert "The visible tests of `attention_scores` catch" in message and "leaves weights behind" in message


@every_lesson
def test_a_traceback_shows_the_students_line(lesson):
    """What an answer raises comes through; the package's own frames are hidden from tracebacks."""
    for cell in graded_code_cells(read_notebook(lesson.source_path)):
        nodes = list(ast.walk(ast.parse(HIDDEN.sub("", cell.source))))
        assert not any(isinstance(n, ast.Try) for n in nodes), cell.id


def test_the_examples_own_frames_are_hidden():
    shell = InteractiveShell.instance()
    shell.run_cell("from attention_lab.examples import example, refuses, same\nimport torch")
    shell.run_cell("def mine(x):\n    return torch.relu(x)")
    for code, message in (
        ("example('one', torch.relu, torch.zeros(1), gives=[1.0])", "expected [1.0], got [0.0]"),
        ("example('one', mine, 'text', gives=[1.0])", "mine(x)"),
        ("refuses('one', torch.relu, torch.zeros(1), naming=(3,))", "names 3"),
        ("same('one', torch.zeros(2), torch.zeros(3))", "expected shape (3,), got (2,)"),
    ):
        with io.StringIO() as shown, contextlib.redirect_stdout(shown):
            shell.run_cell(code)
            traceback = re.sub(r"\x1b\[[0-9;]*m", "", shown.getvalue())
        assert message in traceback and code[:20] in traceback
        assert "attention_lab/examples" not in traceback
