"""Messages between the grader and a kernel's relay and supervisor, as both ends use them.

All are JSON. The grader sends a `Command` to the relay, which answers it by one reply; a `Flood` may come
before it. The grader requests a kernel by a `KernelRequest`, and the kernel's supervisor sends a `Report`
whenever something has become of it.
"""

from typing import Any, Literal, TypeAlias

import msgspec

LARGEST_FRAME = 160 * 2**20  # bytes of a command or of a reply
LONGEST_REPORT = 4096  # bytes


class Connect(msgspec.Struct, tag_field="command", tag="connect", frozen=True):
    """Wait until the kernel answers and its output arrives; answered by `KernelReady`."""


class Execute(msgspec.Struct, tag_field="command", tag="execute", frozen=True):
    """Run a cell that may show `output_left` more bytes of `output_limit`; answered by `CellReply`.

    The expression `then` is evaluated afterwards, unless the cell ends with an error.
    """

    source: str
    output_left: int
    output_limit: int
    then: str = ""


class Evaluate(msgspec.Struct, tag_field="command", tag="evaluate", frozen=True):
    """Evaluate an expression, which finds `request` in the kernel's message; answered by `Evaluation`."""

    expression: str
    request: str = ""


class Stop(msgspec.Struct, tag_field="command", tag="stop", frozen=True):
    """End the current command with what has arrived so far."""


Command: TypeAlias = Connect | Execute | Evaluate | Stop


class Flood(msgspec.Struct, tag_field="type", tag="flood", frozen=True):
    """A cell shows more than it may; `repeated` if it goes on after it was interrupted."""

    repeated: bool


class KernelReady(msgspec.Struct, tag_field="type", tag="ready", frozen=True):
    """The kernel answers."""


class ExecuteReply(msgspec.Struct, frozen=True):
    """The kernel's own reply about a cell."""

    failed: bool
    count: int | None
    ename: str
    evalue: str
    exits: bool  # the cell called `exit()`, which takes effect after the reply


class Stream(msgspec.Struct, tag_field="output_type", tag="stream", frozen=True):
    """Text that a cell printed."""

    name: Literal["stdout", "stderr"]
    text: str


class DisplayData(msgspec.Struct, tag_field="output_type", tag="display_data", frozen=True):
    """Text and pictures that a cell displayed, by their media types."""

    data: dict[Literal["text/plain", "image/png", "image/jpeg"], str]
    metadata: dict[str, Any]


class ExecuteResult(DisplayData, tag="execute_result", frozen=True):
    """The value of a cell's last expression."""

    execution_count: None


class ErrorOutput(msgspec.Struct, tag_field="output_type", tag="error", frozen=True):
    """An error that a cell ended with or displayed."""

    ename: str
    evalue: str
    traceback: list[str]


class CellReply(msgspec.Struct, tag_field="type", tag="cell", frozen=True):
    """The result of a cell; `reply` is None if the kernel did not answer."""

    outputs: list[Stream | DisplayData | ExecuteResult | ErrorOutput] = []
    output_left: int | None = None
    was_cut: bool = False
    reply: ExecuteReply | None = None


class Evaluation(msgspec.Struct, tag_field="type", tag="evaluation", frozen=True):
    """The printed value of an expression in `text`, or the reason why there is none."""

    status: Literal["ok", "stopped", "unreadable"]
    text: str = ""


Reply: TypeAlias = KernelReady | CellReply | Evaluation


class KernelLimits(msgspec.Struct, frozen=True):
    """Those of `nbjudge.settings.Limits` that the sandbox itself enforces."""

    memory: int
    processes: int
    open_files: int
    file: int
    disk: int


class KernelRequest(msgspec.Struct, frozen=True):
    """A kernel that is to be forked."""

    folder: str  # to work in
    limits: KernelLimits
    processor: int | None  # None for any


class Report(msgspec.Struct, frozen=True):
    """The state of a requested kernel: "started" comes from the kernel's own process.

    "ended" with the limit that it exceeded as its reason, if it did.
    """

    state: Literal["started", "filled", "failed", "ended"]
    reason: str = ""

    def packed(self) -> bytes:
        """As it is sent."""
        return msgspec.json.encode(Report(self.state, self.reason[:2000]))
