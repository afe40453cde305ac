"""Calls of an answer and what comes of them: the words that judge, kernel and tutor share.

A `Call` goes to the student's kernel, and an `Answer` comes back for each. `answers_of` and `caller_of` make
the same calls in this process, of the reference, of known mistakes and in tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal, TypedDict

import msgspec

from nbjudge.authoring.cases import Case
from nbjudge.probe import respond
from nbjudge.probe.watching import WatchedCalls
from nbjudge.values.kinds import kind_of

# The probe keeps to shorter limits, but student code can change the probe.
LONGEST_TEXT = 500  # characters
MOST_TEXTS = 500  # paths of changed arguments, or names of steps that ran
OF_THE_CALL = ("value", "raised", "missing")  # the other statuses are never sent by a kernel


class Call(TypedDict, total=False):
    """One call of an answer, as the judge requests it; see `nbjudge.authoring.case`."""

    args: list[Any]
    kwargs: dict[str, Any]
    cotangents: list[Any] | None  # None: no gradients
    through: Any
    measure: Any
    reads_variable: bool  # the answer is a variable, whose value is the result
    build: Any  # the fields of a `Build`, as a dict; None for a function
    before: list[Call]  # of the same object, whose results are not used


@dataclass(frozen=True)
class Answer:
    """The result of one call, as the probe sends it.

    Its status "value" or "raised" is a result of the call. "missing": there is no such answer. "timeout" and
    "died": the call, or the kernel, was stopped. "unreadable": the kernel sent something else.
    """

    status: Literal["value", "raised", "missing", "timeout", "died", "unreadable"]
    value: Any = None
    error: str = ""  # the class of an exception
    message: str = ""
    line: str = ""  # of the student's code, that raised it
    changed: tuple[str, ...] = ()  # the paths of arguments
    # One entry per floating tensor argument (None if no gradient flows), or what the backward pass raised.
    gradients: dict[str, Any] | str | None = None
    ran: frozenset[str] = frozenset()  # the names of watched steps
    measured: Any = None  # what a measured call reports, see `nbjudge.authoring.case`
    holds: str = ""  # of a missing answer: the types of what its name holds in place of it
    near: str = ""  # or a name like it
    switched: tuple[str, ...] = ()  # calls by which a cell has changed what a library does by default

    def raised(self, error: type[BaseException]) -> bool:
        """Return whether the call raised an exception of this class, by the class's name."""
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
    return caller_of(function)("", calls, {}).answers


def caller_of(function: Any) -> AnswerCaller:
    """Return what calls a function in this process in place of a student's answer."""

    def call(_name: str, calls: list[Call], watched_calls: WatchedCalls) -> Reply:
        return read_reply(respond.answer_calls(function, calls, watched_calls), len(calls))

    return call


def read_reply(reply: Any, expected: int) -> Reply:
    """Check what a kernel sent in reply to a request; student code may have sent anything.

    An answer of another form is "unreadable"; a missing one is a "timeout", because the probe stops after a
    call that was interrupted.
    """
    entries = reply[:expected] if isinstance(reply, list) else []
    answers = [_read_answer(entry) for entry in entries]
    return Reply(answers + [Answer("timeout")] * (expected - len(answers)))


def _read_answer(entry: Any) -> Answer:
    try:
        sent = msgspec.convert(entry, Answer)
    except (msgspec.ValidationError, RecursionError):
        sent = Answer("unreadable")
    if sent.status not in OF_THE_CALL:
        return Answer("unreadable", message="an answer that is not of the agreed form")
    if sent.raised(KeyboardInterrupt):
        return Answer("timeout", line=sent.line[:LONGEST_TEXT])
    cut = {name: _cut(value) for name, value in vars(sent).items() if name in _OF_TEXTS}
    gradients = sent.gradients
    if isinstance(gradients, dict):  # the judge reads what is in a value, see `compare`
        gradients = {name: None if kind_of(value) is None else value for name, value in gradients.items()}
    elif gradients is not None:
        gradients = _cut(gradients)
    return replace(sent, gradients=gradients, **cut)


_OF_TEXTS = ("error", "message", "line", "changed", "ran", "holds", "near", "switched")


def _cut(texts: Any) -> Any:
    """Return a text, or texts, of which no more is read than the limits allow."""
    if isinstance(texts, str):
        return texts[:LONGEST_TEXT]
    return type(texts)(text[:LONGEST_TEXT] for text in islice(texts, MOST_TEXTS))
