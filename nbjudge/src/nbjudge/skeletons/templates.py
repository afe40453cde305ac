"""Templates of assignments and exercises: text files, of which a course may have its own.

A file `*.cells` holds cells of a notebook. Each begins with a line such as ``--- graded ID points=2``:
what the cell is for, its id and its options. ``--- same ID`` stands for the cell of nbjudge's own template,
and ``--- exercises`` for the place of the exercises. `string.Template` replaces names such as `$name`.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

import nbformat
from nbformat import NotebookNode

OWN = Path(__file__).with_name("templates")
WORDS: dict[str, dict[str, str]] = tomllib.loads((OWN / "words.toml").read_text(encoding="utf-8"))
HEADER = re.compile(r"^--- (.+)\n", re.MULTILINE)
PLAIN = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}
# The metadata for nbgrader of a code cell, by what the cell is for; "code" and "text" have none.
MARKS: dict[str, dict[str, Any]] = {
    "given": {"locked": True},
    "answer": {"solution": True},
    "graded": {"grade": True, "locked": True, "cell_type": "code"},
}


@dataclass(frozen=True)
class Cell:
    """A cell of a template: what it is for, its id, its source and the options of its header."""

    kind: str
    id: str
    source: str
    options: Mapping[str, str] = field(default_factory=dict)

    def filled(self, values: Mapping[str, str]) -> NotebookNode:
        """Return the cell of a notebook, with these values in their places."""
        cell_id, source = (Template(text).substitute(values) for text in (self.id, self.source))
        metadata: dict[str, Any] = {"jp-MarkdownHeadingCollapsed": True} if "folded" in self.options else {}
        if "tags" in self.options:
            metadata["tags"] = self.options["tags"].split(",")
        if self.kind == "text":
            return nbformat.v4.new_markdown_cell(source, id=cell_id, metadata=metadata)
        if self.kind in MARKS:
            points = {"points": float(self.options["points"])} if "points" in self.options else {}
            metadata["nbgrader"] = PLAIN | MARKS[self.kind] | points | {"grade_id": cell_id}
        return nbformat.v4.new_code_cell(source, id=cell_id, metadata=metadata)


@dataclass(frozen=True)
class Form:
    """The templates of a course, and what its commands print.

    Attributes
    ----------
    folder
        The course's own templates; a file that is missing there is nbjudge's.
    layer_values
        What `layer_checks.py.txt` says in the course's words.
    page
        The file beside the checks that every new exercise adds its answer to; empty if there is none.
    tests
        The file beside the notebook that every new exercise adds its visible test to, as
        `function_test.py.txt` or `layer_test.py.txt` has it; empty if the graded cell holds the test.
    program, build
        The command that an author types, and the one that makes release and solution.
    advice
        What is printed last, once there is an exercise.
    """

    folder: Path = OWN
    layer_values: Mapping[str, str] = field(default_factory=dict)
    page: str = ""
    tests: str = ""
    program: str = "nbjudge"
    build: str = "nbgrader generate_assignment --force $folder && nbgrader generate_solution --force $folder"
    advice: str = ""

    def text(self, name: str) -> str:
        """Return a template as it is."""
        own = self.folder / name
        return (own if own.exists() else OWN / name).read_text(encoding="utf-8")

    def cells(self, name: str) -> list[Cell]:
        """Return the cells of a template, with nbjudge's own in the place of "same"."""
        generic = {cell.id: cell for cell in _cells((OWN / name).read_text(encoding="utf-8"))}
        return [generic[cell.id] if cell.kind == "same" else cell for cell in _cells(self.text(name))]

    def assignment(self) -> tuple[list[Cell], list[Cell]]:
        """Return the cells before the exercises, and those behind them."""
        cells = self.cells("assignment.cells")
        place = next(index for index, cell in enumerate(cells) if cell.kind == "exercises")
        return cells[:place], cells[place + 1 :]

    def files(self, place: str) -> dict[str, str]:
        """Return the files beside a new notebook ("source") or beside its checks ("checks"), by name."""
        files = sorted((self.folder / place).glob("*.txt"))
        return {file.stem: file.read_text(encoding="utf-8") for file in files}


def _cells(text: str) -> Iterator[Cell]:
    _, *parts = HEADER.split(text)
    for header, source in zip(parts[::2], parts[1::2], strict=True):
        kind, *words = header.split()
        options = dict((*word.split("=", 1), "")[:2] for word in words[1:])
        yield Cell(kind, words[0] if words else "", source.removesuffix("\n"), options)


OWN_MODULE = "nbjudge.authoring"
IMPORTED_FROM = re.compile(r"^from (\S+) import .*\bExercise\b", re.MULTILINE)
TORCH = re.compile(r"^import torch\b", re.MULTILINE)


@dataclass(frozen=True)
class Vocabulary:
    """The module that checks import `Exercise` and `case` from, and the library of their values."""

    module: str = OWN_MODULE
    torch: bool = False

    @property
    def words(self) -> dict[str, str]:
        """What templates say of the library."""
        return WORDS["torch" if self.torch else "numpy"]

    def values(self, layer: bool = False) -> dict[str, str]:
        """What templates say in this course's words; a layer is built besides."""
        # A course without an `Exercise` of its own must say that exercises draw tensors.
        draws = self.torch and self.module == OWN_MODULE
        lines = [f"from {self.module} import Exercise, case"]
        of_torch = [name for name, used in (("Draw", draws), ("build", layer)) if used]
        if of_torch:
            lines.append(f"from nbjudge.torch import {', '.join(of_torch)}")
        own = {"imports": "\n".join(lines), "draw": "\n    draw=Draw," if draws else ""}
        return self.words | own | (WORDS["layer"] if layer else {})


def vocabulary_of(checks: Path) -> Vocabulary:
    """That of the checks in a folder."""
    texts = [file.read_text() for file in sorted(checks.rglob("*.py"))] if checks.is_dir() else []
    modules = Counter(module for text in texts for module in IMPORTED_FROM.findall(text))
    (module, _), *_ = modules.most_common(1) or [(OWN_MODULE, 0)]
    return Vocabulary(module, any(TORCH.search(text) for text in texts))
