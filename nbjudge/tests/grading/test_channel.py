"""The grader's end of the channel to a relay: deadlines hold, and other bytes than messages are an error."""

import io
import json
import signal
import socket
from collections.abc import Iterator

import pytest

from nbjudge.framing import FrameBuffer, FrameError, read_frame, to_frame
from nbjudge.kernel.process import Channel, ChannelError, KernelDiedError, without_surrogates
from nbjudge.kernel.timing import Deadline
from nbjudge.sandbox.inside.messages import (
    LARGEST_FRAME,
    CellReply,
    Evaluate,
    Evaluation,
    Execute,
    KernelReady,
)

DONE = {"type": "evaluation", "status": "ok", "text": "é"}


class CountingDeadline:
    """A deadline that passes after so many looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    @property
    def seconds_left(self) -> float:
        self.looks -= 1
        return 0.01 if self.looks >= 0 else 0.0


class Process:
    """A kernel's process that records the signals it gets."""

    end_reason = ""
    pid = None

    def __init__(self, relay: socket.socket, alive: bool = True) -> None:
        self.relay, self.alive = relay, alive
        self.signals: list[int] = []

    def is_alive(self) -> bool:
        return self.alive

    def send_signal(self, number: int) -> None:
        self.signals.append(number)


def send(relay: socket.socket, *messages: dict) -> None:
    for message in messages:
        relay.sendall(to_frame(json.dumps(message).encode()))


@pytest.fixture
def ends() -> Iterator[tuple[Process, Channel, socket.socket]]:
    """The kernel's process, the grader's channel to its relay, and the relay's end of that."""
    ours, relay = socket.socketpair()
    with ours, relay:
        process = Process(ours)
        yield process, Channel(process), relay


def test_a_command_is_sent_and_its_reply_received(ends):
    """A flood interrupts, and a repeated one ends the kernel."""
    process, channel, relay = ends
    send(relay, {"type": "flood", "repeated": False}, {"type": "flood", "repeated": True}, DONE)
    reply = channel.request(Evaluate(without_surrogates("\ud800é")), Evaluation, Deadline(10))
    assert reply == (Evaluation("ok", "é"), False)
    command = {"command": "evaluate", "expression": "?é", "request": ""}
    assert json.loads(read_frame(relay.recv, LARGEST_FRAME)) == command
    assert process.signals == [signal.SIGINT, signal.SIGKILL]


def test_a_missing_reply_is_awaited_until_the_deadline(ends):
    """A relay that does not read is not awaited."""
    _, channel, relay = ends
    with pytest.raises(TimeoutError):
        channel.send(Execute("x" * 10**7, 1, 1), CountingDeadline(50))
    assert channel.receive(Evaluation, CountingDeadline(3)) is None
    frame = to_frame(json.dumps(DONE).encode())
    relay.send(frame[:-1])  # an incomplete reply is none
    assert channel.receive(Evaluation, CountingDeadline(3)) is None
    relay.send(frame[-1:])
    assert channel.receive(Evaluation, Deadline(10)) == Evaluation("ok", "é")


def test_what_came_until_the_interrupt_is_kept(ends):
    process, channel, relay = ends
    process.send_signal = lambda number: send(relay, {"type": "cell", "was_cut": True})
    reply, timed_out = channel.request(Execute("", 1, 1), CellReply, CountingDeadline(2))
    assert timed_out and reply == CellReply(was_cut=True)


def test_floods_without_end_do_not_stop_the_deadline(ends):
    process, channel, relay = ends
    flood = {"type": "flood", "repeated": False}

    def flood_again(number: int) -> None:
        process.signals.append(number)
        if len(process.signals) < 1000:
            send(relay, flood)

    process.send_signal = flood_again
    send(relay, flood)
    assert channel.receive(CellReply, CountingDeadline(3)) is None
    assert len(process.signals) <= 4


def shown(data: dict) -> bytes:
    output = {"output_type": "display_data", "data": data, "metadata": {}}
    return to_frame(json.dumps({"type": "cell", "outputs": [output]}).encode())


# What no relay sends unless student code has taken it over; the class must go on after each.
NO_MESSAGES = {
    "larger than allowed": (LARGEST_FRAME + 1).to_bytes(8, "big"),
    "no JSON": to_frame(b"{]"),
    "no UTF-8": to_frame(b'{"type": "\xff"}'),
    "no object": to_frame(b"[]"),
    "of no type": to_frame(b"{}"),
    "of another type": to_frame(b'{"type": "cell"}'),
    "a wrong field": to_frame(b'{"type": "evaluation", "status": 1}'),
    "deeply nested": to_frame(b'{"type": "evaluation", "status": "ok", "more": ' + b"[" * 10**6),
    "an output with HTML": shown({"text/html": "<b>1</b>"}),
    "an output that is no text": shown({"text/plain": ["1"]}),
    "nothing": b"",
}


@pytest.mark.parametrize("content", NO_MESSAGES.values(), ids=NO_MESSAGES)
def test_other_bytes_are_an_error_of_the_channel(ends, content):
    _, channel, relay = ends
    relay.setblocking(False)
    relay.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * len(content))
    relay.send(content)
    relay.close()
    with pytest.raises(ChannelError):
        channel.receive(CellReply if b"outputs" in content else Evaluation, Deadline(10))


@pytest.mark.parametrize(
    ("is_alive", "words", "command"),
    [
        (True, "the relay has ended", Execute("x" * 10**7, 1, 1)),
        (False, "the kernel has ended", Evaluate("1")),
    ],
)
def test_what_has_ended_is_not_awaited(ends, is_alive, words, command):
    process, channel, relay = ends
    process.alive = is_alive
    if is_alive:
        relay.close()
    with pytest.raises(ChannelError, match=words):
        channel.receive(KernelReady, Deadline(100))
    with pytest.raises(KernelDiedError):
        channel.request(command, CellReply, Deadline(100))
    assert channel.overflowed == is_alive  # its kernel runs


CONTENTS = (b"", b"one", b"\0" * 300)


@pytest.mark.parametrize("size", [1, 3, 8, 1000])
def test_frames_are_put_together_from_pieces(size):
    sent = b"".join(map(to_frame, CONTENTS)) + to_frame(b"broken off")[:-1]
    stream, buffer, found = io.BytesIO(sent), FrameBuffer(300), []
    while piece := stream.read(size):
        buffer.add(piece)
        while (content := buffer.next_frame()) is not None:
            found.append(content)
    assert tuple(found) == CONTENTS
    stream.seek(0)
    assert [read_frame(lambda n: stream.read(min(n, size)), 300) for _ in range(4)] == [*CONTENTS, None]
    with pytest.raises(FrameError, match="a frame of 301 bytes, where at most 300 are allowed"):
        read_frame(io.BytesIO(to_frame(b"x" * 301)).read, 300)
