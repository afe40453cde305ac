"""An answer as the judge sees it: data from a kernel, read once and checked on the way in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from nbjudge.authoring.case import Case
from nbjudge.probe import respond
from nbjudge.probe.watching import Watch
from nbjudge.values.kinds import kind_of

# The kernel's side keeps to these too, but it is the student's.
LONGEST_MESSAGE = 500  # characters
MOST_CHANGES = 500  # places
MOST_STEPS, LONGEST_STEP = 500, 300  # names of what ran, and characters of one

Status = Literal["value", "raised", "missing", "timeout", "died", "unreadable"]


@dataclass(frozen=True)
class Answer:
    """What came of one call.

    `gradients` holds one entry per floating tensor argument (None where no gradient flows), or
    the sentence of the exception that the backward pass raised. `ran` holds the names of
    what was watched and ran for the answer. `measured` is what a measured call reports, see `ask`.
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

    def beside(self, reference: Answer) -> Answer:
        """The same answer; what the reference changes, too, is there to be changed."""
        changed = tuple(place for place in self.changed if place not in reference.changed)
        return self if changed == self.changed else replace(self, changed=changed)


@dataclass(frozen=True)
class Reply:
    """The answers to some calls; `lost` where the kernel took those with it that it already had."""

    answers: list[Answer]
    lost: bool = False


# Asks a kernel: (name of the exercise, packed-ready calls, what to watch meanwhile) -> Reply
CallAnswer = Callable[[str, list[dict[str, Any]], Watch], Reply]


def calls_for(cases: Sequence[Case], cotangents: Sequence[list[Any] | None]) -> list[dict[str, Any]]:
    """Cases in the words of the protocol."""
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
    """What a function in this process answers: the reference, a mistake, another right answer."""
    return read_reply(respond.answer_calls(function, calls), len(calls)).answers


def read_reply(reply: Any, expected: int) -> Reply:
    """Read what a kernel sent; whatever is not of the agreed form is unreadable, never an error here."""
    answers: list[Answer] = []
    if isinstance(reply, list):
        answers = [_read_answer(entry) for entry in reply[:expected]]
    answers += [Answer("timeout") for _ in range(expected - len(answers))]
    return Reply(answers)


def _read_answer(entry: Any) -> Answer:
    if not isinstance(entry, dict):
        return Answer("unreadable", message="an answer that is not of the agreed form")
    changed = tuple(_text(name) for name in _list(entry.get("changed"))[:MOST_CHANGES])
    if "missing" in entry:
        return Answer("missing")
    steps = _list(entry.get("ran"))[:MOST_STEPS]
    ran = frozenset(name[:LONGEST_STEP] for name in steps if isinstance(name, str))
    raised = entry.get("raised")
    if isinstance(raised, dict):
        error, message, line = (_text(raised.get(key)) for key in ("type", "message", "line"))
        if error == "KeyboardInterrupt":
            return Answer("timeout", line=line)
        return Answer("raised", error=error, message=message, line=line, changed=changed, ran=ran)
    if "value" not in entry:
        return Answer("unreadable", message="an answer that is not of the agreed form")
    gradients = _read_gradients(entry.get("gradients"))
    measured = entry.get("measured")
    return Answer("value", entry["value"], changed=changed, gradients=gradients, ran=ran, measured=measured)


def _read_gradients(sent: Any) -> dict[str, Any] | str | None:
    if isinstance(sent, dict):
        return {str(name): None if kind_of(value) is None else value for name, value in sent.items()}
    return sent[:LONGEST_MESSAGE] if isinstance(sent, str) else None


def _text(value: Any) -> str:
    """Text, and nothing's printed form: to print what somebody sent can take for ever."""
    return value[:LONGEST_MESSAGE] if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
