"""The tutor as a process on this machine, for as long as this kernel lives."""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import attention_lab

STARTING_SECONDS = 60
NO_TUTOR = (
    "This copy of the lessons comes without the tutor. The examples above test your answer; what else is "
    "asked of it, its grade will tell: ask whoever teaches the class."
)
NOT_STARTED = (
    "The tutor did not start{reason}. Run this cell again; if that does not help, install Attention Lab "
    "again: `pip install --force-reinstall --no-deps` with what you installed it from."
)


class TutorMissing(Exception):
    """There is no tutor to be asked; the message says what to do."""


class LocalTutor:
    """A tutor that was started, and may not be ready yet."""

    def __init__(self, process: subprocess.Popen[str], token: str) -> None:
        self.token = token
        self._process = process
        self._first_line = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def port(self) -> int:
        """Where it listens. Raises TutorMissing where it has not begun to in time."""
        self._reader.join(STARTING_SECONDS)
        try:
            said = json.loads(self._first_line)
        except ValueError:
            self.stop()
            raise TutorMissing(NOT_STARTED.format(reason=self._reason())) from None
        if "error" in said:
            raise TutorMissing(said["error"])
        return int(said["port"])

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        self._first_line = self._process.stdout.readline()

    def _reason(self) -> str:
        assert self._process.stderr is not None
        lines = self._process.stderr.read()[-2000:].strip().splitlines()
        return f" ({lines[-1]})" if lines else ""


def start_tutor(folder: str, last_words: Path | None = None) -> LocalTutor:
    """Start one, and do not wait for it; it prepares for the lesson in `folder`, and ends with this process.

    Where this process ends in the middle of a question, `last_words` is the file that the exercise's name is
    left in. Raises TutorMissing where this copy of the course has none.
    """
    course = course_folder()
    if course is None:
        raise TutorMissing(NO_TUTOR)
    token = secrets.token_hex(16)
    # What lies beside a notebook (a random.py of the learner's) is nothing to the tutor: -P.
    command = [sys.executable, "-P", "-m", "nbjudge.tutor", str(course), folder, str(last_words or "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(_python_path()), "OMP_NUM_THREADS": "1"}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=course,
            env=environment,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            start_new_session=True,  # a learner's Ctrl-C is not for the tutor
        )
    except OSError as error:
        raise TutorMissing(NOT_STARTED.format(reason=f" ({error.strerror})")) from None
    assert process.stdin is not None
    with suppress(OSError):  # it has died already; the first question will say so
        process.stdin.write(f"{token}\n")
        process.stdin.flush()
    return LocalTutor(process, token)


def course_folder() -> Path | None:
    """Where the checks and sources of the course lie, or recordings of them. None: nowhere.

    In the package, or beside a clone's.
    """
    package = Path(attention_lab.__file__).resolve().parent
    recorded = package / "course/recorded"
    if any(recorded.glob("*.recorded")) and _has_judge():
        return recorded
    for folder in (package / "course", package.parent):
        if any(folder.glob("checks/*/*.py")) and any(folder.glob("source/*/*.ipynb")) and _has_judge():
            return folder
    return None


def _has_judge() -> bool:
    return importlib.util.find_spec("nbjudge") is not None or (_bundled_judge() / "nbjudge").is_dir()


def _bundled_judge() -> Path:
    """The judge that comes inside the package, for whoever has not installed it by itself."""
    return Path(attention_lab.__file__).resolve().parent / "course" / "judge"


def _python_path() -> list[str]:
    """Where this very package lies and, after all else, the judge that came with it."""
    own = [str(Path(attention_lab.__file__).resolve().parent.parent)]
    known = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return [*own, *known, str(_bundled_judge())]
