"""Templates of assignments and exercises: Jinja templates, of which a course may have its own.

A course's template may extend nbjudge's own, ``{% extends "nbjudge/function.cells" %}``, and replace its
blocks. A file `*.cells` holds cells of a notebook. Each begins with a line such as
``--- code ID {"tags": []}``: its type, its id and its metadata, to which nbgrader's defaults are added. The
exercises come at the line ``--- exercises``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat
from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader, StrictUndefined
from nbformat import NotebookNode

OWN = Path(__file__).with_name("templates")
HEADER = re.compile(r"^--- (code|text) (\S+)(.*)\n", re.MULTILINE)
EXERCISES = "--- exercises\n"
NBGRADER = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}


@dataclass(frozen=True)
class Form:
    """The templates of a course, and what its commands print.

    Attributes
    ----------
    folder
        The course's own templates; a file that is missing there is nbjudge's.
    package
        The folder, from the course's own, of the Python package that an assignment's notebook imports, with
        `{number}` for the first part of the assignment's name; empty if there is none. Every new exercise
        adds its visible test to `visible_tests.py` there, as `function_test.py.txt` or `layer_test.py.txt`
        has it; otherwise the graded cell holds the test.
    program, build
        The command that an author types, and the one that makes release and solution.
    advice
        What is printed last, once there is an exercise.
    """

    folder: Path = OWN
    package: str = ""
    program: str = "nbjudge"
    build: str = (
        "nbgrader generate_assignment --force {folder} && nbgrader generate_solution --force {folder}"
    )
    advice: str = ""

    @cached_property
    def _environment(self) -> Environment:
        own = FileSystemLoader(OWN)
        loader = ChoiceLoader([FileSystemLoader(self.folder), own, PrefixLoader({"nbjudge": own})])
        return Environment(
            loader=loader, trim_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined
        )

    def render(self, name: str, values: Mapping[str, Any]) -> str:
        """Return the text that a template makes of these values."""
        return self._environment.get_template(name).render(values)

    def visible_tests(self, assignment: str) -> Path | None:
        """Return the file, from the course's folder, that holds an assignment's visible tests."""
        number, _, _ = assignment.partition("_")
        return Path(self.package.format(number=number), "visible_tests.py") if self.package else None

    def files(self, place: str, values: Mapping[str, Any]) -> dict[str, str]:
        """Return the files of a new assignment's "package", or those beside its "checks", by name."""
        files = sorted((self.folder / place).glob("*.txt"))
        return {file.stem: self.render(f"{place}/{file.name}", values) for file in files}


def cells_of(text: str) -> list[NotebookNode]:
    """Return the cells that a template has made."""
    _, *parts = HEADER.split(text)
    return [_cell(*cell) for cell in zip(parts[::4], parts[1::4], parts[2::4], parts[3::4], strict=True)]


def _cell(kind: str, cell_id: str, metadata: str, source: str) -> NotebookNode:
    about = json.loads(metadata or "{}")
    if "nbgrader" in about:
        about["nbgrader"] = NBGRADER | about["nbgrader"] | {"grade_id": cell_id, "cell_type": "code"}
    make = nbformat.v4.new_markdown_cell if kind == "text" else nbformat.v4.new_code_cell
    return make(source.rstrip("\n"), id=cell_id, metadata=about)


OWN_MODULE = "nbjudge.authoring"
IMPORTED_FROM = re.compile(r"^from (\S+) import .*\bExercise\b", re.MULTILINE)
TORCH = re.compile(r"^import torch\b", re.MULTILINE)


def vocabulary_of(checks: Path) -> dict[str, Any]:
    """Return what templates have to know of a folder of checks.

    `module` is where they import `Exercise` and `case` from, `torch` whether their values are torch's,
    `library` how that is imported, and `draws_tensors` whether exercises must say that they draw tensors.
    """
    texts = [file.read_text() for file in sorted(checks.rglob("*.py"))] if checks.is_dir() else []
    modules = Counter(module for text in texts for module in IMPORTED_FROM.findall(text))
    (module, _), *_ = modules.most_common(1) or [(OWN_MODULE, 0)]
    torch = any(TORCH.search(text) for text in texts)
    library = "import torch" if torch else "import numpy as np"
    draws_tensors = torch and module == OWN_MODULE  # a course's own `Exercise` says it itself
    return {"module": module, "torch": torch, "library": library, "draws_tensors": draws_tensors}
