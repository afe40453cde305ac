"""Whether the answers to one exercise came, noted while the judge asks for them."""

from __future__ import annotations

from typing import Any

from nbjudge.kernel.replies import Ask, Reply
from nbjudge.probe.watching import Watch
from nbjudge.record.schema import Status


class AnswerStatuses:
    """Asks like the `ask` that it is made of, and remembers what became of each call.

    The judge asks for a call again where the kernel lost its answer: the last reply counts.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._last: dict[int, str] = {}  # the answer's status, by the identity of its call
        self._calls: list[dict[str, Any]] = []  # kept, so that no identity is given twice

    def __call__(self, name: str, calls: list[dict[str, Any]], watch: Watch) -> Reply:
        reply = self._ask(name, calls, watch)
        self._calls += calls
        self._last |= {id(call): answer.status for call, answer in zip(calls, reply.answers, strict=False)}
        return reply

    @property
    def status(self) -> Status:
        """Of the whole exercise: whether an answer took too long, or ended the kernel."""
        statuses = set(self._last.values())
        if "late" in statuses:
            return Status.TIMED_OUT
        return Status.KERNEL_DIED if "died" in statuses else Status.COMPLETED
