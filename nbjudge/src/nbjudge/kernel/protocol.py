"""Messages between grader and kernel: requests to call an answer, and the kernel's replies, checked.

A request is packed text and an expression that runs the probe on it; the printed value is the reply. The text
is a part of Jupyter's message, because Python reads a literal of megabytes slowly. The names in the kernel
belong to the student, so the expression uses none of them. The first expression contains the probe and keeps
it in the kernel; later ones run what was kept, if it is still the same. The reply is text in which nothing is
evaluated.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import marshal
import re
import string
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from nbjudge.authoring.cases import Case
from nbjudge.probe import respond
from nbjudge.probe.calls import Call
from nbjudge.probe.watching import WatchedCalls
from nbjudge.values import packing
from nbjudge.values.kinds import kind_of

# The modules of the probe. They are sent as one program, without their imports of each other.
PARTS = [f"nbjudge.values.{name}" for name in ("kinds", "packing", "tables")]
_OF_THE_PROBE = "kernel_state watching threads building respond"
PARTS += [f"nbjudge.probe.{name}" for name in _OF_THE_PROBE.split()]
_OWN_IMPORT = re.compile(r"^from (?:nbjudge[\w.]*|__future__) import (?:\([^)]*\)|[^(\n]+)$", re.MULTILINE)
_SPACE = {"__name__": "nbjudge_respond", "__file__": "<nbjudge>"}
_PACKED = string.ascii_letters.encode() + string.digits.encode() + b"+/= "
NO_PROBE = "'the kernel has no probe'"  # as it is printed
_RUN = (
    "(__import__('builtins').exec(__import__('marshal').loads(program), space), "
    "space['Printed'](space['respond'](__import__('IPython').get_ipython().kernel.get_parent('shell')"
    "['content']['request'], __import__('sys').modules['__main__'].__dict__)))[1]"
)
_KEEP = (
    "(lambda sys, program: (sys.__setattr__('nbjudge_probe', program), program)[1])(__import__('sys'), "
    "__import__('zlib').decompress(__import__('base64').b64decode({sent!r})))"
)
# Student code can reach what is kept, so that it counts only unchanged.
_KEPT = (
    "(lambda built_in, program: program if built_in.type(program) is built_in.bytes and "
    "__import__('hashlib').sha256(program).hexdigest() == {digest!r} else None)"
    "(__import__('builtins'), __import__('sys').__dict__.get('nbjudge_probe'))"
)
LARGEST_REPLY = 64 * 2**20  # characters


def send_along(module: str) -> None:
    """Add a module to the probe, for a library whose values it knows.

    Parameters
    ----------
    module
        The full name. It must import from `nbjudge` as `from … import …`, and no two modules of the probe may
        define the same name.
    """
    if module not in PARTS:
        PARTS.append(module)


def expression(with_probe: bool = True) -> str:
    """Return an expression whose value is the packed reply to the request that came in the same message.

    Parameters
    ----------
    with_probe
        Whether the expression contains the probe. Otherwise the kernel must have kept the probe of an earlier
        request; the value is `NO_PROBE` if it has not, or if it has been changed.
    """
    sent, digest = _program(tuple(PARTS))
    program = _KEEP.format(sent=sent) if with_probe else _KEPT.format(digest=digest)
    return f"(lambda program, space: {NO_PROBE} if program is None else {_RUN})({program}, {_SPACE!r})"


def request(name: str, calls: list[Call], watched_calls: WatchedCalls) -> str:
    """Return the packed request.

    Parameters
    ----------
    name
        The name of the answer.
    calls
        See `nbjudge.kernel.protocol.calls_for`.
    watched_calls
        The names of the steps to note if they run, see `nbjudge.authoring.exercise.Step.watched_calls`.
    """
    return packing.pack({"target": name, "calls": calls, "watched_calls": watched_calls})


def program() -> str:
    """Return the source text of the probe, whose `respond` answers requests."""
    return _source(tuple(PARTS))


def read_printed(printed: str) -> Any:
    """Return the reply in the printed value of a request. Raises ValueError for anything else."""
    if len(printed) > LARGEST_REPLY:
        raise ValueError("more than is read")
    text = printed[1:-1].encode()
    if printed != f"'{printed[1:-1]}'" or text.translate(None, _PACKED):
        raise ValueError("not of the agreed form")
    return packing.unpack(text)


@lru_cache(maxsize=4)
def _program(parts: tuple[str, ...]) -> tuple[str, str]:
    """The probe as it is sent, and its digest: compiled, because compiling takes longer than most answers."""
    program = marshal.dumps(compile(_source(parts), "<nbjudge>", "exec", dont_inherit=True))
    sent = base64.b64encode(zlib.compress(program, 9)).decode()
    return sent, hashlib.sha256(program).hexdigest()


@lru_cache(maxsize=4)
def _source(parts: tuple[str, ...]) -> str:
    files = (Path(str(importlib.import_module(part).__file__)) for part in parts)
    text = "".join(_OWN_IMPORT.sub("", file.read_text("utf-8")) for file in files)
    return f"from __future__ import annotations\n{text}"


# The probe keeps to these limits, but student code can change the probe.
LONGEST_MESSAGE = 500  # characters
MAX_CHANGES = 500  # paths of changed arguments
MAX_STEPS, LONGEST_STEP = 500, 300  # names of steps that ran, and characters of one
MAX_SWITCHED = 5  # calls

AnswerStatus = Literal["value", "raised", "missing", "timeout", "died", "unreadable"]


@dataclass(frozen=True)
class Answer:
    """The result of one call.

    Attributes
    ----------
    status
        "value" and "raised" are results of the call. "missing": there is no such answer. "timeout" and
        "died": the call, or the kernel, was stopped. "unreadable": the kernel sent something else.
    value
        What the call returned.
    error, message, line
        The class and the text of the exception, and the line of the student's code that raised it.
    changed
        The paths of the arguments that the call changed.
    gradients
        One entry per floating tensor argument (None if no gradient flows), or the text of the exception that
        the backward pass raised.
    ran
        The names of the watched steps that ran.
    measured
        What a measured call reports, see `nbjudge.authoring.case`.
    holds, near
        Of a missing answer: the types of what its name holds in place of it, or a name like it.
    switched
        The calls by which a cell has changed what a library does by default.
    """

    status: AnswerStatus
    value: Any = None
    error: str = ""
    message: str = ""
    line: str = ""
    changed: tuple[str, ...] = ()
    gradients: dict[str, Any] | str | None = None
    ran: frozenset[str] = frozenset()
    measured: Any = None
    holds: str = ""
    near: str = ""
    switched: tuple[str, ...] = ()

    def raised(self, error: type[Exception]) -> bool:
        """Whether the call raised an exception of this class; only the name of its class is known here."""
        return self.status == "raised" and self.error == error.__name__

    def without_allowed_changes(self, reference: Answer) -> Answer:
        """Return the answer without the changes that the reference makes too: those are allowed."""
        changed = tuple(place for place in self.changed if place not in reference.changed)
        return self if changed == self.changed else replace(self, changed=changed)


@dataclass(frozen=True)
class Reply:
    """The answers to some calls; `lost` if answers that were already there were lost with the kernel."""

    answers: list[Answer]
    lost: bool = False


# Calls an answer: (name of the exercise, calls, steps to watch) -> Reply
AnswerCaller = Callable[[str, list[Call], WatchedCalls], Reply]


def calls_for(cases: Sequence[Case], cotangents: Sequence[list[Any] | None]) -> list[Call]:
    """Return cases as the calls of a request."""
    return [
        {
            "args": list(case.args),
            "kwargs": case.kwargs,
            "cotangents": cotangent,
            "through": case.through,
            "measure": case.measure,
            **({"reads_variable": True} if case.reads_variable else {}),
            "build": None if case.build is None else vars(case.build) | {"look": list(case.build.look)},
        }
        for case, cotangent in zip(cases, cotangents, strict=True)
    ]


def answers_of(function: Any, calls: list[Call]) -> list[Answer]:
    """Call a function in this process: the reference, a known mistake or an accepted alternative."""
    return read_reply(respond.answer_calls(function, calls), len(calls)).answers


def caller_of(function: Any) -> AnswerCaller:
    """Return what calls a function in this process in place of a student's answer."""

    def call(_name: str, calls: list[Call], watched_calls: WatchedCalls) -> Reply:
        return read_reply(respond.answer_calls(function, calls, watched_calls), len(calls))

    return call


def read_reply(reply: Any, expected: int) -> Reply:
    """Check what a kernel sent in reply to a request.

    Parameters
    ----------
    reply
        The unpacked reply; student code may have sent anything.
    expected
        The number of calls.

    Returns
    -------
    Reply
        One answer per call. An answer of another form is "unreadable"; a missing one is a "timeout", because
        the probe stops after a call that was interrupted.
    """
    entries = reply[:expected] if isinstance(reply, list) else []
    answers = [_read_answer(entry) for entry in entries]
    return Reply(answers + [Answer("timeout")] * (expected - len(answers)))


class _RaisedError(msgspec.Struct):
    """An exception, as `nbjudge.probe.respond.describe_error` describes it."""

    type: str = ""
    message: str = ""
    line: str = ""


class _SentAnswer(msgspec.Struct):
    """One answer, as `nbjudge.probe.respond` sends it. The judge reads what is in a value, see `compare`."""

    value: Any = msgspec.UNSET
    raised: _RaisedError | None = None
    missing: bool = False
    changed: list[str] = []
    gradients: dict[str, Any] | str | None = None
    ran: list[str] = []
    measured: Any = None
    holds: str = ""
    near: str = ""
    switched: list[str] = []


def _read_answer(entry: Any) -> Answer:
    try:
        sent = msgspec.convert(entry, _SentAnswer)
    except (msgspec.ValidationError, RecursionError):
        return Answer("unreadable", message="an answer that is not of the agreed form")
    changed = tuple(path[:LONGEST_MESSAGE] for path in sent.changed[:MAX_CHANGES])
    ran = frozenset(name[:LONGEST_STEP] for name in sent.ran[:MAX_STEPS])
    if sent.missing:
        return Answer("missing", holds=sent.holds[:LONGEST_MESSAGE], near=sent.near[:LONGEST_STEP])
    switched = tuple(call[:LONGEST_STEP] for call in sent.switched[:MAX_SWITCHED])
    if sent.raised is not None:
        error, message, line = (
            text[:LONGEST_MESSAGE] for text in (sent.raised.type, sent.raised.message, sent.raised.line)
        )
        if error == "KeyboardInterrupt":
            return Answer("timeout", line=line)
        about = {"error": error, "message": message, "line": line}
        return Answer("raised", **about, changed=changed, ran=ran, switched=switched)
    if sent.value is msgspec.UNSET:
        return Answer("unreadable", message="an answer that is not of the agreed form")
    gradients = sent.gradients
    if isinstance(gradients, dict):
        gradients = {name: None if kind_of(value) is None else value for name, value in gradients.items()}
    elif gradients is not None:
        gradients = gradients[:LONGEST_MESSAGE]
    found: dict[str, Any] = {"gradients": gradients, "measured": sent.measured}
    return Answer("value", sent.value, changed=changed, ran=ran, switched=switched, **found)
