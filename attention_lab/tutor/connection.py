"""Talks to a tutor: to a process on this machine, or to the address of another one."""

from __future__ import annotations

import hashlib
import http.client
import os
from pathlib import Path
from typing import Any

from attention_lab.tutor.local import NO_TUTOR, LocalTutor, TutorMissing, course_folder, start_tutor
from attention_lab.tutor.network import ADDRESS, NetworkTutor

OFF = "off"  # as an address: there is to be no tutor
GONE = "The tutor has stopped answering ({reason}). Run this cell again: it is then started again."


def has_tutor() -> bool:
    """Whether `check` has a tutor: at the address that is set, or on this machine."""
    address = os.environ.get(ADDRESS)
    return address != OFF and (address is not None or course_folder() is not None)


class Connection:
    """One tutor. `ask` starts it, where it is this machine's, and starts it again where it has died."""

    def __init__(self, last_words: Path | None = None) -> None:
        self.last_words = last_words
        self._tutor: LocalTutor | NetworkTutor | None = None
        self._programs = dict[str, str]()  # by their digests

    def begin(self, folder: str) -> LocalTutor | NetworkTutor:
        """Have this machine's tutor start, so that it is there when the first answer is written."""
        address = os.environ.get(ADDRESS)
        if address == OFF:
            raise TutorMissing(NO_TUTOR)
        if self._tutor is None and address is not None:
            self._tutor = NetworkTutor(address)
        elif self._tutor is None:
            self._tutor = start_tutor(folder, self.last_words)
        return self._tutor

    def ask(self, action: str, folder: str, **message: Any) -> dict[str, Any]:
        """The tutor's reply. Raises TutorMissing, with a sentence, where there is none."""
        # A new one has forgotten what the last one was asking.
        attempts = 1 if action == "answer" else 2
        for attempt in range(1, attempts + 1):
            try:
                return self.begin(folder).ask(action, {"folder": folder, **message})
            except TutorMissing:
                self.close()
                raise
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.close()
                if attempt == attempts:
                    raise TutorMissing(GONE.format(reason=error or type(error).__name__)) from None
        raise AssertionError("the last attempt returns or raises")

    def program(self, digest: str, folder: str) -> str:
        """The tutor's program with this digest, fetched once. Raises TutorMissing where it has another."""
        if digest not in self._programs:
            source = str(self.ask("program", folder).get("program"))
            self._programs = {hashlib.sha256(source.encode()).hexdigest(): source}
        if digest not in self._programs:
            raise TutorMissing(GONE.format(reason="it was exchanged for another version meanwhile"))
        return self._programs[digest]

    def close(self) -> None:
        """Let go of it; this machine's tutor ends."""
        if self._tutor is not None:
            self._tutor.stop()
        self._tutor = None
