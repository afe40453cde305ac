"""Reaches a tutor: a process on this machine, or the one of a class at an address.

What only learners with a tutor need is imported when the tutor starts: the sandbox that grades has neither a
tutor nor nbjudge.
"""

from __future__ import annotations

import hashlib
import http.client
import os
from pathlib import Path
from typing import TYPE_CHECKING

from attention_lab.tutor.location import ADDRESS, NO_TUTOR, OFF, TutorMissingError, course_folder, has_tutor

if TYPE_CHECKING:
    from attention_lab.tutor.local import LocalTutor
    from attention_lab.tutor.network import NetworkTutor
    from nbjudge.tutor.messages import AnyRequest, CallRequest, Reply

GONE = "The tutor has stopped answering ({reason}). Run this cell again, which starts the tutor again."


class Connection:
    """One tutor, which starts with the first request, and again if it has died."""

    def __init__(self, last_words: Path | None = None) -> None:
        self.last_words = last_words
        self._tutor: LocalTutor | NetworkTutor | None = None
        self._program = self._digest = ""
        self.has_announced_start = False  # whether the learner has read that this tutor is still starting

    @property
    def has_begun(self) -> bool:
        """Whether a tutor has been started or reached."""
        return self._tutor is not None

    @property
    def is_starting(self) -> bool:
        """Whether a tutor on this machine is still loading its libraries."""
        return self._tutor is not None and not self._tutor.is_ready

    @property
    def digest(self) -> str:
        """The digest of the tutor's program that this kernel has; empty before the first calls."""
        return self._digest

    def begin(self, folder: str) -> LocalTutor | NetworkTutor:
        """Start this machine's tutor, so that it is ready when the first answer is written.

        Raises
        ------
        TutorMissingError
            If there is no tutor; the message says what to do.
        """
        address = os.environ.get(ADDRESS)
        if address == OFF or not has_tutor():
            raise TutorMissingError(NO_TUTOR)
        if self._tutor is None and address is not None:
            from attention_lab.tutor.network import NetworkTutor

            self._tutor = NetworkTutor(address)
        elif self._tutor is None:
            from attention_lab.tutor.local import start_tutor

            self._tutor = start_tutor(course_folder() or Path(), folder, self.last_words)
        return self._tutor

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

    def program_for(self, request: CallRequest) -> str:
        """Return the program that makes these calls. Raises TutorMissingError if there is another one."""
        self._keep_program(request.source)
        if self._digest != request.program:
            raise TutorMissingError(GONE.format(reason="it has been replaced by another version"))
        return self._program

    def first_program(self) -> str:
        """Return the program that this machine's tutor sent when it was ready; empty if it did not yet."""
        if self._tutor is not None and not self._program:
            self._keep_program(self._tutor.program)
        return self._program

    def _keep_program(self, source: str) -> None:
        if source:
            self._program, self._digest = source, hashlib.sha256(source.encode()).hexdigest()

    def close(self) -> None:
        """Close the connection; this machine's tutor ends."""
        if self._tutor is not None:
            self._tutor.stop()
        self._tutor, self.has_announced_start = None, False
