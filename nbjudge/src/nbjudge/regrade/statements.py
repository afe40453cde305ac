"""The statements of a cell, with the names that each binds and uses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from symtable import SymbolTable

from nbjudge.parsing import parsed, symbols

LONGEST_PARSED = 20_000  # characters; some longer code takes Python's parser gigabytes
MAGIC = re.compile(r"^([ \t]*)([%!?].*)$", re.MULTILINE)
# Code that uses one of these can change any name, or a module beside the notebook, without naming it.
REACHES_ANY_NAME = frozenset(
    {"eval", "exec", "globals", "locals", "vars", "setattr", "delattr", "__import__", "__builtins__"}
    | {"get_ipython", "importlib", "builtins", "gc", "inspect", "ctypes"}
    | {"open", "os", "sys", "subprocess", "shutil", "pathlib", "Path"}
)
REACHES_ANY_ATTRIBUTE = frozenset({"__dict__", "__globals__", "__code__", "__setattr__", "f_globals"})


@dataclass(frozen=True)
class Statement:
    """A statement at the top level of a cell.

    `binds` and `loads` hold names of the notebook's namespace and, with a dot before them, of attributes.
    """

    text: str  # without comments and needless spaces
    binds: frozenset[str] = frozenset()  # names that it assigns, deletes, or whose object it changes
    loads: frozenset[str] = frozenset()
    is_definition: bool = False  # of a function or class, or an import: nothing happens until it is used
    changes_others: bool = False  # a definition that changes more than its own name when it is used
    is_opaque: bool = False  # it may change any name


def statements_of(source: str) -> list[Statement]:
    """The statements of a cell. Code that cannot be parsed is one opaque statement."""
    try:
        if len(source) > LONGEST_PARSED:
            raise ValueError("too long")
        try:
            tree, magics = parsed(source), list[str]()
        except SyntaxError:  # IPython's lines are no Python; without them the rest may be
            magics = [match[2].strip() for match in MAGIC.finditer(source)]
            if any(text.startswith("%%") for text in magics):  # such as a cell that writes a module
                raise
            tree = parsed(MAGIC.sub(r"\1pass", source))
        return [Statement(text, is_opaque=True) for text in magics] + [_statement(node) for node in tree.body]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [Statement(source.strip(), is_opaque=True)] if source.strip() else []


def _statement(node: ast.stmt) -> Statement:
    text = ast.unparse(node)
    binds, loads, changed = set[str](), set[str](), set[str]()
    top = symbols(text)
    for table in _tables(top):
        for symbol in table.get_symbols():
            if table is top or symbol.is_global():
                if symbol.is_referenced():
                    loads.add(symbol.get_name())
                if symbol.is_assigned() or symbol.is_imported():
                    (binds if table is top else changed).add(symbol.get_name())
    is_opaque = bool(loads & REACHES_ANY_NAME)
    for each in ast.walk(node):
        if isinstance(each, ast.alias):
            is_opaque |= each.name == "*" or each.name.split(".")[0] in REACHES_ANY_NAME
        elif isinstance(each, ast.Attribute | ast.Subscript):
            attribute = {f".{each.attr}"} if isinstance(each, ast.Attribute) else set[str]()
            is_opaque |= any(name[1:] in REACHES_ANY_ATTRIBUTE for name in attribute)
            roots = {name.id for name in ast.walk(each) if isinstance(name, ast.Name)}
            if isinstance(each.ctx, ast.Load):
                loads |= attribute
            elif not roots or roots & loads:  # not of what is local to a function, such as `self`
                changed |= attribute | (roots & loads)
    return Statement(
        text,
        frozenset(binds | changed),
        frozenset(loads),
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom),
        bool(changed),
        is_opaque,
    )


def _tables(table: SymbolTable) -> Iterator[SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)
