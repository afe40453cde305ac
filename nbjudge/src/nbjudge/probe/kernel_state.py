"""The names and the random state of a kernel: set for the calls of an answer, and restored after them.

Given cells and tests assign names, too: `total`, `rows`, `result`. If a student calls a helper of theirs by
such a name, the answer is called with their helper in its place. A name that only the assignment's own cells
bind has the value that they gave it last, as it has for the reference. Random numbers are the same whenever
the same calls are made: a module that draws its own weights gets the same ones as others made like it, and a
cell after a check draws what it would have drawn without.

Part of what runs in the student's kernel, see `nbjudge.kernel.protocol`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from nbjudge.values.kinds import KINDS

# Kept on the module `sys`, where no cell of a notebook comes across it: the names that the student bound
# last, and all names as the last cell left them.
REMEMBERED = "nbjudge_names"
_NOTE = (
    "(lambda sys: (lambda old, now: sys.__setattr__('nbjudge_names', ({own}, now)))"
    "(sys.__dict__.get('nbjudge_names', ({{}}, {{}})), {{**sys.modules['__main__'].__dict__}}))"
    "(__import__('sys'))"
)
# Evaluated after each cell, of the assignment's own and of the student's. It costs as much as there are
# names, whatever they hold.
NOTE_GIVEN = _NOTE.format(own="old[0]")
NOTE_STUDENTS = _NOTE.format(
    own="{name: value for name, value in now.items()"
    " if old[1].get(name, now) is not value or old[0].get(name, now) is value}"
)


@contextmanager
def as_remembered(namespace: dict[str, Any]) -> Iterator[None]:
    """Give the student's names back what the student bound to them, and afterwards what they hold now."""
    remembered, _ = getattr(sys, REMEMBERED, ({}, {}))
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


@contextmanager
def drawing_from(seed: int) -> Iterator[None]:
    """Inside, Python and every library that is imported draw from this seed, a whole number below 2**32."""
    with ExitStack() as undo:
        undo.callback(random.setstate, random.getstate())
        random.seed(seed)
        for kind in KINDS:
            undo.callback(kind.draw_from(seed))
        yield
