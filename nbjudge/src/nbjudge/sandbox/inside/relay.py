"""The wire reader of one kernel: it alone reads what the kernel sends, and passes on plain, checked data.

A process of its own, outside the kernel's namespaces and outside the judge's process. Whatever
floods, hangs or bursts it ends with its kernel and costs that one only: its memory is limited, it
decides nothing, and it keeps no time; the judge, who reads nothing from a kernel, does.
"""

import os
import resource
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import frames, outputs

MEMORY = 768 * 2**20  # bytes, beyond what the process holds at its start
LARGEST_MESSAGE = 80 * 2**20  # bytes of one part of a message; a sender of more is disconnected
LARGEST_ENVELOPE = 2**18  # bytes of a message's header, of its parent's and of its metadata
LARGEST_WIDGET = 2**20  # bytes of a message between widgets that is looked at
LONGEST_REPLY = 64 * 2**20  # characters of an answer
LONGEST_NAME, LONGEST_SAID = 1_000, 20_000  # characters of an exception
LONGEST_QUEUE = 64  # messages of each socket
AT_A_TIME = 64  # messages of one socket, before somebody else is listened to
UNTIL_IDLE = 4.0  # seconds after its reply in which a kernel says that it is idle
UNTIL_SEEN = 0.2  # seconds after which a kernel that answers is asked again to show that its output arrives
BETWEEN_LOOKS = 100  # milliseconds
DELIM = b"<IDS|MSG>"  # between who a message is for and the message, as Jupyter has it
DROWNED = 3  # times the room for output: who sends so much does not stop when told to


class WireReader:
    """Answers the judge's commands by asking the kernel."""

    def __init__(self, judge: socket.socket, connection: dict[str, Any]) -> None:
        from jupyter_client.session import Session

        self._judge, self._connection = judge, connection
        key = connection["key"].encode()
        self._session = Session(key=key, signature_scheme=connection["signature_scheme"])
        self._widgets = outputs.CellOutputs(0)

    def serve(self) -> None:
        """Do what the judge says, until the judge is gone."""
        while True:
            command = frames.receive(self._judge)
            if command["do"] != "stop":  # which has come too late
                frames.send(self._judge, getattr(self, command.pop("do"))(**command))

    def connect(self) -> dict[str, Any]:
        """Connect, and wait until a request is answered and what it prints arrives."""
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
        for source in (self._judge, self._shell, self._iopub):
            self._poller.register(source, zmq.POLLIN)
        while True:
            asked, answered = self._request("kernel_info_request", {}), 0.0
            for message in self._messages(asked):
                if message is None:
                    if answered and time.monotonic() - answered > UNTIL_SEEN:
                        break  # it was answered before what it prints could arrive
                    continue
                answered = answered or (time.monotonic() if message["msg_type"] == "kernel_info_reply" else 0)
                if answered and _is_idle(message):
                    return {"status": "ready"}
            else:
                return {"status": "stopped"}

    def execute(self, source: str, room: int, most: int) -> dict[str, Any]:
        """Run a cell that may show `room` bytes of the `most` that a notebook may."""
        cell = outputs.CellOutputs(room)
        cell.inherit(self._widgets)
        self._widgets = cell
        content = {"code": source, "silent": False, "store_history": True, "user_expressions": {}}
        asked = self._request("execute_request", content | {"allow_stdin": False, "stop_on_error": False})
        reply, replied, idle, told = None, 0.0, False, 0
        for message in self._messages(asked, cell):
            if message is not None and message["msg_type"] == "execute_reply":
                reply, replied = _short_reply(message["content"]), time.monotonic()
            idle = idle or (message is not None and _is_idle(message))
            told = self._tell_of_flood(cell, told, most)
            if reply is not None and (idle or time.monotonic() - replied > UNTIL_IDLE):
                break
        return {
            "outputs": cell.as_list(),
            "room": 0 if cell.beyond else cell.room - cell.shown,
            "cut": cell.was_cut,
            "reply": reply,
        }

    def evaluate(self, expression: str) -> dict[str, Any]:
        """The printed form of an expression's value."""
        content = {"code": "", "silent": True, "store_history": False, "allow_stdin": False}
        asked = self._request("execute_request", content | {"user_expressions": {"answer": expression}})
        for message in self._messages(asked):
            if message is not None and message["msg_type"] == "execute_reply":
                return _printed(message["content"])
        return {"status": "stopped"}

    def _request(self, kind: str, content: dict[str, Any]) -> str:
        message: Any = self._session.send(self._shell, kind, content)
        return str(message["header"]["msg_id"])

    def _messages(
        self, asked: str, cell: outputs.CellOutputs | None = None
    ) -> Iterator[dict[str, Any] | None]:
        """The kernel's messages about a request, until the judge says stop; None whenever none is there.

        What is to be shown goes into `cell`, and is not read where there is none.
        """
        while True:
            ready = dict(self._poller.poll(BETWEEN_LOOKS))
            if self._judge.fileno() in ready:
                frames.receive(self._judge)  # there is one word only that comes while a request is out
                return
            for channel in (self._iopub, self._shell):
                for _ in range(AT_A_TIME if channel in ready else 0):
                    parts = _next(channel)
                    if parts is None:
                        break
                    message = self._read(parts, asked, cell)
                    if message is not None:
                        yield message
            yield None

    def _read(
        self, parts: list[bytes], asked: str, cell: outputs.CellOutputs | None
    ) -> dict[str, Any] | None:
        """A message about the request; None for any other, and for what is none.

        Unsigned, malformed, with content of the wrong kind: all that is passed over.
        """
        try:
            parts = parts[parts.index(DELIM) + 1 :][:5]  # buffers are for widgets
            if any(len(part) > LARGEST_ENVELOPE for part in parts[:4]):
                return None
            message: dict[str, Any] = self._session.deserialize(parts, content=False)
            if message["parent_header"].get("msg_id") != asked:
                return None
            kind, size = message["msg_type"], len(parts[4])
            if kind not in ("status", "execute_reply", "kernel_info_reply"):
                fits = cell is not None and cell.has_room_for(size)
                if cell is not None and fits and (not kind.startswith("comm") or size <= LARGEST_WIDGET):
                    cell.take(kind, self._session.unpack(parts[4]))
                return None
            if kind == "status" and size > LARGEST_ENVELOPE:
                return None
            message["content"] = self._session.unpack(parts[4])
            return message if isinstance(message["content"], dict) else None
        except Exception:  # anything can be in it
            return None

    def _tell_of_flood(self, cell: outputs.CellOutputs, told: int, most: int) -> int:
        """Tell the judge of a cell that floods, and once more if it goes on all the same.

        Where there was no room to begin with, the cell is told of only if it floods as well.
        """
        limits = (0 if cell.room else most, DROWNED * most)
        if told < len(limits) and cell.beyond > limits[told]:
            frames.send(self._judge, {"event": ("flood", "drowning")[told]})
            return told + 1
        return told


def _next(channel: Any) -> list[bytes] | None:
    import zmq

    try:
        parts: list[bytes] = channel.recv_multipart(zmq.NOBLOCK)
        return parts
    except zmq.Again:
        return None


def _is_idle(message: dict[str, Any]) -> bool:
    return message["msg_type"] == "status" and message["content"].get("execution_state") == "idle"


def _short_reply(content: dict[str, Any]) -> dict[str, Any]:
    """What the judge wants to know of a cell's reply."""
    entries, count = content.get("payload"), content.get("execution_count")
    entries = entries[:100] if isinstance(entries, list) else []
    return {
        "failed": content.get("status") == "error",
        "count": count if type(count) is int and 0 < count < 10**6 else None,
        "ename": outputs.text(content.get("ename"))[:LONGEST_NAME],
        "evalue": outputs.text(content.get("evalue"))[:LONGEST_SAID],
        # `exit()` takes effect only after the cell's reply, but the reply announces it.
        "exits": any(isinstance(entry, dict) and entry.get("source") == "ask_exit" for entry in entries),
    }


def _printed(content: dict[str, Any]) -> dict[str, Any]:
    """The text of an answer, or why there is none."""
    values = content.get("user_expressions")
    answer = values.get("answer") if isinstance(values, dict) else None
    if not isinstance(answer, dict):
        return {"status": "unreadable", "said": "no answer came with the reply"}
    if answer.get("status") != "ok":
        name, said = (outputs.text(answer.get(key))[:LONGEST_NAME] for key in ("ename", "evalue"))
        return {"status": "unreadable", "said": f"{name}: {said}"}
    data = answer.get("data")
    text = data.get("text/plain") if isinstance(data, dict) else None
    if not isinstance(text, str) or len(text) > LONGEST_REPLY:
        return {"status": "unreadable", "said": "more than is read" if isinstance(text, str) else "no text"}
    return {"status": "ok", "text": text}


def limit_memory() -> None:
    """The process may hold so much more than now; where it asks for more it ends, and its kernel with it."""
    if sys.platform != "linux":  # elsewhere the limit means something else
        return
    lines = Path("/proc/self/status").read_text().splitlines()
    held = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:")), 0)
    resource.setrlimit(resource.RLIMIT_DATA, (held + MEMORY, held + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def read_wire(judge: socket.socket, connection: dict[str, Any]) -> None:
    """Serve the judge until it is gone; then, and whatever else happens, end this process."""
    try:
        limit_memory()
        WireReader(judge, connection).serve()
    except BaseException:
        os._exit(1)  # the judge sees that, and nobody else is to be told


def main() -> None:
    """As a program of its own, where there is no sandbox: `DESCRIPTOR`, then the connection as a frame."""
    judge = socket.socket(fileno=int(sys.argv[1]))
    read_wire(judge, frames.receive(judge))
