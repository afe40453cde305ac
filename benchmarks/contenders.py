"""The graders that are compared: each one process, asked for one student at a time."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat

STOCK = """
c = get_config()
c.CourseDirectory.solution_directory = "solutions"
c.ClearMarkScheme.enforce_metadata = False
"""


@dataclass
class Contender:
    """A grader's process, and what it took: seconds by student, (own, proportional) bytes of its kernels."""

    process: subprocess.Popen[str]
    start_seconds: float
    seconds: list[float] = field(default_factory=list)
    memory: list[tuple[int, int]] = field(default_factory=list)

    @property
    def mean(self) -> float:
        return (self.start_seconds + sum(self.seconds)) / len(self.seconds)

    def grade(self, student: str) -> None:
        report = self._ask(student)
        self.seconds.append(report["seconds"])
        self.memory.append((report["own"], report["proportional"]))

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _ask(self, line: str) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        print(line, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"The process that grades {line} ended.")
        return json.loads(answer)


def class_of(folder: Path, root: Path, lesson: str, count: int) -> list[str]:
    """Two course folders (stock, ours), each with the lesson and `count` solved submissions of it."""
    students = [f"student_{number:03}" for number in range(count)]
    for name in ("stock", "ours"):
        course = folder / name
        for part in ("source", "solutions"):
            shutil.copytree(root / part / lesson, course / part / lesson)
        shutil.copytree(root / "checks", course / "checks")
        config = STOCK if name == "stock" else (root / "nbgrader_config.py").read_text()
        (course / "nbgrader_config.py").write_text(config)
        for student in students:
            shutil.copytree(root / "solutions" / lesson, course / "submitted" / student / lesson)
    return students


def start(name: str, folder: Path, lesson: str) -> Contender:
    """Start a contender; its start is over when it has graded somebody who is in no table."""
    course = folder / ("ours" if name == "ours" else "stock")
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, __file__, name, str(course), lesson],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
    )
    contender = Contender(process, 0.0)
    graded = contender._ask("student_000")["seconds"]
    contender.start_seconds = time.perf_counter() - started - graded
    return contender


# ---- in the contender's process -----------------------------------------------------------------


class Nbgrader:
    """nbgrader's own programming interface, with the configuration of its course folder."""

    def __init__(self, course: Path, lesson: str) -> None:
        from nbgrader.apps.api import NbGraderAPI
        from traitlets.config.loader import PyFileConfigLoader

        config = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()
        config.CourseDirectory.root = str(course)
        self.api, self.lesson = NbGraderAPI(config=config), lesson
        made = self.api.generate_assignment(lesson)
        assert made["success"], made["log"]

    def __call__(self, student: str) -> None:
        result = self.api.autograde(self.lesson, student, force=True)
        assert result["success"], result["log"]


class BareLimit:
    """Run the cells in a fork of this warm process."""

    def __init__(self, course: Path, lesson: str) -> None:
        import matplotlib

        matplotlib.use("agg")
        import ipywidgets  # noqa: F401
        import pandas  # noqa: F401
        import seaborn  # noqa: F401
        import torch  # noqa: F401

        import attention_lab.plots
        import attention_lab.sliders  # noqa: F401

        (path,) = (course / "solutions" / lesson).glob("*.ipynb")
        cells = nbformat.read(path, as_version=4).cells
        self.cells = [cell.source for cell in cells if cell.cell_type == "code"]

    def __call__(self, _student: str) -> None:
        child = os.fork()
        if child == 0:
            self._run()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0

    def _run(self) -> None:
        import matplotlib.pyplot as plt

        plt.show = _render
        space: dict[str, Any] = {"__name__": "__main__"}
        with contextlib.redirect_stdout(io.StringIO()):
            for source in self.cells:
                exec(compile(source, "<cell>", "exec"), space)
                _render()


def _render() -> None:
    import matplotlib.pyplot as plt

    for number in plt.get_fignums():
        plt.figure(number).savefig(io.BytesIO(), format="png", bbox_inches="tight")
    plt.close("all")


class MemoryWatch(threading.Thread):
    """The most memory that a process which ran the notebook held: (own, proportional) bytes."""

    def __init__(self, name: str) -> None:
        super().__init__(daemon=True)
        self.sandboxed = name == "ours"
        self.peak, self.stopped = (0, 0), threading.Event()

    def run(self) -> None:
        import psutil

        while not self.stopped.wait(0.1):
            for process in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    # In the sandbox only kernels are nice.
                    if not self.sandboxed or process.nice() == 5:
                        used = process.memory_full_info()
                        self.peak = max(self.peak, (used.uss, used.pss))


def main(name: str, course: str, lesson: str) -> None:
    warnings.simplefilter("ignore")
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    os.chdir(course)
    grade = (BareLimit if name == "limit" else Nbgrader)(Path(course), lesson)
    for line in sys.stdin:
        watch = MemoryWatch(name)
        watch.start()
        started = time.perf_counter()
        grade(line.strip())
        seconds = time.perf_counter() - started
        watch.stopped.set()
        report = {"seconds": seconds, "own": watch.peak[0], "proportional": watch.peak[1]}
        print(json.dumps(report), file=out, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
