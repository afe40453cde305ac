"""The judge's end of the wire: commands to a kernel's reader, and a deadline kept by not listening.

What the kernel sends is read by `sandbox.inside.relay`, in a process of its own. Here nothing of
it is waited for longer than a deadline says, and a frame holds what that reader made of it.
"""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Callable
from typing import Any, Protocol

from nbjudge.sandbox.inside import frames

MAX_POLL_INTERVAL = 0.25  # seconds: a deadline may look at a kernel each time
MIN_POLL_INTERVAL = 0.02
AT_A_TIME = 2**20  # bytes


class Deadline(Protocol):
    """Says how long somebody is waited for."""

    @property
    def seconds_left(self) -> float: ...


class WallClockDeadline:
    """Seconds by the clock, whoever works."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds

    @property
    def seconds_left(self) -> float:
        return self._ends - time.monotonic()


class WireBroken(Exception):
    """The reader is gone: its kernel has ended, or has sent more than it can hold."""


class Wire:
    """A socket to a kernel's reader."""

    def __init__(self, channel: socket.socket, kernel_is_alive: Callable[[], bool]) -> None:
        self._channel = channel
        self._kernel_is_alive = kernel_is_alive
        self._come = bytearray()
        channel.setblocking(False)

    def send(self, command: dict[str, Any], deadline: Deadline) -> None:
        """Send a command. Raises WireBroken, or TimeoutError where the reader takes nothing in."""
        left = memoryview(frames.packed(command))
        while left:
            if not select.select([], [self._channel], [], _poll_interval(deadline))[1]:
                continue
            try:
                left = left[self._channel.send(left[:AT_A_TIME]) :]
            except OSError as error:
                raise WireBroken(str(error)) from error

    def receive(
        self, deadline: Deadline, on_event: Callable[[dict[str, Any]], None] | None = None
    ) -> dict[str, Any] | None:
        """The answer to the last command, or None where the deadline comes first. Raises WireBroken.

        What the reader tells of before its answer is handed to `on_event`.
        """
        while True:
            frame = self._frame()
            if frame is not None and "event" not in frame:
                return frame
            if frame is not None:
                if on_event is not None:
                    on_event(frame)
                continue
            try:
                wait = _poll_interval(deadline)
            except TimeoutError:
                return None
            if select.select([self._channel], [], [], wait)[0]:
                self._take_in()
            elif not self._kernel_is_alive():
                raise WireBroken("the kernel has ended")

    def close(self) -> None:
        self._channel.close()

    def _take_in(self) -> None:
        try:
            piece = self._channel.recv(AT_A_TIME)
        except OSError as error:
            raise WireBroken(str(error)) from error
        if not piece:
            raise WireBroken("the reader has ended")
        self._come += piece

    def _frame(self) -> dict[str, Any] | None:
        if len(self._come) < frames.LENGTH_SIZE:
            return None
        try:
            length = frames.length_of(bytes(self._come[: frames.LENGTH_SIZE]))
            end = frames.LENGTH_SIZE + length
            if len(self._come) < end:
                return None
            frame = json.loads(bytes(self._come[frames.LENGTH_SIZE : end]))
        except ValueError as error:
            raise WireBroken("the reader does not keep to its form") from error
        del self._come[:end]
        if not isinstance(frame, dict):
            raise WireBroken("the reader does not keep to its form")
        return frame


def _poll_interval(deadline: Deadline) -> float:
    """How long to wait before the deadline is looked at again. Raises TimeoutError where it has run out."""
    left = deadline.seconds_left
    if left <= 0:
        raise TimeoutError
    return min(MAX_POLL_INTERVAL, max(MIN_POLL_INTERVAL, left))
