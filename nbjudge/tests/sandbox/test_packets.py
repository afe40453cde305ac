"""Messages between a kernel and its relay: whole ones arrive, whatever else is sent between them."""

import os
import socket

import pytest

from nbjudge.sandbox.inside.packets import HEADER, PIECE, MessageReader, packets

LARGE = b"x" * (2 * PIECE)


def received(*sent: bytes, largest: int = 10 * PIECE) -> list[tuple[str, str, bytes, int]]:
    reader = MessageReader(largest)
    return [message for packet in sent if (message := reader.add(packet)) is not None]


@pytest.mark.parametrize("content", [b"", b"{}", b"\0\0", LARGE, b"x" * (PIECE - 5), b"x" * (PIECE - 6)])
def test_a_message_arrives_as_it_was_sent(content):
    sent = list(packets(7, "3", "stream", content))
    assert len(sent) == 1 + (len(content) + 9 - 1) // PIECE
    assert received(*sent) == [("3", "stream", content, len(content))]


@pytest.mark.parametrize("left_out", [0, 1, 2])
def test_a_broken_message_is_left_out(left_out):
    broken = list(packets(1, "3", "stream", LARGE))
    del broken[left_out]
    whole = packets(2, "3", "status", b"{}")
    assert received(*broken, *whole) == [("3", "status", b"{}", 2)]


def test_messages_of_two_senders_do_not_mix():
    first, *rest = packets(1, "3", "stream", LARGE)
    others = [HEADER.pack(os.getpid() + 1, 1, 0, False) + b"3\0status\0{}"]
    assert received(first, *others, *rest) == [("3", "status", b"{}", 2)]


def test_of_a_large_message_the_size_is_known():
    (message,) = received(*packets(1, "3", "stream", LARGE), largest=PIECE)
    assert message == ("3", "stream", LARGE[: PIECE - 9], len(LARGE))


NO_MESSAGES = [b"x", HEADER.pack(1, 1, 0, False) + b"no words", HEADER.pack(1, 1, 0, False) + b"\xff\0\xff\0"]


@pytest.mark.parametrize("packet", [*NO_MESSAGES, HEADER.pack(1, 1, 0, False) + b"x" * 500 + b"\0y\0{}"])
def test_what_is_no_message_is_refused(packet):
    with pytest.raises(ValueError):
        received(packet)


@pytest.mark.parametrize("unread", [False, True])
def test_an_end_is_told_from_a_pause(unread):
    reader = MessageReader(100)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        assert reader.receive(ours) is None
        if unread:
            ours.send(b"x")
        theirs.close()
        assert reader.receive(ours) == b""
