"""The two ways to a tutor: a process on this machine, and a class's service behind its hub."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
from contextlib import suppress
from itertools import count
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from urllib.parse import urlsplit

from nbjudge.framing import read_frame, to_frame
from nbjudge.tutor import messages, signatures
from nbjudge.tutor.learner import ADDRESS, TutorMissingError
from nbjudge.tutor.messages import NUMBER, AnyRequest, Reply, TutorReady

SECONDS = 150  # that the tutor may take for one reply: with the first one it prepares an exercise
NOT_STARTED = (
    "The tutor did not start{reason}. Run this cell again; if that does not help, install it again: `pip "
    "install --force-reinstall --no-deps` with what you installed it from."
)
KEY, NAME = "NBJUDGE_TUTOR_KEY", "JUPYTERHUB_USER"
NOT_AN_ADDRESS = "{variable} is {address!r}: it has to begin with http:// or https://."
NO_KEY = (
    "The class's tutor needs {missing} in this server's environment, to prove that it is the tutor. Ask "
    "the person who runs the hub to set it (nbjudge/docs/jupyterhub.md)."
)
NOT_KNOWN = (
    "The class's tutor did not accept this server's key. Stop your server (File → Hub Control Panel → Stop "
    "My Server), start it again, and run this cell once more."
)
UNPROVEN = "HTTP {status} without proof that it comes from the class's tutor; nothing of it was used"


class LocalTutor:
    """A tutor that was started and may not be ready; only this process reaches it, by a pair of pipes."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.is_ready, self.program = False, ""
        self._process = process
        self._replies = Queue[tuple[int, bytes] | None]()  # None: there will be no more
        self._numbers, self._has_replied, self._last_errors = count(1), False, b""
        self._readers = [Thread(target=read, daemon=True) for read in (self._read_replies, self._read_errors)]
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
    """Start the tutor of a course, which prepares an assignment and ends with this process.

    It may not be ready yet. If this process ends in the middle of a check, the tutor writes the exercise's
    name into the file `last_words`. Raises TutorMissingError if it cannot be started.
    """
    # What is beside a notebook (a random.py of the learner's) is nothing to the tutor: -P.
    command = [sys.executable, "-P", "-m", "nbjudge.tutor.service"]
    command += [str(course), folder, str(last_words or "")]
    package = Path(__file__).resolve().parents[3]  # the same nbjudge as here
    python_path = os.pathsep.join(filter(None, (str(package), os.environ.get("PYTHONPATH"))))
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


class NetworkTutor:
    """A tutor that proves with each reply that it knows this learner's key."""

    is_ready, program = True, ""  # it runs already, and sends its program with the first calls

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise TutorMissingError(NOT_AN_ADDRESS.format(variable=ADDRESS, address=address))
        self._name, self._key = (os.environ.get(variable, "") for variable in (NAME, KEY))
        missing = [variable for variable in (NAME, KEY) if not os.environ.get(variable)]
        if missing:
            raise TutorMissingError(NO_KEY.format(missing=" and ".join(missing)))
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._http = kind(parts.hostname, parts.port, timeout=SECONDS)
        self._base = parts.path.rstrip("/")

    def send(self, request: AnyRequest) -> Reply:
        """Return the tutor's reply to a request.

        Raises OSError or ValueError if no reply came that is proven to be the tutor's, and TutorMissingError
        if the tutor does not accept this server's key.
        """
        action, body = str(request.__struct_config__.tag), b"".join(messages.encode(request))
        header, nonce = signatures.authorization(self._name, self._key, action, body)
        headers = {"Authorization": header, "Content-Type": "text/plain; charset=utf-8"}
        try:
            self._http.request("POST", f"{self._base}/{action}", body, headers)
            response = self._http.getresponse()
            reply = response.read(messages.LARGEST_MESSAGE)
        except BaseException:  # half a reply is no beginning for the next one
            self._http.close()
            raise
        signature = response.getheader(signatures.REPLY_SIGNATURE, "")
        if signatures.is_signed(signature, self._key, nonce, response.status, reply):
            return messages.decode_reply(reply)
        self._http.close()
        if response.status == 403:
            raise TutorMissingError(NOT_KNOWN)
        raise ValueError(UNPROVEN.format(status=response.status))

    def stop(self) -> None:
        """Let go of the connection."""
        self._http.close()
