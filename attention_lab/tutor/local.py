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

from attention_lab.tutor.location import TutorMissingError
from nbjudge.framing import read_frame, to_frame
from nbjudge.tutor import messages
from nbjudge.tutor.messages import NUMBER, AnyRequest, Reply, TutorReady

SECONDS = 150  # that the tutor may take for one reply: with the first one it prepares an exercise
NOT_STARTED = (
    "The tutor did not start{reason}. Run this cell again; if that does not help, install Attention Lab "
    "again: `pip install --force-reinstall --no-deps` with what you installed it from."
)


class LocalTutor:
    """A tutor that was started and may not be ready; only this process reaches it, by a pair of pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.is_ready, self.program = False, ""
        self._process = process
        self._replies = Queue[tuple[int, bytes] | None]()  # None: there will be no more
        self._numbers, self._has_replied, self._last_errors = count(1), False, b""
        self._readers = [Thread(target=each, daemon=True) for each in (self._read_replies, self._read_errors)]
        for reader in self._readers:
            reader.start()

    def send(self, request: AnyRequest) -> Reply:
        """Return the tutor's reply to a request.

        Raises TutorMissingError if it did not start, and OSError if it ended or does not reply.
        """
        number = next(self._numbers)
        self._write(to_frame(b"".join([number.to_bytes(NUMBER, "big"), *messages.encode(request)])))
        while True:
            try:
                reply = self._replies.get(timeout=SECONDS)
            except Empty:
                raise TimeoutError("no reply in time") from None
            if reply is None:
                raise self._ended()
            if reply[0] == number:  # others belong to requests that were interrupted
                self._has_replied = True
                return messages.decode_reply(reply[1])

    def stop(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        with suppress(OSError):  # what was not written stays so
            self._process.stdin.close()
        for reader in self._readers:
            reader.join(1)

    def _write(self, frame: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(frame)
            self._process.stdin.flush()
        except OSError:
            raise self._ended() from None
        except KeyboardInterrupt:  # the rest of this request would be taken for the next one
            self.stop()
            raise

    def _read_replies(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as replies, suppress(ValueError):  # not the tutor's
            while (content := read_frame(replies.read, messages.LARGEST_MESSAGE)) is not None:
                number = int.from_bytes(content[:NUMBER], "big")
                if number:
                    self._replies.put((number, content[NUMBER:]))
                elif isinstance(reply := messages.decode_reply(content[NUMBER:]), TutorReady):
                    self.is_ready, self.program = True, reply.source
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
        return TutorMissingError(NOT_STARTED.format(reason=f" ({lines[-1]})" if lines else ""))


def start_tutor(course: Path, folder: str, last_words: Path | None = None) -> LocalTutor:
    """Start a tutor, which ends with this process, and do not wait for it.

    Parameters
    ----------
    course
        The folder of the course's checks and sources.
    folder
        The folder of the lesson that it prepares for.
    last_words
        The file for the exercise's name, if this process ends in the middle of a check.

    Returns
    -------
    LocalTutor
        The tutor, which may not be ready.

    Raises
    ------
    TutorMissingError
        If it cannot be started.
    """
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
        raise TutorMissingError(NOT_STARTED.format(reason=f" ({error.strerror})")) from None
    return LocalTutor(process)
