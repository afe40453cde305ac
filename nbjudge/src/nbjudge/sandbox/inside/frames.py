"""How the grader and a wire reader talk: a length, then that many bytes of JSON."""

import json
import socket
import struct
from typing import Any

LARGEST_FRAME = 160 * 2**20  # bytes
_LENGTH = struct.Struct(">Q")
LENGTH_SIZE = _LENGTH.size


def packed(content: Any) -> bytes:
    """A frame."""
    data = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    return _LENGTH.pack(len(data)) + data


def length_of(start: bytes) -> int:
    """How many bytes follow the first ones of a frame. Raises ValueError for more than is ever sent."""
    (length,) = _LENGTH.unpack(start)
    if length > LARGEST_FRAME:
        raise ValueError("a frame that is larger than any")
    return int(length)


def send(channel: socket.socket, content: Any) -> None:
    """Send a frame on a blocking socket."""
    channel.sendall(packed(content))


def receive(channel: socket.socket) -> Any:
    """The next frame from a blocking socket. Raises EOFError where the other end is closed."""
    return json.loads(_exactly(channel, length_of(_exactly(channel, LENGTH_SIZE))))


def _exactly(channel: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        piece = channel.recv(min(count - len(data), 2**20))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)
