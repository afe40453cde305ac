"""The statements of a cell, with the names that each binds and uses."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from symtable import SymbolTable

from nbjudge.parsing import parsed, symbols

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
    binds, loads, changed = set[str](), set[str](), set[str]()
    top = symbols(text)
    for table in _tables(top):
        for symbol in table.get_symbols():
            if table is top or symbol.is_global():
                if symbol.is_referenced():
                    loads.add(symbol.get_name())
                if symbol.is_assigned() or symbol.is_imported():
                    (binds if table is top else changed).add(symbol.get_name())
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


def _tables(table: SymbolTable) -> Iterator[SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)
