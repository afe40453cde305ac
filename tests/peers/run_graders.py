"""Grade a set of assignments with stock nbgrader and with nbjudge, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from graded import Graded

ROOT = Path(__file__).parents[2]
DRIVER = Path(__file__).parent / "grade_course.py"
STOCK = "c = get_config()\n"
OURS = f"{STOCK}from nbjudge import configure\n\nconfigure(c)\n"
LOG = "grading.log"


def run_both(
    folder: Path,
    chosen: Sequence[str],
    configs: dict[str, str] | None = None,
    wait: Callable[[], None] | None = None,
) -> dict[str, Graded]:
    """Grade the assignments that `grade_course.py` knows as `chosen`, in two new folders inside `folder`.

    Parameters
    ----------
    folder
        An existing folder; each grader gets a course folder of its name in it.
    chosen
        "peers", "traits", or the path of an instructor's sources and the students who hand in.
    configs
        The graders' nbgrader_config.py, by grader; by default those of a course before and
        after it adopts nbjudge.
    wait
        Called again and again while a grader runs, such as to draw progress.

    Returns
    -------
    dict
        By grader, "stock" and "ours".

    Raises
    ------
    RuntimeError
        When a grader's process fails; the message holds the end of its log.
    """
    configs = configs or {"stock": STOCK, "ours": OURS}
    runs = {name: _start(folder / name, name, chosen, config) for name, config in configs.items()}
    for name, run in runs.items():
        while True:
            try:
                run.wait(0.5 if wait else None)
                break
            except subprocess.TimeoutExpired:
                wait and wait()
        if run.returncode:
            log = (folder / name / LOG).read_text(errors="replace")
            raise RuntimeError(f"Grading with {name} failed; its log ends with:\n{log[-3000:]}")
    return {name: Graded(folder / name) for name in configs}


def _start(root: Path, grader: str, chosen: Sequence[str], config: str) -> subprocess.Popen[bytes]:
    root.mkdir()
    (root / "nbgrader_config.py").write_text(config)
    with (root / LOG).open("wb") as log:
        return subprocess.Popen(
            [sys.executable, DRIVER, grader, *chosen],
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # nbgrader calls alembic by its name; it is installed beside the interpreter.
            env=os.environ
            | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
            | {"IPYTHONDIR": str(root / "ipython"), "OMP_NUM_THREADS": "1"},
        )
