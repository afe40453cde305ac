"""What an attack is: one file of `cases`, whose docstring says in one sentence what it tries.

    submission()        what is handed in, with the wrong control's answers where it has none of its own
    FILES               further files beside the notebook, name -> bytes
    LIMITS              other limits than the arena's
    prepare(folder)     links, pipes and whatever else `FILES` cannot hold
    neighbour()         the honest notebook that is graded right after it, to look for what was left behind
    NEXT_LOOKS          or only the code that looks, at the beginning of that notebook
    NOTHING_LEFT        what it shows where it finds nothing
    PROOF               a pattern in what the attack shows: one that did nothing was not withstood
    REASON              a part of what the student is told of the first exercise
    REPRESENTS          the family of attacks for which `make test` runs this one
    DAILY               an attack of the same kind that `make test` runs in its place: this one takes long
    MOST_MEMORY         MiB that grading it may cost the grader's own process
    harm(arena)         a sentence, if damage of the attack's own kind can be seen from outside

`submission` and `prepare` may take the arena as well, for what an attacker could have guessed.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from nbformat import NotebookNode
from tiny_course import FULL, NOTHING, after, answered

if TYPE_CHECKING:
    from arena import Arena

CASES = Path(__file__).parent / "cases"
# What an attack leaves where it manages to write, or to go on running, outside its sandbox. Tests in
# other processes look for marks of their own.
MARK = f"attention-lab-attack-{os.getpid()}"
# For attacks that hang: how little patience shows as much as how much. One whose proof is in what
# comes after leaves the whole notebook its time.
IMPATIENT = {"cell_seconds": 1, "answer_seconds": 0.5}
HASTY = IMPATIENT | {"notebook_seconds": 2}
MOST_MEMORY = 700  # MiB
NOTHING_LEFT = "of another: []"
WRONG = {
    "double": "def double(x):\n    return x * 1",
    "row_sums": "def row_sums(x):\n    return x.sum()",
    "biggest": "def biggest(x):\n    return x.min()",
}


def wrong(**answers: str) -> NotebookNode:
    """The wrong control, with the attack's answers in the place of wrong ones."""
    return answered(**(WRONG | answers))


def finder(*words: str) -> str:
    """Code of a function `found_in(*texts)`: which of the words are in them.

    It holds them as numbers only: anyone who searches memory and finds a word has not found this.
    """
    return f"""
def found_in(*texts, coded={[list(map(ord, word)) for word in words]}):
    words = ("".join(map(chr, codes)) for codes in coded)
    return [word for word in words if any(word in text for text in texts)]
"""


# Replies of an attack's own: `turn[0]` counts them, `reply(number)` makes the next one's tree. Each comes
# with 1000 ones, which `tensor` and `array` refer to.
FORGED_REPLIES = """
import base64, builtins, json
turn, real = [0], builtins.exec
tensor = {"tensor": ["float64", [1000], 0, [0]]}
array = {"array": ["float64", [10, 100], 0, [1, 0]]}
def dict_of(**entries):
    return {"dict": [[name, value] for name, value in entries.items()]}
def words(tree):
    both = (json.dumps(tree).encode(), torch.ones(1000, dtype=torch.float64).numpy().tobytes())
    return " ".join(base64.b64encode(word).decode() for word in both)
def forged_exec(compiled, space=None, *more):
    real(compiled, space, *more)
    if isinstance(space, dict) and "respond" in space:
        turn[0] += 1
        space["respond"] = lambda *_: reply(turn[0])
builtins.exec = forged_exec
"""


@dataclass
class Attack:
    """One file of `cases`."""

    module: ModuleType
    _memory_before: float = 0

    @property
    def name(self) -> str:
        return self.module.__name__

    @property
    def tries(self) -> str:
        return " ".join((self.module.__doc__ or "").split())

    @property
    def daily(self) -> str:
        """The name of the attack of its kind that is run every day."""
        return self._own("DAILY", self.name)

    @property
    def represents(self) -> str:
        """The family of attacks that this one represents in `make test`; empty for most."""
        return self._own("REPRESENTS", "")

    @property
    def proof(self) -> str:
        return self._own("PROOF", "")

    @property
    def limits(self) -> dict[str, float]:
        return self._own("LIMITS", {})

    def submission(self, arena: Arena) -> NotebookNode | bytes:
        return _given(self.module.submission, arena)

    @property
    def brings_a_neighbour(self) -> bool:
        return hasattr(self.module, "neighbour") or self._looks is not None

    def neighbour(self) -> NotebookNode:
        if self._looks is not None:
            return after(answered(), "setup", self._looks)
        return self._own("neighbour", answered)()

    def lay_out(self, folder: Path, arena: Arena) -> None:
        """Put what is beside the notebook into the submitted folder."""
        for name, content in self._own("FILES", {}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        self._memory_before = _most_memory()
        _given(self._own("prepare", lambda folder: None), folder, arena)

    def harm(self, arena: Arena) -> str:
        """What it did, in a sentence; empty where it was withstood."""
        shown = arena.shown(self.name)
        if not re.search(self.proof, shown):
            return f"it did nothing: {shown[:500]}"
        reason = arena.graded.reason(self.name, "double")
        if self._own("REASON", "") not in reason:
            return f"it is said to be {reason}"
        cost = _most_memory() - self._memory_before
        if cost > self._own("MOST_MEMORY", MOST_MEMORY):
            return f"it cost the grader {cost:.0f} MiB"
        left = arena.shown(f"after_{self.name}") if self._looks is not None else ""
        if self._looks is not None and self._own("NOTHING_LEFT", NOTHING_LEFT) not in left:
            return f"the next notebook found {left[:300]}"
        return self._own("harm", lambda _arena: "")(arena)

    @property
    def _looks(self) -> str | None:
        return self._own("NEXT_LOOKS", None)

    def _own(self, name: str, otherwise: Any) -> Any:
        return getattr(self.module, name, otherwise)


def all_attacks() -> list[Attack]:
    return [Attack(_load(path)) for path in sorted(CASES.glob("*.py"))]


def _given(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function with as many of the arguments as it takes."""
    return function(*arguments[: len(inspect.signature(function).parameters)])


def _most_memory() -> float:
    """MiB that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


__all__ = [
    "FORGED_REPLIES",
    "FULL",
    "HASTY",
    "IMPATIENT",
    "MARK",
    "NOTHING",
    "WRONG",
    "Attack",
    "all_attacks",
    "finder",
    "wrong",
]
