"""The arena of the attacks: a tiny course on this machine, graded in one process as a class would be."""

from __future__ import annotations

import compileall
import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from attack import MARK, Attack
from nbformat import NotebookNode
from nbgrader.apps.api import NbGraderAPI
from tiny_course import FOLDER, NAME, GradedClass, hand_in, make_course

from nbjudge.course.configuration import read_config
from nbjudge.record.graded_cell import is_verdict
from nbjudge.sandbox import fork_server_client as fork_server

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

    @property
    def sockets(self) -> Path:
        """Where this machine keeps the sockets of all kernels that students have seen."""
        fork_server._current[0].drop_spare()
        return fork_server._current[0].sockets

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
        while (found := _forks()) and time.monotonic() < ends:
            time.sleep(0.1)
        found += [process for process in self._newcomers() if _bears_the_mark(process)]
        return [description for process in found if (description := _still_there(process))]

    def _newcomers(self) -> Iterator[psutil.Process]:
        return (process for process in psutil.process_iter() if process not in self.strangers)

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


def _forks() -> list[psutil.Process]:
    return [process for process in psutil.Process().children(recursive=True) if _is_fork(process)]


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
