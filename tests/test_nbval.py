"""The solution notebooks say what they said when they were stored; a changed number does not pass."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
SANITIZE = ROOT / "tests" / "nbval_sanitize.cfg"
pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.lesson]


def run_nbval(folder):
    """What pytest says of each cell in `folder`, run as `make test` runs the solutions: name -> passed."""
    report = folder / "report.xml"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "--rootdir", folder, folder]
        + ["-p", "no:cacheprovider", "--nbval", "--nbval-sanitize-with", SANITIZE, "--junit-xml", report],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert report.exists(), run.stdout + run.stderr
    cases = ElementTree.parse(report).iter("testcase")
    return {(case.get("classname"), case.get("name")): len(case) == 0 for case in cases}


def store(path, *cells):
    """A notebook of (source, what it is said to have printed) pairs."""
    notebook = nbformat.v4.new_notebook()
    notebook.metadata.kernelspec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    for source, printed in cells:
        output = nbformat.v4.new_output("stream", name="stdout", text=printed)
        notebook.cells.append(nbformat.v4.new_code_cell(source, outputs=[output], execution_count=1))
    nbformat.write(notebook, path)


def test_a_changed_stored_output_fails_its_cell_and_no_other(tmp_path):
    notebook = nbformat.read(ROOT / "solutions/01_dot_product/dot_product.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    printing = next(cell for cell in code if any("text" in output for output in cell.outputs))
    notebook.cells = code[: code.index(printing) + 1]
    (stream,) = printing.outputs
    last_digit = re.search(r"\d(?!.*\d)", stream.text, re.DOTALL)
    changed = str((int(last_digit.group()) + 1) % 10)
    stream.text = stream.text[: last_digit.start()] + changed + stream.text[last_digit.end() :]
    nbformat.write(notebook, tmp_path / "changed.ipynb")
    *earlier, last = run_nbval(tmp_path).values()
    assert all(earlier) and not last


def test_timings_and_addresses_may_differ_and_nothing_else_may(tmp_path):
    store(
        tmp_path / "prints.ipynb",
        ("print('an epoch: 1.25 s')", "an epoch: 0.5 s\n"),
        ("print('forward 350 µs, backward 2.5 ms')", "forward 1 ms, backward 12 ms\n"),
        ("print('<object at 0x7f01deadbeef>')", "<object at 0x55aa00112233>\n"),
        ("print('a weight of 0.3146')", "a weight of 0.3147\n"),
        ("print('2 sentences')", "3 sentences\n"),
        ("import sys; print('a warning', file=sys.stderr)", ""),
    )
    assert list(run_nbval(tmp_path).values()) == [True, True, True, False, False, False]
