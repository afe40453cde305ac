"""Which answers are one and the same: equal code wherever the answer can reach it, and equal files beside it.

The code is compared statement by statement, with the names that each statement binds and uses. Comments,
spaces and line breaks do not matter, unless the code may read them. In doubt two answers are not the same.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from nbformat import NotebookNode

from nbjudge.cell_metadata import checked_exercise, is_written_by_student, record_answer
from nbjudge.parsing import global_names, parsed

LONGEST_PARSED = 20_000  # characters; some longer code takes Python's parser gigabytes
# Code that uses one of these can change any name, or a module beside the notebook, without naming it.
REACHES_ANY_NAME = frozenset(
    {"eval", "exec", "globals", "locals", "vars", "setattr", "delattr", "__import__", "__builtins__"}
    | {"get_ipython", "importlib", "builtins", "gc", "inspect", "ctypes", "linecache", "traceback"}
    | {"open", "io", "os", "sys", "subprocess", "shutil", "pathlib", "Path"}
)
HISTORY = re.compile(r"In|Out|_[io]h|_dh|_i+|_i\d+|_\d+|___?")  # IPython's names for cells and their results
# Calls and decorators without an effect of their own; code that binds one of these names is opaque.
SHOWING, DECORATORS = frozenset({"print", "display"}), frozenset({"staticmethod", "classmethod", "property"})
# Methods that run without a call: when a class is derived from, or indexed.
RUN_BY_CLASSES = frozenset({"__init_subclass__", "__set_name__", "__class_getitem__", "__mro_entries__"})
WITHOUT_EFFECT = sys.stdlib_module_names - {"__future__"}  # as modules that are imported
REACHES_ANY_ATTRIBUTE = frozenset({"__dict__", "__globals__", "__code__", "__setattr__", "f_globals"})

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Statement:
    """A statement at the top level of a cell.

    `binds` and `loads` hold names of the notebook's namespace and, with a dot before them, of attributes.
    """

    text: str  # without comments and needless spaces, or unchanged if it cannot be parsed
    binds: frozenset[str] = frozenset()  # names that it assigns, deletes, or whose object it changes
    loads: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()  # packages, of a statement that is an import
    is_definition: bool = False  # of a function or class, or an import: nothing happens until it is used
    has_effect: bool = False  # it may do more than bind plain names
    changes_others: bool = False  # a definition that changes more than its own name when it is used
    is_opaque: bool = False  # it may change any name


@lru_cache(maxsize=256)  # most cells are the assignment's, and the same for the whole class
def statements_of(source: str) -> tuple[Statement, ...]:
    """The statements of a cell. One that is not all Python, such as magics, is one opaque statement."""
    try:
        if len(source) > LONGEST_PARSED:
            raise ValueError("too long")
        return tuple(_statement(node) for node in parsed(source).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return (Statement(source.strip(), is_opaque=True),) if source.strip() else ()


def _statement(node: ast.stmt) -> Statement:
    text = ast.unparse(node)
    loads, binds, changed = global_names(text)
    is_opaque = bool(loads & REACHES_ANY_NAME) or "_" in loads - binds or any(map(HISTORY.fullmatch, loads))
    imports = set[str]()
    if isinstance(node, ast.Import):
        imports = {each.name.partition(".")[0] for each in node.names}
    elif isinstance(node, ast.ImportFrom):
        imports = {(node.module or ".").partition(".")[0]}
    has_effect = _has_effect(node)
    for each in ast.walk(node):
        if isinstance(each, ast.alias):
            is_opaque |= each.name == "*" or each.name.split(".")[0] in REACHES_ANY_NAME
        elif isinstance(each, ast.FunctionDef):
            is_opaque |= each.name in RUN_BY_CLASSES
        elif isinstance(each, ast.ClassDef):
            is_opaque |= bool(each.keywords)  # a metaclass
        elif isinstance(each, ast.Attribute | ast.Subscript):
            attribute = {f".{each.attr}"} if isinstance(each, ast.Attribute) else set[str]()
            is_opaque |= any(name[1:] in REACHES_ANY_ATTRIBUTE for name in attribute)
            roots = {name.id for name in ast.walk(each) if isinstance(name, ast.Name)}
            if isinstance(each.ctx, ast.Load):
                loads |= attribute
            elif not roots or roots & loads:  # not of what is local to a function, such as `self`
                changed |= attribute | (roots & loads)
    is_opaque |= any(name.lstrip(".") in SHOWING | DECORATORS for name in binds | changed)
    return Statement(
        text,
        frozenset(binds | changed),
        frozenset(loads),
        frozenset(imports),
        not has_effect and isinstance(node, DEFINITIONS),
        has_effect,
        bool(changed),
        is_opaque,
    )


def _has_effect(node: ast.stmt) -> bool:
    """Whether a statement may do more than bind names; in doubt it does. Of imports it is not said here."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Pass():
            return False
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return not (_are_plain_names(node.decorator_list) and _is_pure([node.args, node.returns]))
        case ast.ClassDef():
            return not (
                _are_plain_names(node.decorator_list)
                and _is_pure(node.bases)
                and not any(isinstance(each, ast.Import | ast.ImportFrom) for each in node.body)
                and not any(map(_has_effect, node.body))
            )
        case ast.Assign():
            return not (_is_pure([node.value]) and all(map(_binds_names, node.targets)))
        case ast.AnnAssign():
            return not (_is_pure([node.value, node.annotation]) and _binds_names(node.target))
        case ast.Expr(ast.Constant()):
            return False
        case ast.Expr(ast.Call(ast.Name(name), arguments, [])) if name in SHOWING:
            return not _is_pure(arguments)
    return True  # a bare name, too, can be one of IPython's magics


def _are_plain_names(decorators: list[ast.expr]) -> bool:
    return all(isinstance(each, ast.Name) and each.id in DECORATORS for each in decorators)


def _binds_names(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple | ast.List):
        return all(map(_binds_names, target.elts))
    return isinstance(target, ast.Name)


def _is_pure(nodes: Iterable[ast.AST | None]) -> bool:
    """Whether expressions call nothing, wait for nothing and bind nothing as they are worked out."""
    for node in nodes:
        if isinstance(node, ast.Call | ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr):
            return False
        parts = [node.args] if isinstance(node, ast.Lambda) else ast.iter_child_nodes(node) if node else ()
        if not _is_pure(parts):
            return False
    return True


@dataclass(frozen=True)
class _PlacedStatement:
    """A statement of a notebook, with the number of the judged cell that comes after it."""

    statement: Statement
    by_student: bool
    part: int
    cell: int
    given: int  # cells of the course's before it
    source: str  # of the whole cell


def record_answers(notebook: NotebookNode, files: Mapping[str, bytes]) -> None:
    """Record in each judged cell of a graded notebook which answers are the same; see `answers_of`."""
    answers = answers_of(notebook.cells, files)
    for cell in notebook.cells:
        exercise = checked_exercise(cell)
        if exercise is not None:
            record_answer(cell, answers[exercise])


def answers_of(cells: Sequence[Mapping[str, Any]], files: Mapping[str, bytes]) -> dict[str, str]:
    """Tell which answers of a merged notebook are the same as another student's.

    Parameters
    ----------
    cells
        The cells of the merged notebook.
    files
        The student's own files beside it, by path.

    Returns
    -------
    dict
        By exercise, a digest that equal answers share. It covers what the student wrote since the judged cell
        before; of what they wrote further up everything that may do more than bind names, and what this code
        reaches by name; the statements before either in its cell; and the files.
    """
    answers: dict[str, str] = {}
    placed: list[_PlacedStatement] = []
    given = 0
    for number, cell in enumerate(cells):
        exercise = checked_exercise(cell)
        if exercise is not None:
            answers[exercise] = _digest(_reached(placed, exercise, len(answers), files), files)
        elif cell.get("cell_type") == "code":
            by_student = is_written_by_student(cell)
            source = _text(cell.get("source"))
            placed += [
                _PlacedStatement(each, by_student, len(answers), number, given, source)
                for each in statements_of(source) or (Statement(""),)
            ]
            given += not by_student
    return answers


def _reached(
    placed: Sequence[_PlacedStatement], exercise: str, part: int, files: Mapping[str, bytes]
) -> Iterator[str]:
    """The student's statements that an answer can depend on, in their order.

    The course's own are the same for everybody, but lead to further statements of the student's. Where the
    student's code may read or change anything, all they wrote counts, comments included.
    """
    harmless = WITHOUT_EFFECT.union(*(each.statement.imports for each in placed if not each.by_student))
    harmless -= {path.partition("/")[0].partition(".")[0] for path in files}
    needed, variables, effectful = {exercise}, set[str](), set[str]()
    reached, last_of_cell = set[int](), dict[int, int]()
    sizes: tuple[int, ...] | None = None
    while sizes != (sizes := (len(reached), len(needed), len(variables), len(effectful))):
        for index, each in enumerate(placed):
            statement = each.statement
            if not (
                index in reached
                or (
                    each.by_student
                    and (
                        each.part == part
                        or statement.is_opaque
                        or statement.has_effect
                        or not statement.imports <= harmless
                        # It may stop its cell before the rest of it has run.
                        or index < last_of_cell.get(each.cell, -1)
                    )
                )
                or statement.binds & needed
                or statement.loads & effectful
                or (not statement.is_definition and statement.loads & variables)
            ):
                continue
            reached.add(index)
            last_of_cell[each.cell] = max(index, last_of_cell.get(each.cell, -1))
            needed |= statement.loads
            if not statement.is_definition:
                variables |= statement.binds
            elif statement.changes_others or statement.is_opaque or statement.loads & effectful:
                effectful |= statement.binds
    parts = [
        placed[index]
        for index in sorted(reached)
        if placed[index].by_student and placed[index].statement.text
    ]
    if any(each.statement.is_opaque for each in parts):
        return iter({each.cell: f"{each.given} {each.source}" for each in placed if each.by_student}.values())
    return (f"{each.given} {each.statement.text}" for each in parts)


def _digest(statements: Iterator[str], files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    parts = [text.encode("utf-8", "surrogatepass") for text in statements]
    for name, content in sorted((os.fsencode(name), content) for name, content in files.items()):
        parts += [name, content]
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:32]


def _text(source: Any) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")
