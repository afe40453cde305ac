"""The grader's report and exports need no library for data or pictures: many courses do without one."""

from __future__ import annotations

import ast
from importlib.metadata import requires
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

GRADER = Path(__file__).parents[1] / "nbjudge" / "src" / "nbjudge"
HEAVY = {"pandas", "matplotlib", "seaborn", "numpy", "torch", "scipy"}


def imported(file: Path) -> set[str]:
    """The packages that a file imports, at its top or inside a function."""
    nodes = list(ast.walk(ast.parse(file.read_text())))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("package", ["report", "exports"])
def test_no_table_and_no_picture_needs_a_heavy_library(package):
    files = list((GRADER / package).rglob("*.py"))
    assert files and {file.name: found for file in files if (found := imported(file) & HEAVY)} == {}


def test_a_heavy_import_would_be_seen(tmp_path):
    module = tmp_path / "late.py"
    module.write_text("def late():\n    import pandas.api\n    from torch.nn import Linear\n")
    assert imported(module) & HEAVY == {"pandas", "torch"}


@pytest.mark.parametrize("package", ["pandas", "matplotlib"])
def test_the_grader_does_not_ask_for_it(package):
    assert not [line for line in requires("nbjudge") or [] if line.startswith(package)]
