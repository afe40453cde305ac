"""Reaches a tutor: the one of a class at an address, or a process on this machine.

Modules that a learner needs only with a tutor are imported when it starts.
"""

from __future__ import annotations

import hashlib
import http.client
import os
from pathlib import Path
from typing import TYPE_CHECKING

from nbjudge.tutor.learner import ADDRESS, NO_TUTOR, OFF, TutorMissingError, course_around

if TYPE_CHECKING:
    from nbjudge.tutor.learner.transport import LocalTutor, NetworkTutor
    from nbjudge.tutor.messages import AnyRequest, CallRequest, HuntShown, Reply

GONE = "The tutor has stopped answering ({reason}). Run this cell again, which starts the tutor again."


class Connection:
    """One tutor, which starts with the first request, and again if it has died."""

    def __init__(self, last_words: Path | None = None) -> None:
        self.course: Path | None = None  # from the course's own package
        self.last_words = last_words
        self.tutor: LocalTutor | NetworkTutor | None = None  # once it has been started or reached
        self._program = self.digest = ""  # the tutor's program, empty before the first calls
        self.has_announced_start = False  # whether the learner has read that this tutor is still starting

    @property
    def is_starting(self) -> bool:
        """Return whether a tutor on this machine is still loading its libraries."""
        return self.tutor is not None and not self.tutor.is_ready

    def begin(self, folder: str) -> LocalTutor | NetworkTutor:
        """Start this machine's tutor, so that it is ready when the first answer is written.

        Raises TutorMissingError if there is no tutor; the message says what to do.
        """
        address = os.environ.get(ADDRESS)
        course = self.course or course_around(Path.cwd())
        if address == OFF or (address is None and course is None):
            raise TutorMissingError(NO_TUTOR)
        if self.tutor is None:
            from nbjudge.tutor.learner.transport import NetworkTutor, start_tutor

            if address is not None:
                self.tutor = NetworkTutor(address)
            elif course is not None:
                self.tutor = start_tutor(course, folder, self.last_words)
        assert self.tutor is not None
        return self.tutor

    def send(self, request: AnyRequest) -> Reply:
        """Return the tutor's reply to a request. Raises TutorMissingError if there is no tutor."""
        from nbjudge.tutor.messages import CallReply

        # A new tutor does not know the conversation of the last one.
        attempts = 1 if isinstance(request, CallReply) else 2
        for attempt in range(1, attempts + 1):
            try:
                return self.begin(request.folder).send(request)
            except TutorMissingError:
                self.close()
                raise
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.close()
                if attempt == attempts:
                    raise TutorMissingError(GONE.format(reason=error or type(error).__name__)) from None
        raise AssertionError("the last attempt returns or raises")

    def program_for(self, request: CallRequest | HuntShown) -> str:
        """Return the program that makes these calls. Raises TutorMissingError if there is another one."""
        self._keep_program(request.source)
        if self.digest != request.program:
            raise TutorMissingError(GONE.format(reason="it has been replaced by another version"))
        return self._program

    def first_program(self) -> str:
        """Return the program that this machine's tutor sent when it was ready; empty before that."""
        if self.tutor is not None and not self._program:
            self._keep_program(self.tutor.program)
        return self._program

    def _keep_program(self, source: str) -> None:
        if source:
            self._program, self.digest = source, hashlib.sha256(source.encode()).hexdigest()

    def close(self) -> None:
        """Close the connection; this machine's tutor ends."""
        if self.tutor is not None:
            self.tutor.stop()
        self.tutor, self.has_announced_start = None, False
