from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DRIVER = Path(__file__).parent / "grade_course.py"
STOCK = "c = get_config()\n"
OURS = (ROOT / "nbgrader_config.py").read_text()

# By cell: points, most points, whether somebody has to mark it; and nbgrader's comments by cell.
Scores = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Graded:
    """What one grader made of all the assignments of `peer_courses`."""

    root: Path

    @cached_property
    def scores(self) -> Scores:
        """By "assignment student notebook"."""
        return json.loads((self.root / "report.json").read_text())["scores"]

    @property
    def refused(self) -> list[str]:
        """Whose notebooks were graded only after `nbgrader update`, as "assignment student"."""
        return json.loads((self.root / "report.json").read_text())["refused"]

    def notebook(self, work: str) -> dict[str, Any]:
        assignment, student, name = work.split()
        return json.loads((self.root / "autograded" / student / assignment / f"{name}.ipynb").read_text())


@pytest.fixture(scope="session")
def graders(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> dict[str, Graded]:
    """All assignments graded by stock nbgrader and by ours, side by side, once for all workers."""
    base = tmp_path_factory.getbasetemp()
    shared = base if worker_id == "master" else base.parent
    configs = {"stock": STOCK, "ours": OURS}
    with (shared / "peers.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "peers.done").exists():
            runs = [_start(shared / f"peers_{name}", name, config) for name, config in configs.items()]
            for run in runs:
                _, said = run.communicate()
                assert run.returncode == 0, said[-3000:]
            (shared / "peers.done").touch()
    return {name: Graded(shared / f"peers_{name}") for name in configs}


def _start(root: Path, grader: str, config: str) -> subprocess.Popen[str]:
    root.mkdir()
    (root / "nbgrader_config.py").write_text(config)
    return subprocess.Popen(
        [sys.executable, DRIVER, grader],
        cwd=root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # nbgrader calls alembic by its name; it is installed beside the interpreter.
        env=os.environ
        | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        | {"IPYTHONDIR": str(root / "ipython")},
    )


@pytest.fixture(scope="session")
def points(graders: dict[str, Graded]) -> Callable[[str, str], tuple[float, int] | None]:
    """A work's points from a grader, and how many of its cells wait for somebody to mark them."""

    def of(grader: str, work: str) -> tuple[float, int] | None:
        if work not in graders[grader].scores:
            return None
        grades = graders[grader].scores[work]["grades"].values()
        return sum(score or 0 for score, *_ in grades), sum(waits for *_, waits in grades)

    return of
