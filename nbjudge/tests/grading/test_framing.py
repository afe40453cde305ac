"""Frames come out as they went in, in whatever pieces they arrive."""

from __future__ import annotations

import io

import pytest

from nbjudge.framing import FrameBuffer, FrameError, read_frame, to_frame

CONTENTS = (b"", b"one", b"\0" * 300)


@pytest.mark.parametrize("size", [1, 3, 8, 1000])
def test_frames_are_put_together_from_pieces(size):
    stream, buffer, found = io.BytesIO(b"".join(map(to_frame, CONTENTS))), FrameBuffer(300), []
    while piece := stream.read(size):
        buffer.add(piece)
        while (content := buffer.next_frame()) is not None:
            found.append(content)
    assert tuple(found) == CONTENTS


@pytest.mark.parametrize("at_most", [1, 5, 1000])
def test_frames_are_read_one_by_one_until_the_end(at_most):
    stream = io.BytesIO(b"".join(map(to_frame, CONTENTS)) + to_frame(b"broken off")[:-1])
    assert [read_frame(lambda n: stream.read(min(n, at_most)), 300) for _ in range(4)] == [*CONTENTS, None]


def test_a_frame_that_is_too_large_is_refused_before_it_has_arrived():
    with pytest.raises(FrameError, match="a frame of 301 bytes, where at most 300 are allowed"):
        read_frame(io.BytesIO(to_frame(b"x" * 301)).read, 300)
