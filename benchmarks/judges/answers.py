"""The answers of the benchmark: the lines of `answers.jsonl.xz`, and how they are made from the course."""

from __future__ import annotations

import ast
import json
import lzma
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from attention_lab.maintain.demo.material import answer_cells, cell_of, definition, names_in
from nbjudge.course import Assignment, Course, find_course, read_notebook

ROOT = Path(__file__).resolve().parents[2]
FILE = Path(__file__).with_name("answers.jsonl.xz")  # compressed: answers repeat each other's code
VERSION = "1.1"
LICENCE = "BSD-3-Clause"
RIGHT_KINDS = ("reference", "accepted", "torch-judge reference")
SOLUTION_MARK = re.compile(r"^ *### (BEGIN|END) SOLUTION\n?", re.MULTILINE)
# What every notebook of the course imports; an answer may use these names without an import of its own.
SET_UP = {
    "math": "import math",
    "torch": "import torch",
    "nn": "import torch.nn as nn",
    "F": "import torch.nn.functional as F",
    "pd": "import pandas as pd",
}


@dataclass(frozen=True)
class Answer:
    """One line of a file of answers; README.md describes its fields."""

    id: str
    exercise: str
    lesson: str
    statement: str
    signature: str
    kind: str
    code: str
    sentence: str = ""
    differs_on: str = ""
    agrees_on: int = 0
    version: str = VERSION
    licence: str = LICENCE

    @property
    def is_right(self) -> bool:
        """Return whether a judge should accept it."""
        return self.kind in RIGHT_KINDS


def read_answers(path: Path = FILE) -> list[Answer]:
    """Read a file of answers; raise ValueError if there is none or a line is not one."""
    try:
        with _open(path, "rt") as lines:
            return [Answer(**json.loads(line)) for line in lines]
    except (OSError, TypeError, ValueError, lzma.LZMAError, EOFError) as error:
        raise ValueError(
            f"{path} holds no answers ({error}). Build it: benchmarks/judges/build.py."
        ) from error


def write_answers(answers: Iterable[Answer], path: Path = FILE) -> None:
    """Write one JSON object per line, in the order given."""
    with _open(path, "wt") as lines:
        lines.writelines(f"{json.dumps(asdict(answer), ensure_ascii=False)}\n" for answer in answers)


def _open(path: Path, mode: str) -> IO[str]:
    """Open a file of answers, compressed if its name ends on `.xz`."""
    opened: IO[str] = (lzma.open if path.suffix == ".xz" else open)(path, mode, encoding="utf-8")
    return opened


@cache
def course() -> Course:
    """The course that this repository holds; loading its checks is slow, so all judges share it."""
    return find_course(ROOT)


def all_exercises() -> frozenset[str]:
    """Return the names of all exercises of the course."""
    return frozenset(name for assignment in course().assignments.values() for name in assignment.exercises)


def answers_of(assignment: Assignment, only: Iterable[str] = ()) -> Iterator[Answer]:
    """Yield the right and wrong answers of an assignment's exercises (`only` of these), not validated yet."""
    solution = read_notebook(assignment.solution_path)
    references = {name: SOLUTION_MARK.sub("", cell) for name, cell in answer_cells(solution).items()}
    wanted = [name for name in references if not only or name in only]
    chosen = [name for name in wanted if name in assignment.exercises]  # loading them is slow
    for name in chosen:
        exercise = assignment.exercises[name]
        own = {
            "exercise": name,
            "lesson": assignment.folder,
            "statement": _statement(references[name], name),
            "signature": signature(references[name], name),
        }
        code = standalone(assignment, _with_earlier(references, name))
        yield Answer(id=f"{name}/reference", kind="reference", code=code, **own)
        bundle = [("accepted", answer, answer.__name__, "") for answer in exercise.accepted_alternatives]
        bundle += [("mistake", known.answer, known.name, known.message) for known in exercise.mistakes]
        for kind, answer, label, sentence in bundle:
            if cell := cell_of(answer, name, frozenset(SET_UP)):
                code = standalone(assignment, cell)
                yield Answer(id=f"{name}/{kind}/{label}", kind=kind, code=code, sentence=sentence, **own)


def standalone(assignment: Assignment, cell: str) -> str:
    """Return the text of a cell with all that it needs: imports, and the layers that its lesson gives."""
    modules = _given_modules(assignment)
    cell = _import_of(modules).sub("", cell)
    for text in modules.values():
        # A module may define an `F` of its own; in a cell, `F` is what the set-up cell imports.
        given = _defined(text) & names_in(cell) - SET_UP.keys()
        if given - _defined(cell):
            cell = f"{_import_of(modules).sub('', text)}\n\n{cell}"
    cell = cell.replace("from __future__ import annotations\n", "")
    imports = [line for name, line in SET_UP.items() if name in names_in(cell)]
    return "\n".join([*imports, "\n", cell.strip("\n"), ""]).lstrip("\n")


def _given_modules(assignment: Assignment) -> dict[str, str]:
    """The text of each module of layers that the lesson's set-up cell imports, by its full name."""
    cells = read_notebook(assignment.source_path).cells
    set_up = next(cell.source for cell in cells if cell.get("id") == "setup")
    found = re.findall(r"^from (attention_lab\.lesson_\d\d\.(\w+)) import", set_up, re.MULTILINE)
    return {
        module: ROOT.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
        for module, name in found
        if name not in ("visible_tests", "given")
    }


def _import_of(modules: Iterable[str]) -> re.Pattern[str]:
    """A pattern for the lines that import from one of these modules."""
    return re.compile(
        rf"^from ({'|'.join(map(re.escape, modules)) or '-'}) import (?:\([^)]*\)|.*)\n?", re.MULTILINE
    )


def _defined(code: str) -> set[str]:
    """The functions and classes that code defines at its outermost level."""
    return {each.name for each in ast.parse(code).body if isinstance(each, (ast.FunctionDef, ast.ClassDef))}


def _with_earlier(references: dict[str, str], name: str) -> str:
    """A reference after those of the earlier exercises that it calls."""
    needed = [
        reference for reference in references if reference in names_in(references[name]) and reference != name
    ]
    parts = [_with_earlier(references, each) for each in needed]
    return "\n\n\n".join([*dict.fromkeys(parts), references[name]])


def signature(code: str, name: str) -> str:
    """Return an answer's parameters: a function's, or those of a class's constructor and `forward`."""
    found = definition(code, name)
    if isinstance(found, ast.FunctionDef):
        return f"{name}({ast.unparse(found.args)})"
    methods: dict[str, Any] = {each.name: each for each in found.body if isinstance(each, ast.FunctionDef)}
    calls = [f"{name}({_without_self(methods['__init__'])})"] if "__init__" in methods else [name]
    return ", ".join(
        [*calls, f"forward({_without_self(methods['forward'])})"] if "forward" in methods else calls
    )


def _without_self(method: ast.FunctionDef) -> str:
    return ast.unparse(method.args).removeprefix("self").removeprefix(", ")


def _statement(code: str, name: str) -> str:
    """The first sentence of the docstring, on one line."""
    text = ast.get_docstring(definition(code, name)) or ""
    return " ".join(text.partition("\n\n")[0].split())
