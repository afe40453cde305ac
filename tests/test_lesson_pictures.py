"""What lessons draw: sliders are left out of nbval's comparison, figures are shown."""

import ast

import nbformat
import pytest
from lesson_cells import code_of, every_notebook

from nbjudge.course import read_notebook

pytestmark = pytest.mark.lesson
WIDGET_MODULES = {"ipywidgets", "attention_lab.lesson_14.chat", "attention_lab.sliders.weights"}
WIDGET_MODULES |= {f"attention_lab.start.{name}" for name in ("progress_page", "set_up")}


@every_notebook
def test_only_sliders_are_not_compared(lesson):
    for cell in read_notebook(lesson.source_path).cells:
        if cell.cell_type == "code":
            ignored = "nbval-ignore-output" in cell.metadata.get("tags", [])
            # Times differ from run to run; a cell that prints them says so by its tag.
            tags = cell.metadata.get("tags", [])
            trained = "trained" in tags
            assert not trained or "left-out-of-grading" in tags, cell.id
            shows_a_slider = bool(calls(cell) & sliders_of(lesson))
            asks_the_tutor = "check" in calls(cell) and "left-out-of-grading" in tags
            asks_again = cell.id == "earlier"  # chosen by the learner's record
            assert ignored == (
                asks_again or "timed" in tags or trained or shows_a_slider or asks_the_tutor
            ), cell.id


@every_notebook
def test_cells_that_draw_end_by_showing_what_they_drew(lesson):
    for cell in nbformat.read(lesson.solution_path, as_version=4).cells:
        drawn = any("image/png" in output.get("data", {}) for output in cell.get("outputs", []))
        if drawn:
            assert "plt.show()" in cell.source, cell.id


def sliders_of(lesson):
    """The names that the set-up cell imports because they show a widget."""
    (setup,) = (cell for cell in read_notebook(lesson.source_path).cells if cell.id == "setup")
    return {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(setup.source))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if node.module in WIDGET_MODULES or alias.name.endswith(("_slider", "_sliders", "_stepper"))
    }


def calls(cell):
    tree = ast.parse(code_of(cell))
    return {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
