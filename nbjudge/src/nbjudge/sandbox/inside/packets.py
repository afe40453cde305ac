"""Messages between a kernel and its relay, over one socket that keeps the bounds of packets.

A packet is sent as a whole or not at all, whatever interrupts its sender; a message that was broken off is
left out. A message is the number of a request, its own kind and its content, which is JSON.
"""

import os
import socket
import struct
from collections.abc import Iterator

# A packet's sender, the sender's count of messages, the place in the message, and whether more follow.
HEADER = struct.Struct(">IQI?")
PIECE = 2**16  # bytes of a message in one packet
LONGEST_WORD = 200  # bytes of a request's number, and of a kind


def packets(number: int, request: str, kind: str, content: bytes) -> Iterator[bytes]:
    """A message, which is this process's own `number`, as it is sent."""
    message = memoryview(b"\0".join((request.encode(), kind.encode(), content)))
    for place, start in enumerate(range(0, len(message), PIECE)):
        more = start + PIECE < len(message)
        yield HEADER.pack(os.getpid(), number, place, more) + message[start : start + PIECE]


class MessageReader:
    """Puts messages together from packets. Of one that is larger than allowed only the beginning is kept."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._next: tuple[int, int, int] | None = None
        self._pieces: list[bytes] = []
        self._size = 0

    def receive(self, connection: socket.socket) -> bytes | None:
        """Return the next packet, if one is there; empty if the other side has ended, or says nothing."""
        try:
            return connection.recv(HEADER.size + PIECE, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except ConnectionError:  # it has ended without reading what was sent
            return b""

    def add(self, packet: bytes) -> tuple[str, str, bytes, int] | None:
        """Return the message that a packet completes: request, kind, content, and the size of that.

        Raises ValueError for what is none.
        """
        if len(packet) < HEADER.size:
            raise ValueError("no packet")
        sender, number, place, more = HEADER.unpack_from(packet)
        if place == 0:
            self._next, self._pieces, self._size = (sender, number, 0), [], 0
        if self._next != (sender, number, place):  # of one that was broken off
            return None
        self._size += len(packet) - HEADER.size
        if self._size <= self._largest:
            self._pieces.append(packet[HEADER.size :])
        self._next = (sender, number, place + 1)
        if more:
            return None
        self._next, pieces = None, b"".join(self._pieces)
        self._pieces = []
        request, kind, content = pieces.split(b"\0", 2)
        words = len(request) + len(kind) + 2
        if words > 2 * LONGEST_WORD:
            raise ValueError("no message")
        return request.decode(), kind.decode(), content, self._size - words
