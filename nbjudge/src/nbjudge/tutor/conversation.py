"""Runs the judge in a thread, so that a learner's kernel can fetch its requests one by one.

When a notebook is graded, the judge calls the kernel and waits for the reply. A learner's kernel cannot be
called, because it sends the messages itself: it fetches a request from the tutor, makes the calls, and sends
the reply with its next message.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, Queue
from typing import Any, Generic, Protocol, TypeVar

from nbjudge.calls import Answer, AnswerCaller, Call, Reply, read_reply
from nbjudge.kernel.protocol import request
from nbjudge.probe.watching import WatchedCalls
from nbjudge.tutor.messages import LARGEST_TEXT, CallReply
from nbjudge.values import packing

Result = TypeVar("Result")
MOST_BYTES = 128 * 2**20  # of all packed requests that are kept
PATIENCE = 120.0  # seconds that a kernel may take for one request
LONGEST_WORK = 130.0  # seconds that the judge may take until its next request or its result


class PackedRequests:
    """The latest packed requests by their calls, which are compared as objects and never changed.

    The same calls are sent again with the next check, and in a class to all learners.
    """

    def __init__(self) -> None:
        self._texts: dict[tuple[Any, ...], tuple[list[Call], bytes]] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def text(self, name: str, calls: list[Call], watched_calls: WatchedCalls) -> bytes:
        """Return the packed request in UTF-8."""
        key = (name, repr(watched_calls), *map(id, calls))
        with self._lock:
            if key in self._texts:
                self._texts[key] = self._texts.pop(key)  # asked again, so it is the last to go
                return self._texts[key][1]
        text = request(name, calls, watched_calls).encode()
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
    """A request for the kernel, packed in UTF-8 (`nbjudge.kernel.protocol.request`)."""

    request: bytes


class AnyConversation(Protocol):
    """The part of a conversation that the tutor needs."""

    def next(self) -> Any:
        """Return the next request or the result. Raises what the work raised."""

    def answer(self, reply: CallReply) -> None:
        """Give the conversation the kernel's reply to the last request."""

    def close(self) -> None:
        """End the conversation: no reply will come."""


class Conversation(Generic[Result]):
    """Runs `work(call_answer)` in a thread; returns its requests one at a time, and at the end its result."""

    def __init__(self, work: Callable[[AnswerCaller], Result]) -> None:
        self._out: Queue[KernelRequest | Future[Result]] = Queue()
        self._in: Queue[CallReply | None] = Queue()  # None: closed
        self._work = work
        threading.Thread(target=self._run, daemon=True).start()

    def next(self) -> KernelRequest | Result:
        """Return the next request or the result. Raises what the work raised, or ConversationEndedError."""
        try:
            step = self._out.get(timeout=LONGEST_WORK)
        except Empty:
            self.close()
            raise ConversationEndedError from None
        return step if isinstance(step, KernelRequest) else step.result()

    def answer(self, reply: CallReply) -> None:
        """Give the judge the kernel's reply to the last request."""
        self._in.put(reply)

    def close(self) -> None:
        """End the conversation: the judge's thread ends at the request that it waits for or makes next."""
        self._in.put(None)

    def _run(self) -> None:
        result = Future[Result]()
        try:
            result.set_result(self._work(self._call_answer))
        except BaseException as error:
            result.set_exception(error)
        self._out.put(result)

    def _call_answer(self, name: str, calls: list[Call], watched_calls: WatchedCalls) -> Reply:
        self._out.put(KernelRequest(packed_requests.text(name, calls, watched_calls)))
        try:
            reply = self._in.get(timeout=PATIENCE)
        except Empty:
            raise ConversationEndedError from None
        if reply is None:
            raise ConversationEndedError
        return _read(reply, len(calls))


def _read(reply: CallReply, expected: int) -> Reply:
    """Unpack a kernel's reply; if that fails, every answer in it counts as unreadable."""
    if reply.text is None or len(reply.text) > LARGEST_TEXT:
        return Reply([Answer(reply.lost or "timeout")] * expected, lost=True)
    try:
        return read_reply(packing.unpack(reply.text), expected)
    except Exception as error:  # whatever a kernel can send
        return Reply([Answer("unreadable", message=str(error)[:200])] * expected)
