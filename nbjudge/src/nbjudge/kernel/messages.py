"""The messages between the grader and the relay of a kernel (`sandbox.inside.relay`), as checked data.

A command is sent as JSON and answered by one reply; a `Flood` may come before it. The relay is a process that
reads what student code sends: a message of another form than these is an error of the channel.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec


class Command(msgspec.Struct, tag_field="command", tag=str.lower, frozen=True):
    """What the relay is to do."""


class Connect(Command, frozen=True):
    """Wait until the kernel answers and its output arrives; answered by `Ready`."""


class Execute(Command, frozen=True):
    """Run a cell that may show `output_left` more bytes of `output_limit`; answered by `CellReply`.

    The expression `then` is evaluated afterwards, unless the cell ends with an error.
    """

    source: str
    output_left: int
    output_limit: int
    then: str = ""


class Evaluate(Command, frozen=True):
    """Evaluate an expression; answered by `Evaluation`."""

    expression: str


class Stop(Command, frozen=True):
    """End the current command with what has arrived so far."""


class Flood(msgspec.Struct, tag_field="type", tag="flood", frozen=True):
    """A cell shows more than it may; `repeated` if it goes on after it was interrupted."""

    repeated: bool


class Ready(msgspec.Struct, tag_field="type", tag="ready", frozen=True):
    """The kernel answers."""


class ExecuteReply(msgspec.Struct, frozen=True):
    """What the kernel itself said about a cell."""

    failed: bool
    count: int | None
    ename: str
    evalue: str
    exits: bool  # the cell called `exit()`, which takes effect after the reply


class CellReply(msgspec.Struct, tag_field="type", tag="cell", frozen=True):
    """What became of a cell; `reply` is None if the kernel did not answer."""

    outputs: list[dict[str, Any]] = []
    output_left: int | None = None
    was_cut: bool = False
    reply: ExecuteReply | None = None


class Evaluation(msgspec.Struct, tag_field="type", tag="evaluation", frozen=True):
    """The printed value of an expression in `text`, or the reason why there is none."""

    status: Literal["ok", "stopped", "unreadable"]
    text: str = ""


Reply: TypeAlias = Ready | CellReply | Evaluation


def without_surrogates(text: str) -> str:
    """Return the text in a form that UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode()
