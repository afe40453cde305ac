"""A bug hunt in JupyterLab: the bug is found by a call, fixed in a cell, and kept in the record."""

import json

import nbformat
import pytest
from nbformat.v4 import new_code_cell
from pages import LessonPage
from playwright.sync_api import expect

from attention_lab.tutor import RECORD

pytestmark = [pytest.mark.integration, pytest.mark.browser]
MASK = "03_mask/mask.ipynb"
CELLS = {
    "hunt": "from attention_lab import hunt\nbug = hunt('causal_mask', 7, early=True)\nbug",
    "call": "bug(3)",
    "fix": "%%fix causal_mask 7\ndef causal_mask(seq_len):\n"
    "    return torch.ones(seq_len, seq_len, dtype=torch.bool).tril()",
    "after": "bug.fix()",
}


@pytest.mark.timeout(600)
def test_a_bug_is_found_and_fixed(start_lab, page):
    lab = start_lab()
    file = lab.folder / MASK
    notebook = nbformat.read(file, as_version=4)
    place = 1 + [cell.id for cell in notebook.cells].index("setup")
    notebook.cells[place:place] = [new_code_cell(source, id=name) for name, source in CELLS.items()]
    nbformat.write(notebook, file)
    lesson = LessonPage(page, lab, MASK)
    lesson.run_cell("setup")

    lesson.run_cell("hunt")
    shown = lesson.show("hunt").locator(".jp-OutputArea")
    expect(shown).to_contain_text("Wrong answer 7 to causal_mask. It raises nothing and is wrong somewhere.")
    expect(shown).to_contain_text("def causal_mask(seq_len)")
    lesson.run_cell("call")
    expect(lesson.show("call").locator(".jp-OutputArea")).to_contain_text("Now fix it")
    lesson.run_cell("fix")
    fixed = lesson.show("fix").locator(".jp-OutputArea")
    expect(fixed).to_contain_text("so nothing is hidden")
    assert set(json.loads((lab.folder / RECORD).read_text())["causal_mask"]["hunts"].values()) == {"fixed"}
    lesson.run_cell("after")
    expect(lesson.show("after").locator(".jp-OutputArea")).to_contain_text("The cell below has the code")
    expect(page.get_by_text("%%fix causal_mask 7")).to_have_count(2)  # the cell above, and the new one
