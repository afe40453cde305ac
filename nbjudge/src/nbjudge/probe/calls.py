"""What the judge and a student's kernel send each other about one call of an answer.

Only for type checks: not sent to the kernel, where such classes take longer to define than a call to run.
"""

from __future__ import annotations

from typing import Any, TypedDict


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


class RawAnswer(TypedDict, total=False):
    """What came of one call, as the kernel sends it; see `nbjudge.kernel.protocol.Answer`."""

    value: Any
    raised: dict[str, str]  # "type", "message" and "line"
    missing: bool
    holds: str  # where the name of the answer holds something else: the names of its types
    near: str  # where there is no such name: one like it
    switched: list[str]  # calls that changed what a library does by default, for this answer, too
    changed: list[str]
    gradients: dict[str, Any] | str
    ran: list[str]
    measured: Any
