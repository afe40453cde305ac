"""Which workers a scheduler has, and which of them can grade."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from distributed import Client

from nbjudge.batch.cluster_worker import unsuitable_reason, versions
from nbjudge.errors import CourseError

POLL_SECONDS = 1  # seconds
PATIENCE_WITH_REFUSED = 15  # seconds in which one that can grade may join, or come back
NEEDED = "It needs nbjudge[cluster], in the same version as here."
NO_WORKER_YET = "waiting for a worker to join the scheduler"
NO_USABLE_WORKER = "waiting for a worker that can grade"


@dataclass
class Member:
    """A worker, and what came of asking it whether it can grade."""

    name: str
    threads: int
    question: Any  # the future of its answer
    reason: str | None = None  # why it cannot; empty if it can, None as long as it has not answered


class Members:
    """The workers of a scheduler. Those that cannot grade are refused, by name and with the reason."""

    def __init__(self, client: Client, sandbox: bool, tell: Callable[[str], None]) -> None:
        self._client, self._sandbox, self._tell = client, sandbox, tell
        self._members: dict[str, Member] = {}  # by address
        self._looking = threading.Lock()
        self._looked = self._hopeful = time.monotonic()
        self._looked -= POLL_SECONDS

    def good(self) -> dict[str, Member]:
        """Those that can grade, by address. Looks again who is there, if that was a while ago.

        Raises CourseError where the scheduler is gone, or only refused workers have been there
        for a while.
        """
        with self._looking:
            if time.monotonic() - self._looked >= POLL_SECONDS:
                self._look()
                self._looked = time.monotonic()
            return {address: member for address, member in self._members.items() if member.reason == ""}

    def obstacle(self) -> str:
        members = list(self._members.values())
        if any(member.reason == "" for member in members):
            return ""
        return NO_USABLE_WORKER if members else NO_WORKER_YET

    def refuse(self, address: str, reason: str) -> None:
        """No more of this one."""
        with self._looking:
            if address in self._members:
                self._refuse(address, reason)

    def name(self, address: str) -> str:
        return self._members[address].name if address in self._members else address

    def _look(self) -> None:
        present = self._present()
        for address in set(self._members) - set(present):
            del self._members[address]
        for address, about in present.items():
            if address not in self._members:
                question = self._client.submit(
                    unsuitable_reason, versions(), self._sandbox, workers=[address], pure=False
                )
                self._members[address] = Member(str(about["name"]), about["nthreads"], question)
            elif self._members[address].reason is None:
                self._hear(address)
        self._give_up_in_the_end()

    def _present(self) -> dict[str, Any]:
        known: Any = {}  # nothing, as long as the client tries to reach the scheduler again
        with suppress(OSError, RuntimeError):
            known = self._client.scheduler_info(n_workers=-1)
        if self._client.status not in ("running", "connecting"):
            raise CourseError(
                "The scheduler is gone: start it again, and run the same command again. What was graded "
                "before is kept."
            )
        workers: dict[str, Any] = known.get("workers", {})
        return workers

    def _hear(self, address: str) -> None:
        member = self._members[address]
        if not member.question.done():
            return
        if member.question.status == "cancelled":  # the scheduler was away for a moment
            del self._members[address]
            return
        error = member.question.exception()
        if error is not None:
            message = " ".join(f"{type(error).__name__}: {error}".split())
            self._refuse(address, f"It could not be asked ({message}). {NEEDED}")
        elif member.question.result():
            self._refuse(address, member.question.result())
        else:
            member.reason = ""

    def _refuse(self, address: str, reason: str) -> None:
        member = self._members[address]
        member.reason = reason
        self._tell(f"The worker {member.name} ({address}) is refused. {reason}")

    def _give_up_in_the_end(self) -> None:
        refused = [member for member in self._members.values() if member.reason]
        if not refused or len(refused) < len(self._members):
            self._hopeful = time.monotonic()
        elif time.monotonic() - self._hopeful > PATIENCE_WITH_REFUSED:
            only = "The only worker" if len(refused) == 1 else f"None of the {len(refused)} workers"
            can = "cannot grade" if len(refused) == 1 else "can grade"
            raise CourseError(
                f"{only} of the scheduler {can}. {refused[0].name} was refused: {refused[0].reason}"
            )
