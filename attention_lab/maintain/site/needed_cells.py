"""Which earlier cells of a notebook a cell needs: those that define the names it uses, and theirs."""

from __future__ import annotations

import symtable
from collections.abc import Iterator, Sequence


def needed_cells(codes: Sequence[str], wanted: int) -> list[int]:
    """The places of the cells that `codes[wanted]` rests on, in order, itself the last.

    A name is taken from the last cell before that defines it, as it would be when the notebook is run
    from the top. What a cell only changes (a list it appends to) is not followed.
    """
    tables = [symtable.symtable(code, "cell", "exec") for code in codes[: wanted + 1]]
    needed, waiting = {wanted}, [wanted]
    while waiting:
        place = waiting.pop()
        for name in _used(tables[place]):
            definer = next((n for n in range(place - 1, -1, -1) if _defines(tables[n], name)), None)
            if definer is not None and definer not in needed:
                needed.add(definer)
                waiting.append(definer)
    return sorted(needed)


def _used(table: symtable.SymbolTable) -> Iterator[str]:
    """The global names that a cell reads, inside its functions and classes too."""
    is_module = table.get_type() == "module"
    for symbol in table.get_symbols():
        if symbol.is_referenced() and not symbol.is_imported() and (is_module or symbol.is_global()):
            yield symbol.get_name()
    for inner in table.get_children():
        yield from _used(inner)


def _defines(table: symtable.SymbolTable, name: str) -> bool:
    """Whether a cell leaves the name behind for the cells below."""
    symbol = table.lookup(name) if name in table.get_identifiers() else None
    return symbol is not None and (symbol.is_assigned() or symbol.is_imported())
