"""The grader's end of the channel to a kernel's relay: one command, one reply, within a deadline.

The relay (`sandbox.inside.relay`) reads what the kernel sends, in a process of its own. A message of another
form than `sandbox.inside.messages` declares is an error of the channel. The grader never waits longer than a
deadline allows.
"""

from __future__ import annotations

import select
import signal
import socket
from collections import Counter
from typing import Protocol, TypeVar

import msgspec

from nbjudge.framing import FrameBuffer, to_frame
from nbjudge.kernel.timing import Deadline, poll_interval
from nbjudge.sandbox.inside import messages

INTERRUPT_TIMEOUT = 3.0  # seconds in which an interrupted kernel must reply
STOP_TIMEOUT = 1.0  # seconds in which the relay must hand over what has arrived
PIECE = 2**20  # bytes that are sent or received at a time


R = TypeVar("R", bound=messages.Reply)


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
        self._buffer = FrameBuffer(messages.LARGEST_FRAME)
        self._socket.setblocking(False)
        self.overflowed = False  # the relay has ended while its kernel runs: it could not hold what was sent

    def request(self, command: messages.Command, reply_type: type[R], deadline: Deadline) -> tuple[R, bool]:
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
                self.send(messages.Stop(), Deadline(STOP_TIMEOUT))
                reply = self.receive(reply_type, Deadline(STOP_TIMEOUT))
        except ChannelError as error:
            self.overflowed = self._process.is_alive()
            raise KernelDiedError(str(error)) from error
        if reply is None:
            raise TimeoutError
        return reply, True

    def send(self, command: messages.Command, deadline: Deadline) -> None:
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
            if isinstance(message, messages.Flood):
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

    def _next_message(self, reply_type: type[R]) -> R | messages.Flood | None:
        try:
            frame = self._buffer.next_frame()
            return None if frame is None else msgspec.json.decode(frame, type=reply_type | messages.Flood)
        except (ValueError, msgspec.DecodeError, RecursionError) as error:
            raise ChannelError(f"the relay sent what is not a message: {error}") from error


def without_surrogates(text: str) -> str:
    """Return the text in a form that UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode()
