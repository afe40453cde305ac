"""Frames: how processes of nbjudge send messages over a socket or a pipe.

A frame is the length of its content in eight bytes (big-endian), then the content. This module needs only the
standard library: the sandbox exposes it to the relay of each kernel.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

_LENGTH = struct.Struct(">Q")


class FrameError(ValueError):
    """The bytes are not a frame, or one that is larger than allowed."""


def to_frame(content: bytes) -> bytes:
    """Return the content as a frame."""
    return _LENGTH.pack(len(content)) + content


def read_frame(read: Callable[[int], bytes], largest: int) -> bytes | None:
    """Read the next frame from a blocking socket or file.

    Parameters
    ----------
    read
        Returns up to so many bytes, and none at the end: `socket.recv` or `file.read`.
    largest
        The most bytes that the content may have.

    Returns
    -------
    bytes or None
        The content; None if the other side ended, also within a frame.

    Raises
    ------
    FrameError
        If the frame is larger than `largest`.
    """
    buffer = FrameBuffer(largest)
    while (content := buffer.next_frame()) is None:
        piece = read(buffer.missing)
        if not piece:
            return None
        buffer.add(piece)
    return content


class FrameBuffer:
    """Puts frames together from the pieces in which they arrive.

    Parameters
    ----------
    largest
        The most bytes that the content of a frame may have.
    """

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._arrived = bytearray()

    def add(self, piece: bytes) -> None:
        """Add bytes that have arrived."""
        self._arrived += piece

    @property
    def missing(self) -> int:
        """Return how many bytes the current part of the frame still needs: its length, or its content."""
        length = self._length()
        return _LENGTH.size + (length or 0) - len(self._arrived)

    def next_frame(self) -> bytes | None:
        """Remove and return the content of the next frame; None if it is not complete.

        Raises FrameError if it is larger than allowed.
        """
        length = self._length()
        if length is None or len(self._arrived) < _LENGTH.size + length:
            return None
        content = bytes(self._arrived[_LENGTH.size : _LENGTH.size + length])
        del self._arrived[: _LENGTH.size + length]
        return content

    def _length(self) -> int | None:
        """The length of the next content; None until it has arrived."""
        if len(self._arrived) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._arrived)
        if length > self._largest:
            raise FrameError(f"a frame of {length} bytes, where at most {self._largest} are allowed")
        return int(length)
