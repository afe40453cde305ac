"""nbgrader's own command, or ours, in a process of its own, and the sandboxes that it starts.

The process is forked from one that has imported nbgrader, which takes several times as long as most of what
the tests let it do.
"""

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib.metadata import entry_points
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import psutil

# Imports done once for all runs of a test process.
ALREADY_IMPORTED = [
    "nbjudge.batch",  # the first, because it skips jsonschema's slow grammar
    "nbgrader.apps.nbgraderapp",
    "nbjudge.nbgrader_hooks",
]
PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload(ALREADY_IMPORTED)


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`nbgrader ARGUMENTS` in the folder `root`, as an instructor types it: its exit status and words."""
    return run_program(root, "nbgrader", *arguments)


def run_program(root: Path, *line: str) -> subprocess.CompletedProcess[str]:
    """A command line whose first word is a Python program that is installed here, typed in `root`."""
    with tempfile.TemporaryDirectory(prefix="nbgrader-") as folder:
        stdout, stderr = Path(folder, "stdout"), Path(folder, "stderr")
        process = PROCESSES.Process(target=_typed, args=(root, line, dict(os.environ), stdout, stderr))
        # The new process has no need of the program that asks for it, and would run it from the start.
        with patch.dict(sys.modules, {"__main__": ModuleType("__main__")}):
            process.start()
        process.join()
        status = process.exitcode if process.exitcode is not None else -1
        process.close()
        return subprocess.CompletedProcess(list(line), status, stdout.read_text(), stderr.read_text())


def typed(root: Path, *words: str, status: int = 0) -> str:
    """Type a command line in the course's folder; returns what it says, on one line."""
    with patch.dict(os.environ, COLUMNS="250"):
        run = run_program(root, *words)
    assert run.returncode == status, f"{words}\n{run.stdout[-2000:]}{run.stderr[-2000:]}"
    assert "Traceback" not in run.stdout
    return " ".join(run.stdout.split())


def _typed(
    root: Path, line: tuple[str, ...], environment: dict[str, str], stdout: Path, stderr: Path
) -> None:
    for file, descriptor in ((stdout, 1), (stderr, 2)):
        with file.open("w") as stream:
            os.dup2(stream.fileno(), descriptor)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # to be read from the environment again
    os.chdir(root)
    sys.path.insert(0, str(root))
    sys.argv = list(line)
    (program,) = entry_points(group="console_scripts", name=line[0])
    program.load()()


def sandboxes_below(folder: Path) -> list[psutil.Process]:
    """Sandboxes that print into a file below a folder."""
    found = []
    for process in psutil.process_iter(["name"]):
        with suppress(OSError):
            printed = os.readlink(f"/proc/{process.pid}/fd/2")
            if "bwrap" in (process.info["name"] or "") and printed.startswith(f"{folder}/"):
                found.append(process)
    return found
