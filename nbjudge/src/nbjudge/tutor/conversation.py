"""The judge as a generator of questions: it runs in a thread of its own, and its caller fetches them.

The judge calls a kernel and waits. A kernel that asks a tutor cannot be called: it comes for a question,
goes to answer it, and comes back. Both see what they expect.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, Queue
from typing import Any, Generic, Protocol, TypeVar

from nbjudge.kernel.protocol import LARGEST_REPLY, Answer, CallAnswer, Reply, read_reply, request
from nbjudge.probe.watching import Watch
from nbjudge.values import packing

Result = TypeVar("Result")
MOST_BYTES = 128 * 2**20  # of all packed requests that are kept
PATIENCE = 120.0  # seconds that a kernel may take for one question
LONGEST_WORK = 130.0  # seconds that the judge may take until its next question or its result


class PackedRequests:
    """The latest packed requests by their calls, which are compared as objects and never changed.

    The same calls are sent again with the next check, and in a class to all learners.
    """

    def __init__(self) -> None:
        self._texts: dict[tuple[Any, ...], tuple[list[dict[str, Any]], bytes]] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def text(self, name: str, calls: list[dict[str, Any]], watch: Watch) -> bytes:
        """Return the packed request in UTF-8."""
        key = (name, repr(watch), *map(id, calls))
        with self._lock:
            if key in self._texts:
                self._texts[key] = self._texts.pop(key)  # asked again, so it is the last to go
                return self._texts[key][1]
        text = request(name, calls, watch).encode()
        with self._lock:
            if key not in self._texts:
                self._texts[key] = calls, text  # with the calls, or another's could get their ids
                self._bytes += len(text)
            while self._bytes > MOST_BYTES:
                _, oldest = self._texts.pop(next(iter(self._texts)))
                self._bytes -= len(oldest)
        return text


packed_requests = PackedRequests()


class ConversationEndedError(Exception):
    """The conversation is over: the kernel did not come back in time, or began another one."""


@dataclass(frozen=True)
class KernelRequest:
    """A question for the kernel: a packed request in UTF-8 (`nbjudge.kernel.protocol.request`)."""

    request: bytes


@dataclass(frozen=True)
class LostReply:
    """Why there is no answer to a question: "late" or "died"."""

    status: str


KernelReply = str | bytes | LostReply  # what came of a question: text, or the bytes of text


class AnyConversation(Protocol):
    """What a conversation is to the tutor."""

    def next(self) -> Any:
        """The next question, or the result. Raises what the work raised."""

    def answer(self, reply: KernelReply) -> None:
        """What the kernel gave to the last question."""

    def close(self) -> None:
        """End it: its questions will not be answered."""


class Conversation(Generic[Result]):
    """Runs `work(ask)` and hands out what it asks, one question at a time, and last its result."""

    def __init__(self, work: Callable[[CallAnswer], Result]) -> None:
        self._out: Queue[KernelRequest | Callable[[], Result]] = Queue()
        self._in: Queue[KernelReply | None] = Queue()  # None: closed
        self._work = work
        threading.Thread(target=self._run, daemon=True).start()

    def next(self) -> KernelRequest | Result:
        """Return the next request or the result. Raises what the work raised, or ConversationEndedError."""
        try:
            step = self._out.get(timeout=LONGEST_WORK)
        except Empty:
            self.close()
            raise ConversationEndedError from None
        return step if isinstance(step, KernelRequest) else step()

    def answer(self, reply: KernelReply) -> None:
        """What the kernel gave to the last question."""
        self._in.put(reply)

    def close(self) -> None:
        """End it: the judge's thread ends with the question that it waits at, or comes to."""
        self._in.put(None)

    def _run(self) -> None:
        try:
            result = self._work(self._ask)
        except BaseException as error:
            problem = error

            def fail() -> Result:
                raise problem

            self._out.put(fail)
        else:
            self._out.put(lambda: result)

    def _ask(self, name: str, calls: list[dict[str, Any]], watch: Watch) -> Reply:
        self._out.put(KernelRequest(packed_requests.text(name, calls, watch)))
        try:
            reply = self._in.get(timeout=PATIENCE)
        except Empty:
            raise ConversationEndedError from None
        if reply is None:
            raise ConversationEndedError
        if isinstance(reply, LostReply):
            lost = Answer("died" if reply.status == "died" else "timeout")
            return Reply([lost] * len(calls), lost=True)
        return _read(reply, len(calls))


def _read(reply: str | bytes, expected: int) -> Reply:
    """What a kernel sent, as data; whatever else it is becomes an answer that cannot be read."""
    try:
        if len(reply) > LARGEST_REPLY:
            raise ValueError("more than is read")
        return read_reply(packing.unpack(reply), expected)
    except Exception as error:  # whatever a kernel can send
        return Reply([Answer("unreadable", message=str(error)[:200])] * expected)
