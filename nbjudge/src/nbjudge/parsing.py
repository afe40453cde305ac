"""Python's parser, for one thread at a time, and what a piece of code needs of others.

In CPython 3.11 two threads that parse at once may end in a SystemError ("AST constructor recursion depth
mismatch"): all of an interpreter count in one place how deep they are.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from symtable import SymbolTable, symtable
from threading import RLock
from types import CodeType
from typing import Any, TypeVar

T = TypeVar("T")
_one_at_a_time = RLock()


def parsed(source: str) -> ast.Module:
    """The tree of a program. Raises SyntaxError."""
    with _one_at_a_time:
        return ast.parse(source)


def parsed_expression(source: str) -> ast.expr:
    """The tree of an expression. Raises SyntaxError."""
    with _one_at_a_time:
        return ast.parse(source, mode="eval").body


def global_names(source: str) -> tuple[set[str], set[str], set[str]]:
    """The global names that a program looks up, that it binds, and that functions in it bind.

    Raises SyntaxError.
    """
    loads, binds, changed = set[str](), set[str](), set[str]()
    with _one_at_a_time:
        top = symtable(source, "<cell>", "exec")
    for table in _tables(top):
        for symbol in table.get_symbols():
            if table is top or symbol.is_global():
                if symbol.is_referenced():
                    loads.add(symbol.get_name())
                if symbol.is_assigned() or symbol.is_imported():
                    (binds if table is top else changed).add(symbol.get_name())
    return loads, binds, changed


def reached(start: Iterable[T], leads_to: Callable[[T], Iterable[T]]) -> list[T]:
    """List the parts of `start` and all that they lead to: each once, and behind what it needs itself.

    With `global_names`, `leads_to` gives the cells that bind what a cell looks up. It is called once a part.
    """
    found, known = list[T](), set[T]()
    parts, waiting = list[T](), [iter(start)]  # those on the way, and of each what it leads to
    while waiting:
        following = next((part for part in waiting[-1] if part not in known), None)
        if following is not None:
            known.add(following)
            parts.append(following)
            waiting.append(iter(leads_to(following)))
        else:
            waiting.pop()
            found += [parts.pop()] if parts else []
    return found


def _tables(table: SymbolTable) -> Iterator[SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


@lru_cache(maxsize=512)  # reading a class's source takes 20 ms, and a case group asks for it again and again
def source_of(thing: Any) -> str:
    """The source of a function or class, at the left margin. Raises OSError where there is none."""
    with _one_at_a_time:
        return textwrap.dedent(inspect.getsource(thing))


def compiled(statement: ast.stmt, file: str, flags: int = 0) -> CodeType:
    """The code of one statement, compiled with the given `__future__` flags only. Raises SyntaxError."""
    with _one_at_a_time:
        return compile(ast.Module([statement], []), file, "exec", flags, dont_inherit=True)
