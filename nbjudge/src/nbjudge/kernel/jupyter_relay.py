"""The relay of a kernel without a sandbox: Jupyter's own messages, over its sockets, of any language."""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import zmq
from jupyter_client.session import Session

from nbjudge.framing import read_frame
from nbjudge.sandbox.inside.messages import LARGEST_FRAME, KernelReady
from nbjudge.sandbox.inside.relay import BATCH, LARGEST_ENVELOPE, LARGEST_MESSAGE, Arrived, Relay, run

LONGEST_QUEUE = 64  # messages of each socket
FIRST_PATIENCE, PATIENCE = 0.01, 0.2  # seconds until a kernel that answers is tried again: output is missing
DELIMITER = b"<IDS|MSG>"  # between the routing prefix and the message, as Jupyter defines it


class JupyterRelay(Relay):
    """Sends requests on the shell channel, and reads that and the channel of outputs."""

    def __init__(self, grader: socket.socket, connection: dict[str, Any]) -> None:
        super().__init__(grader)
        self._session = Session(
            key=connection["key"].encode(), signature_scheme=connection["signature_scheme"]
        )
        context = zmq.Context()
        context.set(zmq.MAX_SOCKETS, 16)
        self._shell, self._iopub = context.socket(zmq.DEALER), context.socket(zmq.SUB)
        self._shell.identity = self._session.bsession
        for name, channel in (("shell", self._shell), ("iopub", self._iopub)):
            channel.linger = 0
            channel.maxmsgsize = LARGEST_MESSAGE
            channel.rcvhwm = LONGEST_QUEUE
            channel.connect(f"ipc://{connection['ip']}-{connection[f'{name}_port']}")
        self._iopub.subscribe(b"")
        self._poller = zmq.Poller()
        for source in (self._grader, self._shell, self._iopub):
            self._poller.register(source, zmq.POLLIN)

    def connect(self) -> KernelReady:
        """Wait until the kernel replies to a request and its output arrives."""
        patience = FIRST_PATIENCE
        while True:
            request, replied = self._request({}, "kernel_info_request"), 0.0
            for message in self._messages(request, poll_interval=patience):
                if message is None:
                    if replied and time.monotonic() - replied > patience:
                        break  # the kernel replied before its output could arrive
                    continue
                kind, content = message
                replied = replied or (time.monotonic() if kind == "kernel_info_reply" else 0)
                if replied and kind == "status" and content.get("execution_state") == "idle":
                    return KernelReady()
            else:
                raise EOFError  # no kernel that was stopped before it was ready is used
            patience = min(2 * patience, PATIENCE)

    def _request(self, content: dict[str, Any], kind: str = "execute_request") -> str:
        message: Any = self._session.send(self._shell, kind, content)
        return str(message["header"]["msg_id"])

    def _wait(self, seconds: float) -> bool:
        self._ready = dict(self._poller.poll(int(1000 * seconds)))
        return self._grader.fileno() in self._ready

    def _arrived(self) -> Iterator[Arrived]:
        for channel in (self._iopub, self._shell):
            for _ in range(BATCH if channel in self._ready else 0):
                try:
                    parts: list[bytes] = channel.recv_multipart(zmq.NOBLOCK)
                except zmq.Again:
                    break
                try:
                    yield self._read(parts)
                except Exception:  # unsigned, malformed, or anything else
                    continue

    def _read(self, parts: list[bytes]) -> Arrived:
        parts = parts[parts.index(DELIMITER) + 1 :][:5]  # buffers are for widgets
        if any(len(part) > LARGEST_ENVELOPE for part in parts[:4]):
            raise ValueError("more than is read")
        message: dict[str, Any] = self._session.deserialize(parts, content=False)
        read = partial(self._session.unpack, parts[4])
        return message["parent_header"].get("msg_id"), message["msg_type"], len(parts[4]), read


def main() -> None:
    """As a program: `DESCRIPTOR`; the connection comes as the first frame."""
    grader = socket.socket(fileno=int(sys.argv[1]))
    connection = read_frame(grader.recv, LARGEST_FRAME)
    if connection is not None:
        run(lambda: JupyterRelay(grader, json.loads(connection)))
