"""The relay of one kernel: the only process that reads what the kernel sends. It passes on plain data.

The relay runs outside the kernel's namespaces and outside the grader's process. Its memory is limited: if
student code floods, blocks or crashes it, only that kernel is lost. It decides nothing and enforces no
timeout. The grader does both, and reads nothing from a kernel. Their messages are in `messages`.
"""

import json
import os
import resource
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from . import cut_outputs
from .framing import read_frame, to_frame
from .limits import limit_memory
from .messages import (
    LARGEST_FRAME,
    CellReply,
    Command,
    Connect,
    Evaluate,
    Evaluation,
    Execute,
    ExecuteReply,
    Flood,
    KernelReady,
    Reply,
)
from .packets import MessageReader, packets

MEMORY = 768 * 2**20  # bytes, beyond what the process holds at its start
LARGEST_MESSAGE = 80 * 2**20  # bytes of a message that are read
LARGEST_ENVELOPE = 2**18  # bytes of a message's header, of its parent's and of its metadata
LARGEST_WIDGET = 2**20  # bytes of a message between widgets that is looked at
LONGEST_REPLY = 64 * 2**20  # characters of an answer
LONGEST_NAME, LONGEST_VALUE = 1_000, 20_000  # characters of an exception
BATCH = 64  # messages, or packets, that are read before the grader is looked at
IDLE_TIMEOUT = 4.0  # seconds after its reply in which a kernel reports that it is idle
POLL_INTERVAL = 0.1  # seconds
REPEATED_FLOOD = 3  # times the output limit: a cell that shows so much ignores its interrupt


# A message of the kernel's: the request that it is about, its kind, the size and what reads its content.
Arrived = tuple[str, str, int, Callable[[], Any]]


class Relay:
    """Carries out the grader's commands by sending requests to the kernel."""

    def __init__(self, grader: socket.socket) -> None:
        self._grader = grader
        self._last_cell: cut_outputs.CellOutputs | None = None

    def serve(self) -> None:
        """Carry out commands until the grader has closed its end."""
        while (frame := read_frame(self._grader.recv, LARGEST_FRAME)) is not None:
            match msgspec.json.decode(frame, type=Command):
                case Connect():
                    self._send(self.connect())
                case Execute() as command:
                    self._send(self.execute(command))
                case Evaluate() as command:
                    self._send(self.evaluate(command))
                # "stop" has come after the reply.

    def _send(self, message: Reply | Flood) -> None:
        self._grader.sendall(to_frame(msgspec.json.encode(message)))

    def connect(self) -> KernelReady:
        """Wait until the kernel takes requests."""
        raise NotImplementedError

    def execute(self, command: Execute) -> CellReply:
        cell = self._last_cell = cut_outputs.CellOutputs(command.output_left, self._last_cell)
        content = {"code": command.source, "silent": False, "store_history": True}
        content["user_expressions"] = {"then": command.then} if command.then else {}
        request = self._request(content | {"allow_stdin": False, "stop_on_error": False})
        reply, replied, is_idle, floods = None, 0.0, False, 0
        for message in self._messages(request, cell):
            if message is not None and message[0] == "execute_reply":
                reply, replied = _short_reply(message[1]), time.monotonic()
            is_idle = is_idle or (message is not None and message[1].get("execution_state") == "idle")
            floods = self._report_flood(cell, floods, command.output_limit)
            if reply is not None and (is_idle or time.monotonic() - replied > IDLE_TIMEOUT):
                break
        left = 0 if cell.beyond else cell.limit - cell.shown
        return msgspec.convert(
            {"outputs": cell.as_list(), "output_left": left, "was_cut": cell.was_cut, "reply": reply},
            CellReply,
        )

    def evaluate(self, command: Evaluate) -> Evaluation:
        content = {"code": "", "silent": True, "store_history": False, "allow_stdin": False}
        content |= {"user_expressions": {"answer": command.expression}, "request": command.request}
        for message in self._messages(self._request(content)):
            if message is not None and message[0] == "execute_reply":
                return _printed(message[1])
        return Evaluation("stopped")

    def _request(self, content: dict[str, Any]) -> str:
        """Have the kernel execute something; the number of the request."""
        raise NotImplementedError

    def _wait(self, seconds: float) -> bool:
        """Wait for a message of the kernel's; whether one of the grader's is there."""
        raise NotImplementedError

    def _arrived(self) -> Iterator[Arrived]:
        """What has arrived; what is malformed is skipped."""
        raise NotImplementedError

    def _messages(
        self, request: str, cell: cut_outputs.CellOutputs | None = None, poll_interval: float = POLL_INTERVAL
    ) -> Iterator[tuple[str, dict[str, Any]] | None]:
        """The kernel's messages about a request: kind and content, until the grader sends "stop".

        None whenever none is there. Outputs go into `cell`; without one they are not read.
        """
        while not self._wait(poll_interval):
            for about, kind, size, read in self._arrived():
                if about == request:
                    with suppress(Exception):  # anything can be in it
                        content = self._content(kind, size, read, cell)
                        if isinstance(content, dict):
                            yield kind, content
            yield None
        read_frame(self._grader.recv, LARGEST_FRAME)  # only "stop" can come during a request

    def _content(
        self, kind: str, size: int, read: Callable[[], Any], cell: cut_outputs.CellOutputs | None
    ) -> Any:
        """Return the content of a message that is no output, and take in any other."""
        if kind not in ("status", "execute_reply", "kernel_info_reply", "ready"):
            fits = cell is not None and cell.fits(size)
            if cell is not None and fits and (not kind.startswith("comm") or size <= LARGEST_WIDGET):
                cell.take(kind, read())
            return None
        return None if kind == "status" and size > LARGEST_ENVELOPE else read()

    def _report_flood(self, cell: cut_outputs.CellOutputs, floods: int, output_limit: int) -> int:
        """Report a cell that shows more than it may, and once more if it goes on; return how often so far.

        If nothing was left for the cell to show, it is reported only beyond the limit of a whole notebook.
        """
        limits = (0 if cell.limit else output_limit, REPEATED_FLOOD * output_limit)
        if floods < len(limits) and cell.beyond > limits[floods]:
            self._send(Flood(repeated=floods > 0))
            return floods + 1
        return floods


class SocketRelay(Relay):
    """The relay of a kernel in the sandbox (`sandbox.inside.kernel`), over the one socket of that."""

    def __init__(self, grader: socket.socket, kernel: socket.socket) -> None:
        super().__init__(grader)
        self._kernel, self._sources = kernel, [grader, kernel]
        self._reader, self._requests = MessageReader(LARGEST_MESSAGE), 0

    def connect(self) -> KernelReady:
        """Wait until the kernel takes requests."""
        for message in self._messages(""):
            if message is not None and message[0] == "ready":
                return KernelReady()
        raise EOFError  # no kernel that was stopped before it was ready is used

    def _request(self, content: dict[str, Any]) -> str:
        self._requests += 1
        request, sent = str(self._requests), msgspec.json.encode(content)
        with suppress(OSError):  # the kernel has ended, or closed its end: the grader sees which
            for packet in packets(self._requests, request, "execute_request", sent):
                self._kernel.send(packet)
        return request

    def _wait(self, seconds: float) -> bool:
        return self._grader in select.select(self._sources, [], [], seconds)[0]

    def _arrived(self) -> Iterator[Arrived]:
        for _ in range(BATCH):
            packet = self._reader.receive(self._kernel)
            if packet is None:
                return
            if not packet:  # as above
                self._sources = [self._grader]
                return
            with suppress(ValueError):
                message = self._reader.add(packet)
                if message is not None:
                    about, kind, content, size = message
                    yield about, kind, size, partial(json.loads, content)


def _short_reply(content: dict[str, Any]) -> ExecuteReply:
    """Return what the grader reads of a cell's reply."""
    entries, count = content.get("payload"), content.get("execution_count")
    entries = entries[:100] if isinstance(entries, list) else []
    return ExecuteReply(
        failed=content.get("status") == "error",
        count=count if type(count) is int and 0 < count < 10**6 else None,
        ename=cut_outputs.text(content.get("ename"))[:LONGEST_NAME],
        evalue=cut_outputs.text(content.get("evalue"))[:LONGEST_VALUE],
        # `exit()` takes effect only after the cell's reply, but the reply announces it.
        exits=any(isinstance(entry, dict) and entry.get("source") == "ask_exit" for entry in entries),
    )


def _printed(content: dict[str, Any]) -> Evaluation:
    values = content.get("user_expressions")
    answer = values.get("answer") if isinstance(values, dict) else None
    if not isinstance(answer, dict):
        return Evaluation("unreadable", "no answer came with the reply")
    if answer.get("status") != "ok":
        name, value = (cut_outputs.text(answer.get(key))[:LONGEST_NAME] for key in ("ename", "evalue"))
        return Evaluation("unreadable", f"{name}: {value}")
    data = answer.get("data")
    text = data.get("text/plain") if isinstance(data, dict) else None
    if not isinstance(text, str) or len(text) > LONGEST_REPLY:
        return Evaluation("unreadable", "more than is read" if isinstance(text, str) else "no text")
    return Evaluation("ok", text.encode("utf-8", "replace").decode())  # without half characters


def run(make: Callable[[], Relay]) -> None:
    """Have a relay carry out the grader's commands until it closes its end; an error ends this process."""
    try:
        limit_memory(MEMORY)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        make().serve()
    except BaseException:
        os._exit(1)  # the grader notices that the channel is closed
