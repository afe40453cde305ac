"""The messages between a learner's kernel and a tutor, and how they are sent.

A message is one line of JSON. What is long, the calls for a kernel and its results, follows below the line as
it is: as a part of the JSON, millions of characters would be scanned four times.

A kernel sends one of `REQUESTS`; over HTTP its name is also the last part of the address. The tutor sends one
of `Reply`. Whatever does not have one of these types is refused with a ValueError.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, get_args

import msgspec

from nbjudge.tutor.disclosure import Disclosure

NUMBER = 8  # bytes before a message in a frame, see `nbjudge.tutor.service`
LONGEST_LINE = 2**16  # bytes of JSON that a kernel may send, so that parsing them makes nothing large
LARGEST_TEXT = 64 * 2**20  # characters that the calls of a kernel may return
LARGEST_MESSAGE = 2**28  # bytes, with the text below the line

Name = Annotated[str, msgspec.Meta(max_length=300)]
Digest = Annotated[str, msgspec.Meta(max_length=64)]
Count = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
Step = Literal["mistake", "help", "solution"]
HuntStep = Literal["list", "show", "call", "hint", "fix", "give_up"]


class Message(msgspec.Struct, omit_defaults=True):
    """A message in either direction."""


class Request(Message, tag_field="action", kw_only=True):
    """A message from a kernel; `folder` is the folder of the assignment."""

    folder: Name = ""


class CheckRequest(Request, tag="check", kw_only=True):
    """Check the answer to an exercise; `code` and `program` are digests of the answer and of the program."""

    exercise: Name
    code: Digest = ""
    program: Digest = ""


class HelpRequest(Request, tag="help", kw_only=True):
    """Help with the last check of an exercise: how many helps were given before, after how many tries."""

    exercise: Name
    step: Step
    given: Count
    tries: Count
    program: Digest = ""


class QuestionRequest(Request, tag="question", kw_only=True):
    """Reply to the answer to a question (`nbjudge.quiz`)."""

    question: Name
    answer: Name


class OnePageRequest(Request, tag="one_page", kw_only=True):
    """Show all code of the assignment to a learner whose answers to these exercises are right."""

    right: list[Name]


class HuntRequest(Request, tag="hunt", kw_only=True):
    """A step of a bug hunt: show one (number 0 is the first that is not in `fixed`), list them all, a hint, …

    `text` is the packed call of a learner's (`nbjudge.tutor.hunt_calls`), which the tutor makes. `is_earned`:
    the learner has answered the exercise, so that code close to a right answer gives nothing away.
    """

    step: HuntStep
    exercise: Name = ""
    number: Count = 0
    given: Count = 0
    fixed: list[Digest] = []
    is_earned: bool = False
    program: Digest = ""
    text: bytes | None = None


class CallReply(Request, tag="answer", kw_only=True):
    """The results of the kernel's calls, or why there are none: see `CallRequest`."""

    conversation: Name
    text: bytes | None = None
    lost: Literal["", "timeout", "died"] = ""


class CallRequest(Message, tag_field="type", tag="calls", kw_only=True):
    """Calls of the answer that the kernel must make, packed for the program with this digest.

    `source` is the program itself if the kernel does not have it.
    """

    conversation: str
    program: str
    source: str = ""
    text: bytes | None = None


class ShownGroup(msgspec.Struct):
    """The result of a group of cases, with a note if its points are withheld."""

    name: str
    is_earned: bool
    note: str


class ShownFinding(msgspec.Struct, omit_defaults=True):
    """A fault of an answer; `mistake` is empty if it has no name, or none for the learner."""

    sentence: str
    evidence: str
    named: bool = False
    mistake: str = ""


class CheckResult(Message, tag_field="type", tag="result", kw_only=True):
    """The result of a check. `stopped`: no call gave a value that could be compared."""

    exercise: str
    points: float
    max_points: float
    disclosure: Disclosure
    stopped: bool
    groups: list[ShownGroup]
    findings: list[ShownFinding]
    remark: str = ""


class Part(msgspec.Struct, omit_defaults=True):
    """A part of a step of help: how it is laid out, its text, and a title or none."""

    kind: Literal["text", "markdown", "code"]
    text: str
    title: str = ""


class Help(Message, tag_field="type", tag="help", kw_only=True):
    """A step of help."""

    parts: list[Part]


class QuestionReply(Message, tag_field="type", tag="reply", kw_only=True):
    """The reply to an answer, and the share of the points that it would earn."""

    sentence: str
    credit: float


class HuntShown(Message, tag_field="type", tag="hunt", kw_only=True):
    """A hunt: its code, how to call it, and what the learner may hand in by name (`given`)."""

    exercise: str
    number: int
    id: str
    code: str
    is_class: bool
    parts: list[Part]
    given: list[str]
    program: str
    source: str = ""


class HuntTried(Message, tag_field="type", tag="hunt_call", kw_only=True):
    """The result of a learner's call: whether it is allowed, and whether it tells the two apart."""

    is_allowed: bool
    is_found: bool
    parts: list[Part]


class HuntFixed(Message, tag_field="type", tag="hunt_fix", kw_only=True):
    """The check of a learner's fix; `parts`, the mistake and the size of the fix, only if all is right."""

    id: str
    result: CheckResult
    parts: list[Part]


class HuntList(Message, tag_field="type", tag="hunt_list", kw_only=True):
    """All hunts: by assignment and exercise, their ids."""

    hunts: dict[str, dict[str, list[str]]]


class WrittenExercise(Message, tag_field="type", tag="written", kw_only=True):
    """The exercise is answered in words, which the tutor does not check."""


class Notice(Message, tag_field="type", tag="notice", kw_only=True):
    """A sentence in place of a result: why there is none."""

    sentence: str


class TutorReady(Message, tag_field="type", tag="ready", kw_only=True):
    """A tutor on this machine has loaded its libraries and the first exercise. It answers no request.

    `source` is the program that the kernel needs for the first check, see `CallRequest`.
    """

    source: str


AnyRequest = CheckRequest | CallReply | HelpRequest | OnePageRequest | QuestionRequest | HuntRequest
REQUESTS = {kind.__struct_config__.tag: kind for kind in get_args(AnyRequest)}
HuntReply = HuntShown | HuntTried | HuntFixed | HuntList
Reply = CallRequest | CheckResult | Help | QuestionReply | WrittenExercise | Notice | TutorReady | HuntReply
WITH_TEXT = CallRequest | CallReply | HuntRequest


def encode(message: Message) -> tuple[bytes, ...]:
    """Return a message as bytes, in parts that are sent one after the other: a long text is not copied."""
    fields = msgspec.to_builtins(message, builtin_types=(bytes,))
    text = fields.pop("text", None)
    # A lone surrogate, which no file can hold, becomes a question mark.
    line = json.dumps(fields, ensure_ascii=False).encode(errors="replace")
    return (line,) if text is None else (line + b"\n", text)


def decode_request(body: bytes, kind: Any = AnyRequest) -> AnyRequest:
    """Return the request that a kernel has sent, which must be of this type. Raises ValueError."""
    request: AnyRequest = _decode(body, kind, LONGEST_LINE)
    return request


def decode_reply(body: bytes) -> Reply:
    """Return the reply that a tutor has sent. Raises ValueError."""
    reply: Reply = _decode(body, Reply, LARGEST_MESSAGE)
    return reply


def _decode(body: bytes, kind: Any, longest: int) -> Any:
    line, newline, text = body.partition(b"\n")
    if len(line) > longest:
        raise ValueError("a line of JSON that is longer than the tutor reads")
    try:
        message = msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"not a message of the tutor's: {error}") from None
    if isinstance(message, WITH_TEXT):
        message.text = text if newline else None
    elif newline:
        raise ValueError("a text below a message that has none")
    return message
