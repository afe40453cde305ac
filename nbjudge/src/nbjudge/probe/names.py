"""A kernel's names as they were right after the student's own last cell.

Given cells and tests assign names, too: `total`, `rows`, `result`. Where a student calls a helper of theirs
by such a name, the answer is called with their helper in its place.

Part of what runs in the student's kernel, see `nbjudge.kernel.requests`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

REMEMBERED = "nbjudge_names"  # kept on the module `sys`, where no cell of a notebook comes across it
# Evaluated after each of the student's cells. It costs as much as there are names, whatever they hold.
REMEMBER = (
    "(lambda sys: setattr(sys, 'nbjudge_names', dict(sys.modules['__main__'].__dict__)))(__import__('sys'))"
)


@contextmanager
def as_remembered(namespace: dict[str, Any]) -> Iterator[None]:
    """Give the student's names back what the student bound to them, and afterwards what they hold now."""
    remembered = getattr(sys, REMEMBERED, {})
    absent = object()
    rebound = {
        name: namespace.get(name, absent)
        for name, value in remembered.items()
        if namespace.get(name, absent) is not value
    }
    namespace.update({name: remembered[name] for name in rebound})
    try:
        yield
    finally:
        for name, value in rebound.items():
            if value is absent:
                namespace.pop(name, None)
            else:
                namespace[name] = value
