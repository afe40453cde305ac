"""The text of a graded notebook's file is the one that nbformat writes."""

from __future__ import annotations

import nbformat
import pytest

from nbjudge.nbgrader_hooks.submission_exporter import notebook_file

CONTENTS = {
    "usual": "x = 'ü\u2028\x7f'\n\ny = 1\n",
    "empty": "",
    "half a character": "x = '\ud800'",
}


@pytest.mark.parametrize("source", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("number", [1e-7, 1e22, -0.0, 10**30, float("nan")])
def test_as_nbformat_writes_it(source, number):
    output = nbformat.v4.new_output("display_data", {"application/json": {"a": [], "b": {}, "c": number}})
    cells = [
        nbformat.v4.new_code_cell(source, outputs=[output]),
        nbformat.v4.new_markdown_cell("b\na", metadata={"z": 1, "a": None}),
    ]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"signature": "left out"})
    expected = nbformat.v4.writes(notebook)
    assert notebook_file(notebook) == f"{expected}\n"
