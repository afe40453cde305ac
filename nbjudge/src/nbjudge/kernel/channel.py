"""The grader's end of the channel to a kernel's relay: one command, one reply, within a deadline.

The relay (`sandbox.inside.relay`) reads what the kernel sends, in a process of its own. A command is sent to
it as JSON and answered by one reply; a `Flood` may come before it. A message of another form is an error of
the channel. The grader never waits longer than a deadline allows.
"""

from __future__ import annotations

import select
import signal
import socket
from collections import Counter
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import msgspec

from nbjudge.framing import FrameBuffer, to_frame
from nbjudge.kernel.timing import Deadline, poll_interval

INTERRUPT_TIMEOUT = 3.0  # seconds in which an interrupted kernel must reply
STOP_TIMEOUT = 1.0  # seconds in which the relay must hand over what has arrived
LARGEST_FRAME = 160 * 2**20  # bytes
PIECE = 2**20  # bytes that are sent or received at a time


class Command(msgspec.Struct, tag_field="command", tag=str.lower, frozen=True):
    """What the relay is to do."""


class Connect(Command, frozen=True):
    """Wait until the kernel answers and its output arrives; answered by `KernelReady`."""


class Execute(Command, frozen=True):
    """Run a cell that may show `output_left` more bytes of `output_limit`; answered by `CellReply`.

    The expression `then` is evaluated afterwards, unless the cell ends with an error.
    """

    source: str
    output_left: int
    output_limit: int
    then: str = ""


class Evaluate(Command, frozen=True):
    """Evaluate an expression, which finds `request` in the kernel's message; answered by `Evaluation`."""

    expression: str
    request: str = ""


class Stop(Command, frozen=True):
    """End the current command with what has arrived so far."""


class Flood(msgspec.Struct, tag_field="type", tag="flood", frozen=True):
    """A cell shows more than it may; `repeated` if it goes on after it was interrupted."""

    repeated: bool


class KernelReady(msgspec.Struct, tag_field="type", tag="ready", frozen=True):
    """The kernel answers."""


class ExecuteReply(msgspec.Struct, frozen=True):
    """What the kernel itself said about a cell."""

    failed: bool
    count: int | None
    ename: str
    evalue: str
    exits: bool  # the cell called `exit()`, which takes effect after the reply


class Stream(msgspec.Struct, tag_field="output_type", tag="stream", frozen=True):
    """What a cell printed."""

    name: Literal["stdout", "stderr"]
    text: str


class DisplayData(msgspec.Struct, tag_field="output_type", tag="display_data", frozen=True):
    """Text and pictures that a cell displayed, by their media types."""

    data: dict[Literal["text/plain", "image/png", "image/jpeg"], str]
    metadata: dict[str, Any]


class ExecuteResult(DisplayData, tag="execute_result", frozen=True):
    """The value of a cell's last expression."""

    execution_count: None


class ErrorOutput(msgspec.Struct, tag_field="output_type", tag="error", frozen=True):
    """An error that a cell ended with or displayed."""

    ename: str
    evalue: str
    traceback: list[str]


class CellReply(msgspec.Struct, tag_field="type", tag="cell", frozen=True):
    """What became of a cell; `reply` is None if the kernel did not answer."""

    outputs: list[Stream | DisplayData | ExecuteResult | ErrorOutput] = []
    output_left: int | None = None
    was_cut: bool = False
    reply: ExecuteReply | None = None


class Evaluation(msgspec.Struct, tag_field="type", tag="evaluation", frozen=True):
    """The printed value of an expression in `text`, or the reason why there is none."""

    status: Literal["ok", "stopped", "unreadable"]
    text: str = ""


Reply: TypeAlias = KernelReady | CellReply | Evaluation
R = TypeVar("R", bound=Reply)


class ChannelError(Exception):
    """The relay has ended, its kernel has ended, or it sent something that is not a message."""


class KernelDiedError(Exception):
    """The kernel has ended, or its relay has, before it replied."""


class KernelProcess(Protocol):
    """A running kernel and its relay."""

    relay: socket.socket  # to the relay's process
    end_reason: str  # why the sandbox ended the kernel, if it did

    @property
    def pid(self) -> int | None:
        """The kernel's process id on this machine."""

    def is_alive(self) -> bool:
        """Whether the kernel runs."""

    def send_signal(self, number: int) -> None:
        """Send a signal to the kernel."""

    def close(self) -> None:
        """End the kernel, all processes that it started, and its relay."""


class Channel:
    """Sends commands to the relay of a kernel and receives its replies.

    Parameters
    ----------
    process
        The kernel and its relay.
    counts
        Takes up the number of messages and of bytes sent.
    """

    def __init__(self, process: KernelProcess, counts: Counter[str] | None = None) -> None:
        self._counts = Counter[str]() if counts is None else counts
        self._process, self._socket = process, process.relay
        self._buffer = FrameBuffer(LARGEST_FRAME)
        self._socket.setblocking(False)
        self.overflowed = False  # the relay has ended while its kernel runs: it could not hold what was sent

    def request(self, command: Command, reply_type: type[R], deadline: Deadline) -> tuple[R, bool]:
        """Send a command and wait for its reply; interrupt the kernel when the deadline passes.

        Parameters
        ----------
        command
            What the relay is to do.
        reply_type
            The type of the reply.
        deadline
            How long the kernel may take.

        Returns
        -------
        reply
            What the kernel answered, or what it sent until it was stopped.
        timed_out : bool
            Whether the kernel had to be interrupted.

        Raises
        ------
        KernelDiedError
            If the kernel or the relay has ended.
        TimeoutError
            If not even the relay replies. The channel cannot be used any more: a later reply would be taken
            for the reply to another command.
        """
        if not self._process.is_alive():
            raise KernelDiedError
        try:
            self.send(command, deadline)
            reply = self.receive(reply_type, deadline)
            if reply is not None:
                return reply, False
            self._process.send_signal(signal.SIGINT)
            reply = self.receive(reply_type, Deadline(INTERRUPT_TIMEOUT))
            if reply is None:
                self.send(Stop(), Deadline(STOP_TIMEOUT))
                reply = self.receive(reply_type, Deadline(STOP_TIMEOUT))
        except ChannelError as error:
            self.overflowed = self._process.is_alive()
            raise KernelDiedError(str(error)) from error
        if reply is None:
            raise TimeoutError
        return reply, True

    def send(self, command: Command, deadline: Deadline) -> None:
        """Send a command. Raises ChannelError, or TimeoutError if the relay does not read."""
        left = memoryview(to_frame(msgspec.json.encode(command)))
        self._counts.update({"messages": 1, "bytes sent": len(left)})
        while left:
            if not select.select([], [self._socket], [], poll_interval(deadline))[1]:
                continue
            try:
                left = left[self._socket.send(left[:PIECE]) :]
            except OSError as error:
                raise ChannelError(str(error)) from error

    def receive(self, reply_type: type[R], deadline: Deadline) -> R | None:
        """Return the next reply, or None if the deadline passes. Raises ChannelError.

        A cell that floods is interrupted meanwhile, and its kernel is ended if the cell goes on.
        """
        while True:
            message = self._next_message(reply_type)
            if isinstance(message, Flood):
                self._process.send_signal(signal.SIGKILL if message.repeated else signal.SIGINT)
                continue
            if message is not None:
                return message
            try:
                wait = poll_interval(deadline)
            except TimeoutError:
                return None
            if select.select([self._socket], [], [], wait)[0]:
                self._read()
            elif not self._process.is_alive():
                raise ChannelError("the kernel has ended")

    def _read(self) -> None:
        try:
            piece = self._socket.recv(PIECE)
        except OSError as error:
            raise ChannelError(str(error)) from error
        if not piece:
            raise ChannelError("the relay has ended")
        self._buffer.add(piece)

    def _next_message(self, reply_type: type[R]) -> R | Flood | None:
        try:
            frame = self._buffer.next_frame()
            return None if frame is None else msgspec.json.decode(frame, type=reply_type | Flood)
        except (ValueError, msgspec.DecodeError, RecursionError) as error:
            raise ChannelError(f"the relay sent what is not a message: {error}") from error


def without_surrogates(text: str) -> str:
    """Return the text in a form that UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode()
