"""The tutor as a process on this machine, for as long as this kernel lives."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from itertools import count
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

from attention_lab.tutor import wire

SECONDS = 150  # that the tutor may take for one reply: it prepares an exercise while it is asked first
LENGTH = 8  # bytes of a frame's length, see `nbjudge.tutor.service`
NO_TUTOR = (
    "This copy of the lessons comes without the tutor. The examples above test your answer; what else is "
    "asked of it, its grade will tell: ask your teacher."
)
NOT_STARTED = (
    "The tutor did not start{reason}. Run this cell again; if that does not help, install Attention Lab "
    "again: `pip install --force-reinstall --no-deps` with what you installed it from."
)


class TutorMissing(Exception):
    """There is no tutor to be asked; the message says what to do."""


class LocalTutor:
    """A tutor that was started and may not be ready; only this process reaches it, by a pair of pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._replies = Queue[bytes | None]()  # None: there will be no more
        self._numbers, self._has_replied, self._last_errors = count(1), False, b""
        self._readers = [Thread(target=each, daemon=True) for each in (self._read_replies, self._read_errors)]
        for reader in self._readers:
            reader.start()

    def ask(self, action: str, message: dict[str, Any]) -> dict[str, Any]:
        """The tutor's reply.

        Raises TutorMissing where it did not start, and OSError where it ended or is silent.
        """
        number = next(self._numbers)
        self._write(wire.written({"number": number, "action": action, **message}))
        while True:
            try:
                body = self._replies.get(timeout=SECONDS)
            except Empty:
                raise TimeoutError("no reply in time") from None
            if body is None:
                raise self._ended()
            reply = wire.read(body)
            if reply.pop("number", None) == number:  # others belong to questions that were interrupted
                self._has_replied = True
                return reply

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        with suppress(OSError):  # what was not written stays so
            self._process.stdin.close()
        for reader in self._readers:
            reader.join(1)

    def _write(self, body: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(len(body).to_bytes(LENGTH, "big") + body)
            self._process.stdin.flush()
        except OSError:
            raise self._ended() from None
        except KeyboardInterrupt:  # half a request is no beginning for the next one
            self.stop()
            raise

    def _read_replies(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as replies:
            while (length := int.from_bytes(head := replies.read(LENGTH), "big")) <= wire.LARGEST_REPLY:
                body = replies.read(length)
                if len(head) < LENGTH or len(body) < length:
                    break
                self._replies.put(body)
        self._replies.put(None)

    def _read_errors(self) -> None:
        """Keep the end of what it writes there: a pipe that is not read fills, and then the tutor waits."""
        assert self._process.stderr is not None
        with self._process.stderr as errors:
            while some := os.read(errors.fileno(), 2**16):
                self._last_errors = (self._last_errors + some)[-2000:]

    def _ended(self) -> Exception:
        self.stop()
        if self._has_replied:
            return ConnectionError("it ended")
        lines = self._last_errors.decode(errors="replace").strip().splitlines()
        return TutorMissing(NOT_STARTED.format(reason=f" ({lines[-1]})" if lines else ""))


def start_tutor(folder: str, last_words: Path | None = None) -> LocalTutor:
    """Start one, and do not wait for it; it prepares for the lesson in `folder`, and ends with this process.

    Where this process ends in the middle of a question, `last_words` is the file that the exercise's name is
    left in. Raises TutorMissing where this copy of the course has none.
    """
    course = course_folder()
    if course is None:
        raise TutorMissing(NO_TUTOR)
    # What is beside a notebook (a random.py of the learner's) is nothing to the tutor: -P.
    command = [sys.executable, "-P", "-m", "nbjudge.tutor", str(course), folder, str(last_words or "")]
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    package = Path(__file__).resolve().parents[1]  # checks import it: the same one as here
    python_path = os.pathsep.join([str(package.parent), *filter(None, known)])
    environment = os.environ | {"PYTHONPATH": python_path, "OMP_NUM_THREADS": "1"}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=course,
            env=environment,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            start_new_session=True,  # a learner's Ctrl-C is not for the tutor
        )
    except OSError as error:
        raise TutorMissing(NOT_STARTED.format(reason=f" ({error.strerror})")) from None
    return LocalTutor(process)


def course_folder() -> Path | None:
    """Where the checks and sources of the course lie, or recordings of them. None: nowhere.

    In the package, or beside a clone's.
    """
    package = Path(__file__).resolve().parents[1]
    recorded = package / "course/recorded"
    if any(recorded.glob("*.recorded")):
        return recorded
    for folder in (package / "course", package.parent):
        if any(folder.glob("checks/*/*.py")) and any(folder.glob("source/*/*.ipynb")):
            return folder
    return None
