"""Edits, deletes and retypes graded and locked cells, and leaves results under their names."""

from attack import wrong
from nbformat.v4 import new_code_cell, new_output
from tiny_course import after, cell_of, without

REPRESENTS = "edited notebooks"


def submission():
    work = without(wrong(), "test_double", "shown")
    two = new_output("execute_result", data={"text/plain": "2"}, metadata={"nbjudge": {"points": 2}})
    after(work, "double", new_code_cell("2", id="test_double", outputs=[two]))
    cell_of(work, "test_row_sums").source = "raise SystemExit"
    cell_of(work, "setup").source = "import torch\ntorch.equal = torch.allclose = lambda *a, **k: True"
    prose = cell_of(work, "test_biggest")
    prose.source = "pass\n### BEGIN HIDDEN TESTS\n1\n### END HIDDEN TESTS"
    prose.cell_type = "markdown"
    del prose["outputs"], prose["execution_count"]
    return work
