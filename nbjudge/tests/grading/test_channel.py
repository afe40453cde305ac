"""The judge's end of the wire: it waits no longer than a clock says, and reads what a reader may say."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import pytest

from nbjudge.sandbox.channel import WallClockDeadline, Wire, WireBroken
from nbjudge.sandbox.inside import frames


class Ticks:
    """A clock that runs out after so many looks."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    @property
    def seconds_left(self) -> float:
        self.looks -= 1
        return 0.01 if self.looks >= 0 else 0.0


@pytest.fixture
def ends() -> Iterator[tuple[Wire, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Wire(ours, lambda: True), theirs


def test_a_command_goes_and_its_answer_comes(ends):
    wire, reader = ends
    wire.send({"do": "it", "text": "\ud800é"}, WallClockDeadline(10))
    assert frames.receive(reader) == {"do": "it", "text": "?é"}
    frames.send(reader, {"done": [1, None, "é"]})
    assert wire.receive(WallClockDeadline(10)) == {"done": [1, None, "é"]}


def test_what_is_told_before_the_answer_is_handed_on(ends):
    wire, reader = ends
    for content in ({"event": "flood"}, {"event": "drowning"}, {"done": 1}, {"done": 2}):
        frames.send(reader, content)
    told: list[dict] = []
    assert wire.receive(WallClockDeadline(10), told.append) == {"done": 1}
    assert [event["event"] for event in told] == ["flood", "drowning"]
    assert wire.receive(WallClockDeadline(10)) == {"done": 2}


def test_an_answer_that_does_not_come_is_waited_for_as_long_as_the_clock_goes(ends):
    wire, reader = ends
    assert wire.receive(Ticks(3)) is None
    reader.send(frames.packed({"done": 1})[:-1])  # nor one that does not come to its end
    assert wire.receive(Ticks(3)) is None
    reader.send(b"}")
    assert wire.receive(WallClockDeadline(10)) == {"done": 1}


def test_events_without_end_do_not_stop_the_clock(ends):
    wire, reader = ends
    clock, told = Ticks(3), []

    def again(event: dict) -> None:
        told.append(event)
        if len(told) < 1000:
            frames.send(reader, event)

    frames.send(reader, {"event": "flood"})
    assert wire.receive(clock, again) is None
    assert len(told) <= 4


def test_a_reader_that_takes_nothing_in_is_not_waited_for_either(ends):
    wire, _ = ends
    with pytest.raises(TimeoutError):
        wire.send({"do": "x" * 10**7}, Ticks(50))


@pytest.mark.parametrize(
    "said",
    [struct.pack(">Q", frames.LARGEST_FRAME + 1), struct.pack(">Q", 2) + b"{]", struct.pack(">Q", 2) + b"[]"],
    ids=["larger than any", "no JSON", "no object"],
)
def test_a_reader_that_does_not_keep_to_its_form_is_broken(ends, said):
    wire, reader = ends
    reader.send(said)
    with pytest.raises(WireBroken):
        wire.receive(WallClockDeadline(10))


def test_a_reader_that_has_ended_is_broken(ends):
    wire, reader = ends
    reader.close()
    with pytest.raises(WireBroken):
        wire.receive(WallClockDeadline(10))
    with pytest.raises(WireBroken):
        wire.send({"do": "x" * 10**7}, WallClockDeadline(10))


def test_a_kernel_that_has_ended_is_not_waited_for():
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(WireBroken, match="the kernel has ended"):
        Wire(ours, lambda: False).receive(WallClockDeadline(100))
