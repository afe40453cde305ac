"""The relay of one kernel: the only process that reads what the kernel sends. It passes on plain data.

The relay runs outside the kernel's namespaces and outside the grader's process. Its memory is limited: if
student code floods, blocks or crashes it, only that kernel is lost. It decides nothing and enforces no
timeout. The grader does both, and reads nothing from a kernel. Their messages are in `messages`.
"""

import json
import os
import resource
import socket
import sys
import time
from collections.abc import Iterator
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

MEMORY = 768 * 2**20  # bytes, beyond what the process holds at its start
LARGEST_MESSAGE = 80 * 2**20  # bytes of one part of a message; a sender of more is disconnected
LARGEST_ENVELOPE = 2**18  # bytes of a message's header, of its parent's and of its metadata
LARGEST_WIDGET = 2**20  # bytes of a message between widgets that is looked at
LONGEST_REPLY = 64 * 2**20  # characters of an answer
LONGEST_NAME, LONGEST_VALUE = 1_000, 20_000  # characters of an exception
LONGEST_QUEUE = 64  # messages of each socket
BATCH = 64  # messages of one socket that are read before the other socket is
IDLE_TIMEOUT = 4.0  # seconds after its reply in which a kernel reports that it is idle
FIRST_PATIENCE, PATIENCE = 0.01, 0.2  # seconds until a kernel that answers is tried again: output is missing
POLL_INTERVAL = 0.1  # seconds
DELIMITER = b"<IDS|MSG>"  # between the routing prefix and the message, as Jupyter defines it
REPEATED_FLOOD = 3  # times the output limit: a cell that shows so much ignores its interrupt


class Relay:
    """Carries out the grader's commands by sending requests to the kernel."""

    def __init__(self, grader: socket.socket, connection: dict[str, Any]) -> None:
        from jupyter_client.session import Session

        self._grader, self._connection = grader, connection
        key = connection["key"].encode()
        self._session = Session(key=key, signature_scheme=connection["signature_scheme"])
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
        """Connect, and wait until the kernel replies to a request and its output arrives."""
        import zmq

        context = zmq.Context()
        context.set(zmq.MAX_SOCKETS, 16)
        self._shell, self._iopub = context.socket(zmq.DEALER), context.socket(zmq.SUB)
        self._shell.identity = self._session.bsession
        for name, channel in (("shell", self._shell), ("iopub", self._iopub)):
            channel.linger = 0
            channel.maxmsgsize = LARGEST_MESSAGE
            channel.rcvhwm = LONGEST_QUEUE
            channel.connect(f"ipc://{self._connection['ip']}-{self._connection[f'{name}_port']}")
        self._iopub.subscribe(b"")
        self._poller = zmq.Poller()
        for source in (self._grader, self._shell, self._iopub):
            self._poller.register(source, zmq.POLLIN)
        patience = FIRST_PATIENCE
        while True:
            request, replied = self._request("kernel_info_request", {}), 0.0
            for message in self._messages(request, poll_interval=patience):
                if message is None:
                    if replied and time.monotonic() - replied > patience:
                        break  # the kernel replied before its output could arrive
                    continue
                replied = replied or (time.monotonic() if message["msg_type"] == "kernel_info_reply" else 0)
                if replied and _is_idle(message):
                    return KernelReady()
            else:
                raise EOFError  # no kernel that was stopped before it was ready is used
            patience = min(2 * patience, PATIENCE)

    def execute(self, command: Execute) -> CellReply:
        cell = self._last_cell = cut_outputs.CellOutputs(command.output_left, self._last_cell)
        content = {"code": command.source, "silent": False, "store_history": True}
        content["user_expressions"] = {"then": command.then} if command.then else {}
        request = self._request("execute_request", content | {"allow_stdin": False, "stop_on_error": False})
        reply, replied, is_idle, floods = None, 0.0, False, 0
        for message in self._messages(request, cell):
            if message is not None and message["msg_type"] == "execute_reply":
                reply, replied = _short_reply(message["content"]), time.monotonic()
            is_idle = is_idle or (message is not None and _is_idle(message))
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
        for message in self._messages(self._request("execute_request", content)):
            if message is not None and message["msg_type"] == "execute_reply":
                return _printed(message["content"])
        return Evaluation("stopped")

    def _request(self, kind: str, content: dict[str, Any]) -> str:
        message: Any = self._session.send(self._shell, kind, content)
        return str(message["header"]["msg_id"])

    def _messages(
        self, request: str, cell: cut_outputs.CellOutputs | None = None, poll_interval: float = POLL_INTERVAL
    ) -> Iterator[dict[str, Any] | None]:
        """The kernel's messages about a request, until the grader sends "stop"; None whenever none is there.

        Outputs go into `cell`; without one they are not read.
        """
        while True:
            ready = dict(self._poller.poll(int(1000 * poll_interval)))
            if self._grader.fileno() in ready:
                read_frame(self._grader.recv, LARGEST_FRAME)  # only "stop" can come during a request
                return
            for channel in (self._iopub, self._shell):
                for _ in range(BATCH if channel in ready else 0):
                    parts = _next(channel)
                    if parts is None:
                        break
                    message = self._read(parts, request, cell)
                    if message is not None:
                        yield message
            yield None

    def _read(
        self, parts: list[bytes], request: str, cell: cut_outputs.CellOutputs | None
    ) -> dict[str, Any] | None:
        """A message about the request; None for any other.

        Messages that are unsigned, malformed or of the wrong content are skipped.
        """
        try:
            parts = parts[parts.index(DELIMITER) + 1 :][:5]  # buffers are for widgets
            if any(len(part) > LARGEST_ENVELOPE for part in parts[:4]):
                return None
            message: dict[str, Any] = self._session.deserialize(parts, content=False)
            if message["parent_header"].get("msg_id") != request:
                return None
            kind, size = message["msg_type"], len(parts[4])
            if kind not in ("status", "execute_reply", "kernel_info_reply"):
                fits = cell is not None and cell.fits(size)
                if cell is not None and fits and (not kind.startswith("comm") or size <= LARGEST_WIDGET):
                    cell.take(kind, self._session.unpack(parts[4]))
                return None
            if kind == "status" and size > LARGEST_ENVELOPE:
                return None
            message["content"] = self._session.unpack(parts[4])
            return message if isinstance(message["content"], dict) else None
        except Exception:  # anything can be in it
            return None

    def _report_flood(self, cell: cut_outputs.CellOutputs, floods: int, output_limit: int) -> int:
        """Report a cell that shows more than it may, and once more if it goes on; return how often so far.

        If nothing was left for the cell to show, it is reported only beyond the limit of a whole notebook.
        """
        limits = (0 if cell.limit else output_limit, REPEATED_FLOOD * output_limit)
        if floods < len(limits) and cell.beyond > limits[floods]:
            self._send(Flood(repeated=floods > 0))
            return floods + 1
        return floods


def _next(channel: Any) -> list[bytes] | None:
    import zmq

    try:
        parts: list[bytes] = channel.recv_multipart(zmq.NOBLOCK)
        return parts
    except zmq.Again:
        return None


def _is_idle(message: dict[str, Any]) -> bool:
    return message["msg_type"] == "status" and message["content"].get("execution_state") == "idle"


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


def run_relay(grader: socket.socket, connection: dict[str, Any]) -> None:
    """Carry out the grader's commands until it closes its end; an error ends this process."""
    try:
        limit_memory(MEMORY)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        Relay(grader, connection).serve()
    except BaseException:
        os._exit(1)  # the grader notices that the channel is closed


def main() -> None:
    """As a program, without a sandbox: `DESCRIPTOR`; the connection comes as the first frame."""
    grader = socket.socket(fileno=int(sys.argv[1]))
    connection = read_frame(grader.recv, LARGEST_FRAME)
    if connection is not None:
        run_relay(grader, json.loads(connection))
