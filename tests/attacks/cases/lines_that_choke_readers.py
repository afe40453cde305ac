"""Writes lines that take Python's parser, Pygments or a reader of markdown minutes and gigabytes."""

from attack import IMPATIENT, wrong
from nbformat.v4 import new_markdown_cell
from tiny_course import after, cell_of

DAILY = "source_bombs"
LIMITS = IMPATIENT
PROOF = "was handed in"
CHOKING = ["if False: import " + "biggest." * 25_000 + "a", "a." * 50_000, "-" * 50_000 + "1", "(" * 50_000]
CHOKING += ["def biggest(x):\n    return " + "[" * 50_000, "f'" + "{1}" * 30_000 + "'", "'''" * 30_001]
SLOW_PROSE = ["\\\\[" * 50_000, "\\begin{a}" * 20_000, "[" * 100_000, "\\begin{a}" * 2_000]


def submission():
    """No answer of its own to `biggest`, so that it is looked for in all the other cells."""
    work = wrong(double="print('was handed in')")
    work.cells.remove(cell_of(work, "biggest"))
    cell_of(work, "test_biggest").source = CHOKING[0]
    return after(work, "end", *CHOKING[1:], *map(new_markdown_cell, SLOW_PROSE))


def harm(arena):
    notebook = arena.graded.notebook(__name__)
    slow = [cell for cell in notebook.cells if cell.cell_type == "markdown" and len(cell.source) > 25_000]
    if not all(cell.source.startswith("~~~") for cell in slow):
        return "long prose is read as markdown"
    return "" if notebook.metadata.language_info.pygments_lexer == "text" else "its code is coloured"
