"""The kernel of a sandbox: ipykernel, with one socket to its relay in the place of Jupyter's five.

It runs cells and sends outputs as any ipykernel. It needs no thread for messages, key or heartbeat: one
process asks it one thing at a time.
"""

import ast
import asyncio
import json
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from ipykernel.iostream import IOPubThread, OutStream
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from jupyter_client.session import Session
from tornado.ioloop import IOLoop

from .packets import MessageReader, packets

LARGEST_REQUEST = 2**30  # bytes
LONGEST_ERROR_TEXT = 20_000  # characters of its message, and of each entry of its traceback
# `!ls`, `name?`, `%magic`, `/call`, `,quote`, `;quote` and `name = %magic`, as IPython reads them.
OWN_SYNTAX = re.compile(r"[!?](?!=)|^\s*[%/,;]|=\s*%")
UNUSUAL_ESCAPE = re.compile(r"""\\[^\\'"abfnrtvx\n]""")  # one that Python may warn about when it parses it


class Wire:
    """The kernel's end of the socket to its relay."""

    socket: socket.socket  # once the kernel is forked

    def __init__(self) -> None:
        self._reader = MessageReader(LARGEST_REQUEST)
        self._count = 0
        self._unlock()
        os.register_at_fork(after_in_child=self._unlock)  # another thread may have held it

    def _unlock(self) -> None:
        self._lock = threading.RLock()

    def send(self, request: str, kind: str, content: bytes) -> None:
        """Send one message, from any thread, also of a process that was forked."""
        with self._lock:
            self._count += 1
            for packet in packets(self._count, request, kind, content):
                self.socket.send(packet)

    def request(self) -> tuple[str, Any] | None:
        """Return the next request that is there, by its number and content. Raises EOFError at the end."""
        while (packet := self._reader.receive(self.socket)) is not None:
            if not packet:
                raise EOFError
            if (message := self._reader.add(packet)) is not None:
                number, _, content, _ = message
                return number, json.loads(content)
        return None


class WireSession(Session):
    """Sends what the relay reads on the wire, and only the beginning of an error's texts.

    The relay reads neither that the kernel is busy nor the cell that it has sent. An error is sent four times
    per cell. Student code can undo this, and then loses only its own reply.
    """

    wire: Wire

    def send(
        self, stream: Any, msg_or_type: Any, content: Any = None, parent: Any = None, *_: Any, **more: Any
    ) -> dict[str, Any]:
        if isinstance(msg_or_type, str):
            header = (parent or {}).get("header", parent or {})
            message = {"header": {"msg_type": msg_or_type}, "parent_header": header, "content": content or {}}
        else:
            message = msg_or_type
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "execute_input" or (kind == "status" and content == {"execution_state": "busy"}):
            return message
        if kind in ("error", "execute_reply") and isinstance(content, dict):
            content = short_error(content)
            expressions = content.get("user_expressions")
            if isinstance(expressions, dict):
                content["user_expressions"] = {
                    name: short_error(value) if isinstance(value, dict) else value
                    for name, value in expressions.items()
                }
        self.wire.send(message["parent_header"].get("msg_id", ""), kind, self.pack(content))
        return message


def short_error(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content with the texts of its error cut, if it has one."""

    def cut(text: Any) -> Any:
        return text[:LONGEST_ERROR_TEXT] if isinstance(text, str) else text

    changed = {"evalue": cut(content["evalue"])} if "evalue" in content else {}
    if isinstance(content.get("traceback"), list):
        changed["traceback"] = [cut(line) for line in content["traceback"]]
    return content | changed


class NoThread(IOPubThread):
    """In the place of ipykernel's thread for outputs: the thread that shows something sends it."""

    def __init__(self) -> None:
        self.thread: Any = SimpleNamespace(is_alive=lambda: False, ident=None)
        self.io_loop: Any = None

    def schedule(self, f: Callable[[], Any]) -> None:
        f()

    def stop(self) -> None:
        """Nothing runs."""

    close = stop


def flush_now_and_then(stream: Any) -> None:
    """Send what was printed when the last was sent some time ago; at its end a cell sends the rest."""
    now = time.monotonic()
    if now - getattr(stream, "last_sent", 0.0) >= stream.flush_interval:
        stream.last_sent = now
        stream._flush()


class SocketKernel(IPythonKernel):
    """Takes one request after the other from the wire, and answers it there."""

    _supports_kernel_subshells = False
    _execute_sleep = 0.0  # nothing is to arrive before a reply that was sent after it
    wire: Wire
    shell: Any
    session: Any

    def start(self) -> None:
        self.shell.exit_now = False
        self.io_loop = IOLoop.current()
        self._requests = asyncio.Queue[tuple[str, Any]]()
        loop: asyncio.AbstractEventLoop = self.io_loop.asyncio_loop  # type: ignore[attr-defined]
        loop.add_reader(self.wire.socket.fileno(), self._take_in)
        self._answering = loop.create_task(self._answer())
        self.wire.send("", "ready", b"{}")

    def _take_in(self) -> None:
        try:
            while (request := self.wire.request()) is not None:
                self._requests.put_nowait(request)
        except EOFError:
            self.io_loop.stop()

    async def _answer(self) -> None:
        while True:
            number, content = await self._requests.get()
            header = {"msg_id": number, "msg_type": "execute_request", "session": "", "username": ""}
            parent = {"header": header, "msg_id": number, "msg_type": "execute_request"}
            parent |= {"parent_header": {}, "metadata": {}, "content": content, "buffers": []}
            self.set_parent([], parent, "shell")
            self.pre_handler_hook()
            try:
                await self.execute_request(self.wire, [], parent)
            except (Exception, KeyboardInterrupt):
                self.log.error("Exception in message handler:", exc_info=True)
            finally:
                self.post_handler_hook()
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            self.session.send(self.wire, "status", {"execution_state": "idle"}, parent)


class KernelApp(IPKernelApp):
    """Makes the kernel in the fork server, and starts it when it is forked."""

    def init_sockets(self) -> None:
        self.wire = Wire()
        self.session = WireSession(key=b"")
        self.session.wire = self.wire
        self.iopub_thread, self.iopub_socket = NoThread(), self.wire
        self.configure_tornado_logger()

    def init_kernel(self) -> None:
        self.kernel = SocketKernel.instance(
            parent=self,
            session=self.session,
            iopub_thread=self.iopub_thread,
            iopub_socket=self.iopub_socket,
            log=self.log,
            profile_dir=self.profile_dir,
            user_ns=self.user_ns,
        )
        self.kernel.wire = self.wire
        # Where a cell awaits something, its kernel looks whether it is in this thread.
        self.kernel.shell_channel_thread = SimpleNamespace(parent_thread=threading.main_thread())

    def _nothing(self, *_: Any, **__: Any) -> None:
        """Of what a kernel with Jupyter's sockets needs, or does only when it is forked."""

    init_connection_file = init_heartbeat = write_connection_file = log_connection_info = close = _nothing
    init_io = init_signal = _nothing

    def serve(self, connection: socket.socket) -> None:
        """Take requests, in the fork that has become a kernel."""
        self.wire.socket = connection
        super().init_io()
        super().init_signal()
        self.displayhook.get_execution_count = lambda: self.kernel.execution_count
        self.kernel.shell.starting_dir = os.getcwd()
        os.makedirs(self.kernel.profile_dir.location)  # the fork has a home of its own
        self.start()


def make_kernel() -> KernelApp:
    """Make what `python -m ipykernel_launcher` starts, in a process that is then forked for each kernel."""
    # No one debugs these kernels, and the debugger takes long to import.
    no_debugger: Any = ModuleType("ipykernel.debugger")
    no_debugger._is_debugpy_available, no_debugger.Debugger = False, object
    sys.modules["ipykernel.debugger"] = no_debugger
    setattr(OutStream, "_schedule_flush", flush_now_and_then)  # noqa: B010 - mypy
    app = KernelApp.instance(logging_config={"loggers": {"KernelApp": {"level": "WARNING"}}})
    sys.path.insert(0, "")
    # Libraries ask for this part of the configuration to know that they are in a notebook.
    app.initialize(["--HistoryManager.enabled=False", "--IPKernelApp.quiet=True"])
    shell: Any = app.shell
    leave_plain_python(shell.input_transformer_manager)
    # These look for a shell when they are imported, which was before there was one.
    if "matplotlib.pyplot" in sys.modules:
        shell.enable_matplotlib("inline")
    if "ipywidgets" in sys.modules:
        sys.modules["ipywidgets"].load_ipython_extension(shell)
    shell.run_cell("None", silent=True)  # much is made at its first use
    shell.user_expressions({"first": "1"})
    return app


def leave_plain_python(transformers: Any) -> None:
    """Have IPython look for its own syntax, such as `%time`, only in cells that are not plain Python.

    It tokenizes each cell in Python for this, which takes longer than most cells run. None of its own syntax
    is valid Python, and most cells hold no character that it could begin or end with.
    """
    transform = transformers.do_token_transforms

    def transform_if_not_python(lines: list[str]) -> list[str]:
        may_be = any(map(OWN_SYNTAX.search, lines))
        return transform(lines) if may_be and not is_plain_python("".join(lines)) else lines

    transformers.do_token_transforms = transform_if_not_python


def is_plain_python(source: str) -> bool:
    """Return whether Python parses the source; False also where it would warn, as the cell itself will."""
    if UNUSUAL_ESCAPE.search(source):
        return False
    try:
        ast.parse(source)
    except Exception:  # a syntax error, or too deeply nested
        return False
    return True
