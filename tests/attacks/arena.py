"""Where attacks are tried: a tiny course on this machine, graded in one process as a class would be."""

from __future__ import annotations

import hashlib
import importlib.util
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import psutil
from nbformat import NotebookNode
from nbgrader.apps.api import NbGraderAPI
from tiny_course import FOLDER, FULL, NOTHING, GradedClass, answered, hand_in, make_course

from attention_lab.grading.forms import course_config

CASES = Path(__file__).parent / "cases"
WRONG = {
    "double": "def double(x):\n    return x * 1",
    "row_sums": "def row_sums(x):\n    return x.sum()",
    "biggest": "def biggest(x):\n    return x.min()",
}
# Tight, so that an attack that hangs or floods costs seconds; honest work needs a fraction of it.
LIMITS = {
    "cell_seconds": 4,
    "answer_seconds": 4,
    "notebook_seconds": 30,
    "output_mebibytes": 1,
    "memory_mebibytes": 512,
    "disk_mebibytes": 64,
    "file_mebibytes": 32,
    "processes": 32,
    "open_files": 256,
}
# What an attack leaves where it manages to write outside its sandbox.
MARK = "attention-lab-attack"


def wrong(**answers: str) -> NotebookNode:
    """The wrong control, with the attack's answers in the place of wrong ones."""
    return answered(**(WRONG | answers))


@dataclass
class Attack:
    """One file of `cases`: its docstring says what it tries, `submission()` makes what is handed in.

    `FILES` (name → bytes) lie beside the notebook. `harm(arena)` returns a sentence if damage of
    the attack's own kind can be seen from outside.
    """

    module: ModuleType

    @property
    def name(self) -> str:
        return self.module.__name__

    @property
    def tries(self) -> str:
        return (self.module.__doc__ or "").strip().splitlines()[0]

    @property
    def files(self) -> dict[str, bytes]:
        return getattr(self.module, "FILES", {})

    def harm(self, arena: Arena) -> str:
        look: Callable[[Arena], str] = getattr(self.module, "harm", lambda _arena: "")
        return look(arena)


@dataclass
class Arena:
    """The course, and nbgrader's own programming interface on it."""

    root: Path
    api: Any = field(init=False)
    graded: GradedClass = field(init=False)

    def __post_init__(self) -> None:
        make_course(self.root)
        config = course_config(self.root)
        config.CourseDirectory.root = str(self.root)
        for name, value in LIMITS.items():
            setattr(config.RunAndJudge, name, value)
        self.api, self.graded = NbGraderAPI(config=config), GradedClass(self.root)
        (self.root.parent / MARK).mkdir(exist_ok=True)

    def grade(
        self, student: str, work: NotebookNode, files: dict[str, bytes] | None = None
    ) -> dict[str, float]:
        """Points by exercise. AssertionError if nbgrader itself failed on this student."""
        folder = hand_in(self.root, student, work)
        for name, content in (files or {}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        result = self.api.autograde(FOLDER, student)
        assert result["success"], result["log"][-2000:]
        return self.graded.points(student)

    def fingerprint(self) -> str:
        """Of everything a student must neither see nor change."""
        digest = hashlib.sha256()
        for folder in ("source", "checks", "solutions"):
            for path in sorted((self.root / folder).rglob("*")):
                digest.update(str(path).encode() + (path.read_bytes() if path.is_file() else b""))
        return digest.hexdigest()

    def strays(self) -> list[str]:
        """Processes of this one's that run student code although nothing is being graded."""
        return [
            f"{process.pid} {' '.join(process.cmdline())[:80]}"
            for process in psutil.Process().children(recursive=True)
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE and _is_fork(process)
        ]

    def database_is_sound(self) -> bool:
        with sqlite3.connect(self.root / "gradebook.db") as connection:
            return connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def all_attacks() -> list[Attack]:
    return [Attack(_load(path)) for path in sorted(CASES.glob("*.py"))]


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _is_fork(process: psutil.Process) -> bool:
    """A keeper or a kernel: forked from the warm interpreter, which bubblewrap's two processes started."""
    try:
        ancestors = [parent.name() for parent in process.parents()]
    except psutil.NoSuchProcess:
        return False
    return ancestors.count("bwrap") >= 1 and process.name() != "bwrap" and "bwrap" not in ancestors[:1]


__all__ = ["FULL", "MARK", "NOTHING", "Arena", "Attack", "all_attacks", "wrong"]
