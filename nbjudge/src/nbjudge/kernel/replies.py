"""Replies of a kernel to calls of an answer, checked before the judge sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from nbjudge.authoring.cases import Case
from nbjudge.probe import respond
from nbjudge.probe.watching import Watch
from nbjudge.values.kinds import kind_of

# The probe keeps to these limits, but student code can change the probe.
LONGEST_MESSAGE = 500  # characters
MAX_CHANGES = 500  # paths of changed arguments
MAX_STEPS, LONGEST_STEP = 500, 300  # names of steps that ran, and characters of one

Status = Literal["value", "raised", "missing", "timeout", "died", "unreadable"]


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
    """

    status: Status
    value: Any = None
    error: str = ""
    message: str = ""
    line: str = ""
    changed: tuple[str, ...] = ()
    gradients: dict[str, Any] | str | None = None
    ran: frozenset[str] = frozenset()
    measured: Any = None

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
CallAnswer = Callable[[str, list[dict[str, Any]], Watch], Reply]


def calls_for(cases: Sequence[Case], cotangents: Sequence[list[Any] | None]) -> list[dict[str, Any]]:
    """Return cases as the calls of a request."""
    return [
        {
            "args": list(case.args),
            "kwargs": case.kwargs,
            "cotangents": cotangent,
            "through": case.through,
            "measure": case.measure,
            "build": None if case.build is None else vars(case.build) | {"look": list(case.build.look)},
        }
        for case, cotangent in zip(cases, cotangents, strict=True)
    ]


def answers_of(function: Any, calls: list[dict[str, Any]]) -> list[Answer]:
    """Call a function in this process: the reference, a known mistake or an accepted alternative."""
    return read_reply(respond.answer_calls(function, calls), len(calls)).answers


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


def _read_answer(entry: Any) -> Answer:
    try:
        sent = msgspec.convert(entry, _SentAnswer)
    except (msgspec.ValidationError, RecursionError):
        return Answer("unreadable", message="an answer that is not of the agreed form")
    changed = tuple(path[:LONGEST_MESSAGE] for path in sent.changed[:MAX_CHANGES])
    ran = frozenset(name[:LONGEST_STEP] for name in sent.ran[:MAX_STEPS])
    if sent.missing:
        return Answer("missing")
    if sent.raised is not None:
        error, message, line = (
            text[:LONGEST_MESSAGE] for text in (sent.raised.type, sent.raised.message, sent.raised.line)
        )
        if error == "KeyboardInterrupt":
            return Answer("timeout", line=line)
        return Answer("raised", error=error, message=message, line=line, changed=changed, ran=ran)
    if sent.value is msgspec.UNSET:
        return Answer("unreadable", message="an answer that is not of the agreed form")
    gradients = sent.gradients
    if isinstance(gradients, dict):
        gradients = {name: None if kind_of(value) is None else value for name, value in gradients.items()}
    elif gradients is not None:
        gradients = gradients[:LONGEST_MESSAGE]
    return Answer("value", sent.value, changed=changed, gradients=gradients, ran=ran, measured=sent.measured)
