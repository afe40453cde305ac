"""Attacks, and their arena: a tiny course on this machine, graded in one process as a class would be.

Each attack is one class in `cases`, tried in the arena beside the right and the wrong control."""

from __future__ import annotations

import compileall
import hashlib
import importlib
import json
import os
import re
import resource
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from nbformat import NotebookNode
from nbgrader.apps.api import NbGraderAPI
from tiny_course import FOLDER, NAME, GradedClass, after, answered, hand_in, make_course

from nbjudge.course.configuration import read_config
from nbjudge.record.graded_cell import is_verdict
from nbjudge.sandbox import fork_server_client as fork_server

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
SUPPRESS = "from contextlib import suppress\n"  # most attacks try what is refused
WRONG = {
    "double": "def double(x):\n    return x * 1",
    "row_sums": "def row_sums(x):\n    return x.sum()",
    "biggest": "def biggest(x):\n    return x.min()",
}


def wrong(code: str = "", **answers: str) -> NotebookNode:
    """The wrong control, with the attack's code in the cell of its first answer, behind `SUPPRESS`.

    What the code defines is not answered again. `answers` are in the place of further wrong ones.
    """
    code = SUPPRESS + code if "suppress(" in code else code
    defined = {
        name for name in WRONG if re.search(rf"^(def {name}\(|(\w+ = )*{name} = )", code, re.MULTILINE)
    }
    first = code if "double" in defined else f"{code}\ndef double(x):\n    return x"
    rest = {name: "" if name in defined else right for name, right in WRONG.items()}
    return answered(**(rest | ({"double": first} if code else {}) | answers))


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
    """An attack and its expected result: a row of `ATTACKS` in a file of `cases`, or a class there.

    What it tries is said in one sentence, which is a class's docstring.
    """

    # Code in the cell of the first answer, with the course's folder and the mark's for {root} and {mark}.
    code = ""
    answers: Mapping[str, str] = {}  # code in the place of the wrong control's other answers
    more_cells: Sequence[tuple[str, NotebookNode | str]] = ()  # and cells behind those with these ids
    files: Mapping[str, bytes] = {}  # further files beside the notebook
    limits: Mapping[str, float] = {}  # other limits than the arena's
    proof = ""  # a pattern in what the attack shows: one that did nothing was not withstood
    withstood = ""  # a part of what it shows where it found or did nothing
    next_looks = ""  # code at the beginning of the next notebook, to look for what was left
    nothing_left = NOTHING_LEFT  # what it shows where it finds nothing
    represents = ""  # the family of attacks for which `make test` runs this one
    daily = ""  # an attack of the same kind that `make test` runs in its place: this one takes long
    most_memory: float = MOST_MEMORY  # MiB that grading it may cost the grader's own process

    def __init__(self, tries: str = "", **about: Any) -> None:
        assert all(hasattr(Attack, name) for name in about), about
        vars(self).update(about)
        self.tries = tries or " ".join((self.__doc__ or "").split())
        self.name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    def submission(self, arena: Arena) -> NotebookNode | bytes:
        """Return what is handed in; the arena says what an attacker could have guessed."""
        code = self.code.replace("{root}", str(arena.root)).replace("{mark}", str(arena.mark))
        work = wrong(code, **self.answers)
        for place, cell in self.more_cells:
            work = after(work, place, cell)
        return work

    def prepare(self, folder: Path, arena: Arena) -> None:
        """Links, pipes and whatever else `files` cannot hold."""

    def neighbour(self) -> NotebookNode:
        """The honest notebook that is graded right after it."""
        return after(answered(), "setup", self.next_looks) if self.next_looks else answered()

    def harm(self, arena: Arena) -> str:
        """A sentence, if damage of the attack's own kind can be seen from outside."""
        return ""

    def lay_out(self, folder: Path, arena: Arena) -> None:
        """Put what is beside the notebook into the submitted folder."""
        for name, content in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        self._memory_before = _most_memory()
        self.prepare(folder, arena)

    def done(self, arena: Arena) -> str:
        """Return what it did, in a sentence; empty where it was withstood."""
        shown = arena.shown(self.name)
        if not re.search(self.proof, shown):
            return f"it did nothing: {shown[:500]}"
        if self.withstood not in shown:
            return shown[:1000]
        cost = _most_memory() - self._memory_before
        if cost > self.most_memory:
            return f"it cost the grader {cost:.0f} MiB"
        if self.next_looks:
            left = arena.shown(f"after_{self.name}")
            if self.nothing_left not in left:
                return f"the next notebook found {left[:300]}"
        return self.harm(arena)


def all_attacks() -> list[Attack]:
    attacks = []
    for path in sorted(CASES.glob("*.py")):
        for name, attack in importlib.import_module(f"cases.{path.stem}").ATTACKS.items():
            attack.name = name
            attacks.append(attack)
    return attacks + [kind() for kind in Attack.__subclasses__()]


def _most_memory() -> float:
    """MiB that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# Roomy in time, so that an attack that searches or crashes comes to its end on a slow machine, too;
# those that hang ask for less of it (`IMPATIENT`). Tight in all else: floods cost no more than they must.
LIMITS = {
    "cell_seconds": 20,
    "answer_seconds": 10,
    "notebook_seconds": 60,
    "output_mebibytes": 1,
    "memory_mebibytes": 512,
    "disk_mebibytes": 64,
    "file_mebibytes": 32,
    "processes": 32,
    "open_files": 256,
}
# An honest notebook is graded after as many attacks, and after each that brings one of its own.
PATIENCE = 1 if os.environ.get("EVERY_SEED") else 12
# Words that are in the checks, in a comment of their own code, in the solutions, in the grader's
# environment and in the name of the course's folder: no attack may come to show one of them.
SECRETS = ("tapir", "quagga", "kinkajou", "okapi", "wombat", "numbat")
VARIABLE = ("NBJUDGE_PARENT", "wombat")
PLAIN = "yield case(draw.normal(draw.sizes(1)[0]))"
THROUGH = """
    code = "# kinkajou: no student is to read this\\ndef made(answer):\\n    return answer"
    yield case(draw.normal(draw.sizes(1)[0]), through=MadeInKernel(code))
    yield case(draw.normal(draw.sizes(1)[0]), measure=memory_of)
"""


@dataclass
class Arena:
    """The course, and nbgrader's own programming interface on it. `root` is its folder."""

    root: Path
    api: Any = field(init=False)
    graded: GradedClass = field(init=False)
    unfollowed: list[str] = field(default_factory=list)  # attacks that no honest notebook has come after
    strangers: set[psutil.Process] = field(init=False)  # processes that were there before

    def __post_init__(self) -> None:
        self.strangers = set(psutil.process_iter())
        make_course(self.root)
        self._ask_through_code()
        # What Python compiles at the first import would look like a change of the course.
        compileall.compile_dir(self.root / "checks", quiet=1)
        config = read_config(self.root)
        config.CourseDirectory.root = str(self.root)
        self.api, self.graded = NbGraderAPI(config=config), GradedClass(self.root)
        self.mark.mkdir()

    @property
    def mark(self) -> Path:
        """A folder outside the course, which stays empty unless someone leaves the sandbox."""
        return self.root.parent / MARK

    def grade(
        self, student: str, work: NotebookNode | bytes, attack: Attack | None = None
    ) -> dict[str, float]:
        """Points by exercise. AssertionError if nbgrader itself failed on this student."""
        folder = hand_in(self.root, student, work)
        if attack is not None:
            attack.lay_out(folder, self)
        self.api.config.RunAndJudge.update(LIMITS | dict(attack.limits if attack is not None else {}))
        result = self.api.autograde(FOLDER, student)
        assert result["success"], (result.get("log", "") + result.get("error", ""))[-2000:]
        return self.graded.points(student)

    def attack(self, attack: Attack) -> dict[str, float]:
        self.unfollowed.append(attack.name)
        return self.grade(attack.name, attack.submission(self), attack)

    def neighbour(self, work: NotebookNode) -> dict[str, float]:
        """Points of the honest student after the last attack."""
        points = self.grade(f"after_{self.unfollowed[-1]}", work)
        self.unfollowed.clear()
        return points

    def shown(self, student: str) -> str:
        """All that a student's cells show in the graded notebook; the judge's own words are left out."""
        outputs = [
            output
            for cell in self.graded.notebook(student).cells
            for output in cell.get("outputs", [])
            if not is_verdict(cell, output)
        ]
        return json.dumps(outputs, ensure_ascii=False)

    def secrets_in(self, student: str) -> list[str]:
        return [word for word in SECRETS if word in self.shown(student)]

    def fingerprint(self) -> str:
        """Of everything a student must neither see nor change."""
        digest = hashlib.sha256()
        for folder in ("source", "checks", "solutions"):
            for path in sorted((self.root / folder).rglob("*")):
                digest.update(str(path).encode() + (path.read_bytes() if path.is_file() else b""))
        return digest.hexdigest()

    def strays(self) -> list[str]:
        """Processes that run student code although nothing is being graded."""
        fork_server._current[0].drop_spare()  # which no student has seen
        ends = time.monotonic() + 60  # they are nice: on a busy machine it takes them a while to end
        grader = psutil.Process()
        while (found := [*filter(_is_fork, grader.children(recursive=True))]) and time.monotonic() < ends:
            time.sleep(0.1)
        found += filter(_bears_the_mark, {*psutil.process_iter()} - self.strangers)
        return [description for process in found if (description := _still_there(process))]

    def database_is_sound(self) -> bool:
        with sqlite3.connect(self.root / "gradebook.db") as connection:
            return connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)

    def _ask_through_code(self) -> None:
        """One group of the tiny course goes through code of the judge's own and is measured, for attacks."""
        checks = self.root / "checks" / f"{NAME}.py"
        text = checks.read_text()
        assert PLAIN in text
        imports = "import Exercise, MadeInKernel, case\nfrom nbjudge.torch.memory import memory_of"
        text = text.replace("import Exercise, case", imports)
        checks.write_text(text.replace(PLAIN, THROUGH.strip()))


def _still_there(process: psutil.Process) -> str:
    """A process in words; empty where it has ended meanwhile."""
    try:
        return f"{process.pid} {process.name()}"
    except psutil.NoSuchProcess:
        return ""


def _is_fork(process: psutil.Process) -> bool:
    """A supervisor or a kernel: forked from the fork server, which bubblewrap's two processes started."""
    try:
        if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
            return False
        name, ancestors = process.name(), [parent.name() for parent in process.parents()]
    except psutil.NoSuchProcess:
        return False
    return "bwrap" in ancestors[1:] and name != "bwrap" and ancestors[0] != "bwrap"


def _bears_the_mark(process: psutil.Process) -> bool:
    """Anyone who got away from his ancestors, in the words of his own command."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE and MARK in process.cmdline()
    except psutil.Error:
        return False
