"""The wires to a student's kernel, at whose other end anything may be: floods, nonsense, silence."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Empty
from tempfile import TemporaryDirectory
from typing import Any

import zmq.asyncio
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.channels import AsyncZMQSocketChannel
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionComplete
from nbformat import NotebookNode
from traitlets import Type, default

from attention_lab.grading.limits import Limits
from attention_lab.grading.sandbox.forked_kernel import SandboxError
from attention_lab.grading.sandbox.provisioner import SandboxSpecs

LARGEST_MESSAGE = 96 * 2**20  # bytes; a sender of more is disconnected
LONGEST_QUEUE = 256  # messages of each socket
TOO_MUCH_OUTPUT = "[The rest is left out: this notebook shows more than is kept.]\n"


class Channel(AsyncZMQSocketChannel):
    """Passes over what is no message: unsigned, malformed, signed twice."""

    async def get_msg(  # type: ignore[override]
        self, timeout: float | None = None
    ) -> dict[str, Any]:
        ends = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if ends is None else max(0.0, ends - time.monotonic())
            try:
                message = await super().get_msg(left)
                message["content"]["metadata"] = message["content"].get("metadata") or {}
                message["parent_header"].get("msg_id")
                return message
            except Empty:
                raise
            except Exception:
                continue


class Client(AsyncKernelClient):
    """A client that is ready as soon as the kernel is, without pauses to make sure."""

    shell_channel_class = Type(Channel)
    iopub_channel_class = Type(Channel)
    control_channel_class = Type(Channel)

    async def wait_for_ready(self, timeout: float | None = None) -> None:
        """Wait until a request is answered and what it prints arrives. Raises SandboxError if late."""
        ends = time.monotonic() + (timeout or 60)
        while time.monotonic() < ends:
            asked = self.kernel_info()
            with suppress(Empty):
                while (await self.get_shell_msg(timeout=1))["parent_header"].get("msg_id") != asked:
                    continue
                while not _is_idle_after(await self.get_iopub_msg(timeout=0.5), asked):
                    continue
                return
            if not await self.is_alive():
                raise SandboxError("The kernel died before it was ready.")
        raise SandboxError("The kernel was not ready in time.")


class Manager(AsyncKernelManager):
    client_factory = Type(Client, klass=AsyncKernelClient)

    @default("log")
    def _log_nothing(self) -> logging.Logger:
        """A kernel that does not start would be logged with a traceback; the grader says what it means."""
        silent = logging.getLogger(__name__)
        silent.propagate, silent.disabled = False, True
        return silent


class Runner(NotebookClient):
    """Runs cells, and keeps no more of what they show than the limits say."""

    def __init__(self, notebook: NotebookNode, limits: Limits, **options: Any) -> None:
        super().__init__(notebook, kernel_manager_class=Manager, **options)
        self._output_left = limits.output
        self._most_output = limits.output
        self.flooded = False
        self._cell: NotebookNode | None = None
        self._beyond = 0  # what this cell sent after there was no room any more
        self._told_to_stop = False

    def process_message(self, msg: dict[str, Any], cell: NotebookNode, cell_index: int) -> Any:
        """As nbclient does, for messages that make sense and fit into what may still be shown."""
        if cell is not self._cell:
            self._cell, self._beyond, self._told_to_stop = cell, 0, False
        try:
            if msg["msg_type"] not in ("status", "execute_input"):
                size = _size(msg["content"])
                self._output_left -= size
                if self._output_left < 0:
                    self._beyond += size
                    return self._stop_flood(cell)
            return super().process_message(msg, cell, cell_index)
        except CellExecutionComplete:
            raise
        except Exception:  # a message of the right kind with the wrong content
            return None

    def _stop_flood(self, cell: NotebookNode) -> None:
        """Stop the cell that fills the room; of later ones those only that flood as well."""
        assert self.km is not None and self.km.provisioner is not None
        if not self.flooded:
            cell.outputs.append(NotebookNode(output_type="stream", name="stdout", text=TOO_MUCH_OUTPUT))
        if not self._told_to_stop and (not self.flooded or self._beyond > self._most_output):
            self._stopping = asyncio.ensure_future(self.km.provisioner.send_signal(signal.SIGINT))
            self._told_to_stop = True
        elif self._beyond > 3 * self._most_output:  # told to stop, it went on
            self._stopping = asyncio.ensure_future(self.km.provisioner.kill())
        self.flooded = True


@dataclass(frozen=True)
class World:
    """Where a notebook's kernel runs: which kernel, within what, and what it finds imported."""

    kernel_name: str = "python3"
    limits: Limits = Limits()
    sandbox: bool = True
    modules: tuple[str, ...] = ()


def start(runner: Runner, folder: Path, world: World) -> TemporaryDirectory[str] | None:
    """Start a kernel for `runner` in `folder` (or in the sandbox, with a copy of its files).

    Returns the folder of its sockets, to be cleaned up after it; the sandbox keeps its own.
    """
    manager: Any = runner.create_kernel_manager()
    manager.context = zmq.asyncio.Context()
    manager.context.linger = 0
    manager.context.maxmsgsize = LARGEST_MESSAGE
    manager.context.rcvhwm = LONGEST_QUEUE
    sockets = None
    if world.sandbox:
        manager.kernel_spec_manager = SandboxSpecs(limits=asdict(world.limits), modules=list(world.modules))
    else:
        # Sockets in a private folder, rather than ports that every user of the machine can reach.
        sockets = TemporaryDirectory(prefix="attention-lab-")
        manager.transport = "ipc"
        manager.connection_file = str(Path(sockets.name) / "kernel.json")
        manager.ip = str(Path(sockets.name) / "kernel")
    try:
        runner.start_new_kernel(cwd=str(folder))
        runner.start_new_kernel_client()
    except BaseException:
        manager.context.destroy(linger=0)
        raise
    return sockets


def _is_idle_after(message: dict[str, Any], asked: str) -> bool:
    return (
        message["parent_header"].get("msg_id") == asked
        and message["content"].get("execution_state") == "idle"
    )


def _size(content: Any) -> int:
    """Roughly the characters of a message's content."""
    if isinstance(content, str):
        return len(content)
    if isinstance(content, dict):
        return sum(map(_size, content.values()))
    if isinstance(content, list):
        return sum(map(_size, content))
    return 8
