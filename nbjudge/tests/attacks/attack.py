"""Attacks: each is one class in `cases`, tried in the arena beside the right and the wrong control."""

from __future__ import annotations

import importlib
import os
import re
import resource
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nbformat import NotebookNode
from tiny_course import after, answered

if TYPE_CHECKING:
    from arena import Arena

CASES = Path(__file__).parent / "cases"
# What an attack leaves where it manages to write, or to go on running, outside its sandbox. Tests in
# other processes look for marks of their own.
MARK = f"nbjudge-attack-{os.getpid()}"
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


class Attack:
    """A family member of `cases`: a class whose docstring says in one sentence what it tries."""

    # Code in the place of the wrong control's answers.
    double: str | None = None
    row_sums: str | None = None
    biggest: str | None = None
    files: Mapping[str, bytes] = {}  # further files beside the notebook
    limits: Mapping[str, float] = {}  # other limits than the arena's
    proof = ""  # a pattern in what the attack shows: one that did nothing was not withstood
    withstood = ""  # a part of what it shows where it found or did nothing
    reason = ""  # a part of what the student is told of the first exercise
    next_looks: str | None = None  # code at the beginning of the next notebook, to look for what was left
    nothing_left = NOTHING_LEFT  # what it shows where it finds nothing
    represents = ""  # the family of attacks for which `make test` runs this one
    daily = ""  # an attack of the same kind that `make test` runs in its place: this one takes long
    most_memory: float = MOST_MEMORY  # MiB that grading it may cost the grader's own process

    def submission(self, arena: Arena) -> NotebookNode | bytes:
        """What is handed in; the arena says what an attacker could have guessed."""
        return wrong(**{name: code for name in WRONG if (code := getattr(self, name)) is not None})

    def prepare(self, folder: Path, arena: Arena) -> None:
        """Links, pipes and whatever else `files` cannot hold."""

    def neighbour(self) -> NotebookNode:
        """The honest notebook that is graded right after it."""
        return answered() if self.next_looks is None else after(answered(), "setup", self.next_looks)

    def harm(self, arena: Arena) -> str:
        """A sentence, if damage of the attack's own kind can be seen from outside."""
        return ""

    @property
    def name(self) -> str:
        return re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    @property
    def tries(self) -> str:
        return " ".join((self.__doc__ or "").split())

    @property
    def brings_a_neighbour(self) -> bool:
        return type(self).neighbour is not Attack.neighbour or self.next_looks is not None

    def lay_out(self, folder: Path, arena: Arena) -> None:
        """Put what is beside the notebook into the submitted folder."""
        for name, content in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        self._memory_before = _most_memory()
        self.prepare(folder, arena)

    def done(self, arena: Arena) -> str:
        """What it did, in a sentence; empty where it was withstood."""
        shown = arena.shown(self.name)
        if not re.search(self.proof, shown):
            return f"it did nothing: {shown[:500]}"
        if self.withstood not in shown:
            return shown[:1000]
        reason = arena.graded.reason(self.name, "double")
        if self.reason not in reason:
            return f"it is said to be {reason}"
        cost = _most_memory() - self._memory_before
        if cost > self.most_memory:
            return f"it cost the grader {cost:.0f} MiB"
        if self.next_looks is not None:
            left = arena.shown(f"after_{self.name}")
            if self.nothing_left not in left:
                return f"the next notebook found {left[:300]}"
        return self.harm(arena)


def all_attacks() -> list[Attack]:
    for path in sorted(CASES.glob("*.py")):
        importlib.import_module(f"cases.{path.stem}")
    return [kind() for kind in Attack.__subclasses__()]


def _most_memory() -> float:
    """MiB that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
