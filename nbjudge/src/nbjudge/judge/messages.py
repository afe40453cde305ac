"""Findings on what an answer does apart from its values: errors, changed arguments, wrong gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbjudge.authoring.cases import Case
from nbjudge.authoring.exercise import Exercise
from nbjudge.calls import Answer
from nbjudge.judge import describe
from nbjudge.judge.compare import same_gradient
from nbjudge.judge.describe import argument_name, describe_call, listed, part_name
from nbjudge.judge.findings import Cause
from nbjudge.judge.verdict import Finding
from nbjudge.probe.building import WrongParametersError
from nbjudge.values.kinds import KINDS, kind_of, owned_values

NO_INPUT = "StdinNotImplementedError"  # what ipykernel raises for `input()` without a frontend


def no_value(exercise: Exercise, answer: Answer) -> Finding:
    """Say why there is no value to compare."""
    name = exercise.name
    if answer.error == "NotImplementedError":
        return Cause.NOT_WRITTEN.found(name=name)
    if answer.status == "missing":
        return _missing(name, answer)
    if answer.status == "timeout":
        return Cause.TIMED_OUT.found(name=name)
    if answer.status == "died":
        return Cause.DIED.found(name=name)
    if answer.status == "unreadable":
        return Cause.UNREADABLE_ANSWER.found(name=name, message=answer.message)
    if answer.raised(WrongParametersError):
        return Cause.WRONG_PARAMETERS.found(name=name, message=answer.message)
    where = f" at the line `{answer.line}`" if answer.line else ""
    text = f": {_first_line(answer.message)}" if answer.message.strip() else ""
    finding = Cause.STOPS.found(name=name, error=answer.error, where=where, text=text)
    return finding.followed_by(_advice(answer))


def _missing(name: str, answer: Answer) -> Finding:
    if answer.error:
        text = f": {answer.message.rstrip('.')}" if answer.message else ""
        stops = Cause.CELL_STOPS.found(name=name, error=answer.error, text=text)
        return stops.followed_by(_advice(answer))
    if answer.holds:
        return Cause.NAME_TAKEN.found(name=name, what=describe.kind_of_types(answer.holds))
    if answer.near:
        return Cause.NAME_MISSPELT.found(name=name, near=answer.near)
    if answer.line:
        return Cause.CELL_KEEPS_NO_NAMES.found(name=name, line=answer.line)
    return Cause.NOT_DEFINED.found(name=name)


def _advice(answer: Answer) -> str:
    """Say what to do about an error whose own message does not say it."""
    if answer.error == NO_INPUT:
        return Cause.WITHOUT_INPUT.says()
    if answer.error == "BdbQuit":
        return Cause.WITHOUT_DEBUGGER.says()
    return next(filter(None, (kind.advice_on(answer.error, answer.message) for kind in KINDS)), "")


def _first_line(message: str) -> str:
    """Return the first line of an error's message, and the next one if the first ends with a colon."""
    first, *others = (line.strip() for line in message.splitlines() if line.strip())
    return " ".join([first, *others[:1]] if first.endswith(":") else [first]).rstrip(".")


def switched(answer: Answer) -> str:
    """Say which calls of the student's cells hold for the answer, too."""
    own = [call for kind in KINDS for call in kind.switched()]
    calls = [f"`{call}`" for call in answer.switched if call not in own]
    return Cause.SWITCHED.says(calls=listed(calls)) if calls else ""


def expected_result(exercise: Exercise, case: Case, answer: Answer, expected: Any) -> str:
    """Say after an error of the student's code what the call was, and what it should return."""
    unwritten = answer.raised(NotImplementedError) or answer.raised(WrongParametersError)
    if isinstance(expected, dict):  # several things that were read from a module
        expected = expected.get("result")
    if answer.status != "raised" or unwritten or expected is None:
        return ""
    is_several = len(exercise.results) > 1 and isinstance(expected, (list, tuple))
    values = list(expected) if is_several else [expected]
    named = [
        f"`{name}`, {describe.kind(value)}" if len(values) > 1 else describe.kind(value)
        for name, value in zip(exercise.results, values, strict=False)
    ]
    return Cause.WANTED_RESULT.says(call=describe_call(case), wanted="; ".join(named)) if named else ""


def _required_numbers(case: Case) -> str:
    """List the numbers that a ValueError must hold: “5, or 10 and 2”."""
    enough = [numbers for numbers in (case.refuses, case.or_naming) if numbers]
    return ", or ".join(listed([str(number) for number in numbers]) for numbers in enough)


def no_error(exercise: Exercise, case: Case) -> Finding:
    """Say that an error must be raised, and the answer returned a value."""
    return Cause.NO_ERROR.found(name=exercise.name, call=describe_call(case), numbers=_required_numbers(case))


def wrong_error(exercise: Exercise, case: Case, answer: Answer) -> Finding:
    """Say that the wrong error was raised, or one without the required numbers."""
    name, numbers = exercise.name, _required_numbers(case)
    if answer.raised(ValueError):
        message = answer.message.rstrip(".") or "nothing"
        return Cause.WRONG_ERROR_MESSAGE.found(name=name, message=message, numbers=numbers)
    call = describe_call(case)
    return Cause.WRONG_ERROR.found(name=name, error=answer.error, call=call, numbers=numbers)


def always_the_same(exercise: Exercise, calls: int, value: Any) -> Finding:
    """Say that an answer seems to ignore its arguments, or that what it decides never changes."""
    decides = f", and that its condition can be {not value} at all" if isinstance(value, bool) else ""
    return Cause.ALWAYS_THE_SAME.found(name=exercise.name, calls=calls, decides=decides)


def nondeterministic(exercise: Exercise, value: Any) -> Finding:
    """Say that the same call gave two results."""
    causes = (kind_of(entry).cause_of_chance for _, entry in owned_values(value))  # type: ignore[union-attr]
    return Cause.RANDOM.found(name=exercise.name).followed_by(next(filter(None, causes), ""))


def changed_arguments(exercise: Exercise, reference: Callable[..., Any], changed: Sequence[str]) -> Finding:
    """Say which arguments were changed, given their paths in the request."""
    if any("." in place for place in changed):
        parts = list(dict.fromkeys(part_name(reference, place) for place in changed if "." in place))
        return Cause.CHANGES_PARTS.found(name=exercise.name, parts=listed(parts))
    names = list(dict.fromkeys(f"`{argument_name(reference, place)}`" for place in changed))
    return Cause.CHANGES_INPUT.found(name=exercise.name, arguments=listed(names))


def wrong_gradients(
    exercise: Exercise, reference: Callable[..., Any], answer: Answer, expected: Answer
) -> Finding:
    """Say which argument's gradient is missing, NaN or wrong."""
    if isinstance(answer.gradients, str):
        return Cause.BACKWARD_STOPS.found(message=answer.gradients.rstrip("."))
    actual = answer.gradients or {}
    assert isinstance(expected.gradients, dict)
    for path, gradient in expected.gradients.items():
        name, own = argument_name(reference, path), actual.get(path)
        if own is None and gradient is not None and bool(gradient.any()):
            why = getattr(kind_of(gradient), "no_gradient", "")
            return Cause.NO_GRADIENT.found(argument=name, why=f": {why}" if why else "")
        if own is not None and bool((own != own).any()):
            return Cause.GRADIENT_NAN.found(argument=name)
    for path, gradient in expected.gradients.items():
        if not same_gradient(actual.get(path), gradient, exercise.tolerance):
            return Cause.GRADIENT_DIFFERS.found(argument=argument_name(reference, path))
    return Cause.GRADIENTS_DIFFER.found()
