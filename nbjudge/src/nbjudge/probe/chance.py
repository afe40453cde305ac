"""What is drawn by chance while an answer is asked: the same whenever the same is asked.

Weights that a module draws for itself are then those of everybody who makes it alike, and what a class says
need be judged once. Afterwards chance goes on as if nothing had been asked: a cell behind a check draws what
it would have drawn without.

Part of what runs in the student's kernel, see `nbjudge.kernel.requests`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from nbjudge.values.kinds import KINDS


@contextmanager
def drawing_from(seed: int) -> Iterator[None]:
    """Inside, Python and every library that is imported draw from this seed, a whole number below 2**32."""
    with ExitStack() as undo:
        undo.callback(random.setstate, random.getstate())
        random.seed(seed)
        for kind in KINDS:
            undo.callback(kind.draw_from(seed))
        yield
