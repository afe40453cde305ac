"""The sentences that students read about a wrong answer: errors, types, gradients, parts of a module.

The sentences about wrong arrays (shape mismatch, dtype, numbers) are in `nbjudge.judge.array_messages`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbjudge.authoring.cases import Case
from nbjudge.authoring.exercise import Exercise
from nbjudge.calls import Answer
from nbjudge.judge.compare import same_gradient
from nbjudge.judge.describe import (
    argument_name,
    describe_call,
    kind,
    kind_of_types,
    listed,
    part_name,
    short,
    usual_cause,
)
from nbjudge.probe.building import WrongParametersError
from nbjudge.values.kinds import KINDS, kind_of, owned_values

# These follow a sentence about changed arguments.
COSTS_ONE_GROUP = "The values are right; changed arguments cost one group of cases, “{}”."
COSTS_NOTHING = "This is a remark and costs no points."
NO_INPUT = "StdinNotImplementedError"  # what ipykernel raises for `input()` without a frontend
PLURAL = ("scores", "weights", "gradients", "parameters")


def no_value(exercise: Exercise, answer: Answer) -> str:
    """Say why there is no value to compare."""
    name = exercise.name
    if answer.error == "NotImplementedError":
        return f"`{name}` is not written yet."
    if answer.status == "missing" and answer.error:
        text = f": {answer.message.rstrip('.')}" if answer.message else ""
        return f"There is no `{name}`: its cell stops with {answer.error}{text}.{_advice(answer)}"
    if answer.status == "missing" and answer.holds:
        return (
            f"`{name}` is {kind_of_types(answer.holds)} now: a line gives the function's name to a result. "
            "Take another name."
        )
    if answer.status == "missing" and answer.near:
        return f"There is no `{name}`, and there is `{answer.near}`: write the name as the exercise does."
    if answer.status == "missing" and answer.line:
        return f"There is no `{name}`: its cell begins with `{answer.line}`, which keeps no names. Remove it."
    if answer.status == "missing":
        return f"There is no `{name}`: the cell that defines it did not run, or defines another name."
    if answer.status == "timeout":
        return (
            f"`{name}` did not answer in time: look for a loop that never ends, a very large tensor, much "
            "printing, or `torch.compile`."
        )
    if answer.status == "died":
        return f"The kernel died while `{name}` ran, so there is no answer to judge."
    if answer.status == "unreadable":
        return f"`{name}` sent back something that cannot be read: {answer.message}."
    if answer.raised(WrongParametersError):
        return f"The parameters of `{name}` are not those the exercise names ({answer.message})."
    where = f" at the line `{answer.line}`" if answer.line else ""
    text = f": {_first_line(answer.message)}" if answer.message.strip() else ""
    return f"`{name}` stops with {answer.error}{where}{text}.{_advice(answer)}"


def _advice(answer: Answer) -> str:
    """Say what to do about an error whose own message does not say it."""
    if answer.error == NO_INPUT:
        return " `input()` cannot be answered while a notebook is graded: remove it."
    if answer.error == "BdbQuit":
        return " A debugger cannot be used while an answer is checked: remove it (`pdb.set_trace()`)."
    advice = (kind.advice_on(answer.error, answer.message) for kind in KINDS)
    return next((f" {sentence}" for sentence in advice if sentence), "")


def switched(answer: Answer) -> str:
    """Say which calls of the student's cells hold for the answer, too, with a blank before it."""
    own = [call for kind in KINDS for call in kind.switched()]
    calls = [f"`{call}`" for call in answer.switched if call not in own]
    return (
        f" A cell has called {listed(calls)}, which holds for this answer, too: remove it." if calls else ""
    )


def _first_line(message: str) -> str:
    """Return the first line of an error's message, and the next one if the first ends with a colon."""
    first, *others = (line.strip() for line in message.splitlines() if line.strip())
    return " ".join([first, *others[:1]] if first.endswith(":") else [first]).rstrip(".")


def expected_result(exercise: Exercise, case: Case, answer: Answer, expected: Any) -> str:
    """Say after an error of the student's code what the call was, and what it should return."""
    unwritten = answer.raised(NotImplementedError) or answer.raised(WrongParametersError)
    if answer.status != "raised" or unwritten:
        return ""
    if isinstance(expected, dict):  # several things that were read from a module
        expected = expected.get("result")
    if expected is None:
        return ""
    is_several = len(exercise.results) > 1 and isinstance(expected, (list, tuple))
    values = list(expected) if is_several else [expected]
    named = [
        f"`{name}`, {kind(value)}" if len(values) > 1 else kind(value)
        for name, value in zip(exercise.results, values, strict=False)
    ]
    return f" Called with {describe_call(case)}, it must return {'; '.join(named)}." if named else ""


def _required_numbers(case: Case) -> str:
    """List the numbers that a ValueError must hold: “5, or 10 and 2”."""
    enough = [numbers for numbers in (case.refuses, case.or_naming) if numbers]
    return ", or ".join(listed([str(number) for number in numbers]) for numbers in enough)


def no_error(exercise: Exercise, case: Case) -> str:
    """Say that an error must be raised, and the answer returned a value."""
    numbers = _required_numbers(case)
    return (
        f"`{exercise.name}` returns an answer for {describe_call(case)}, which cannot work: "
        f"raise a ValueError with a sentence that holds {numbers}."
    )


def wrong_error(exercise: Exercise, case: Case, answer: Answer) -> str:
    """Say that the wrong error was raised, or one without the required numbers."""
    numbers = _required_numbers(case)
    if answer.raised(ValueError):
        text = answer.message.rstrip(".") or "nothing"
        return f"The ValueError of `{exercise.name}` says “{text}”: its sentence has to hold {numbers}."
    return (
        f"`{exercise.name}` stops with {answer.error} for {describe_call(case)}: "
        f"raise a ValueError instead, with a sentence that holds {numbers}."
    )


def keeps_state(exercise: Exercise, by_object: bool) -> str:
    """Say that an answer keeps state between calls."""
    what = "an object of it is called" if by_object else "it is called"
    return (
        f"`{exercise.name}` gives what is right when {what} once, and something else when {what} again with "
        "other numbers: it keeps something of an earlier call."
    )


def wrong_without_optional(exercise: Exercise, answer: Answer) -> str:
    """Say that an answer is wrong where arguments that need not be given are left out."""
    what = f"stops with {answer.error}" if answer.status == "raised" else "gives something else"
    return (
        f"`{exercise.name}` gives what is right with the arguments of its first call, and {what} when it is "
        "called again without the optional ones: either it keeps something of an earlier call, or it is "
        "wrong without them."
    )


def right_by_chance(exercise: Exercise, group: str) -> str:
    """Say that an answer that is wrong in other groups fails this group in the retest."""
    return (
        f"“{group}” is right on the first inputs only by chance: on those of a second call "
        f"`{exercise.name}` gives a wrong result."
    )


def always_the_same(exercise: Exercise, calls: int, value: Any) -> str:
    """Say that an answer seems to ignore its arguments, or that what it decides never changes."""
    decides = f", and that its condition can be {not value} at all" if isinstance(value, bool) else ""
    return (
        f"`{exercise.name}` gives the same answer to {calls} calls whose right answers differ. "
        f"Check that it uses its arguments{decides}."
    )


def stops_in_retest(exercise: Exercise, answer: Answer) -> str:
    """Say that an answer fails in a later call with other values, which need not be because of state."""
    return f"Right in the first calls; called again with other values: {no_value(exercise, answer)}"


def changes_in_retest(exercise: Exercise, by_object: bool) -> str:
    what = "an object of it was called" if by_object else "it was called"
    return f"`{exercise.name}` leaves its input alone at first, and changes it after {what} before."


def nondeterministic(exercise: Exercise, value: Any) -> str:
    """Say that the same call gave two results."""
    causes = (kind_of(each).cause_of_chance for _, each in owned_values(value))  # type: ignore[union-attr]
    cause = next(filter(None, causes), "")
    return (
        f"`{exercise.name}` gives two results for one and the same call: something in it is random, or kept "
        f"from one call to the next.{' ' if cause else ''}{cause}"
    )


def changed_arguments(exercise: Exercise, reference: Callable[..., Any], changed: Sequence[str]) -> str:
    """Say which arguments were changed, given their paths in the request."""
    if any("." in place for place in changed):
        parts = list(dict.fromkeys(part_name(reference, place) for place in changed if "." in place))
        return f"`{exercise.name}` changes {listed(parts)}: leave what belongs to the caller as it was."
    names = listed(list(dict.fromkeys(f"`{argument_name(reference, place)}`" for place in changed)))
    return f"`{exercise.name}` changes its input {names}: work on a copy and leave the caller's alone."


def wrong_gradients(
    exercise: Exercise, reference: Callable[..., Any], answer: Answer, expected: Answer
) -> str:
    """Say which argument's gradient is missing, NaN or wrong."""
    if isinstance(answer.gradients, str):
        return f"The values agree, but the backward pass stops: {answer.gradients.rstrip('.')}."
    actual = answer.gradients or {}
    assert isinstance(expected.gradients, dict)
    for path, gradient in expected.gradients.items():
        name = argument_name(reference, path)
        own = actual.get(path)
        if own is None and gradient is not None and bool(gradient.any()):
            why = getattr(kind_of(gradient), "no_gradient", "")
            return f"The values agree, but no gradient reaches `{name}`{': ' if why else ''}{why}."
        if own is not None and bool((own != own).any()):
            return (
                f"The values agree, but the gradient of `{name}` is NaN: "
                "a value that was cleaned up afterwards was NaN on the way."
            )
    for path, gradient in expected.gradients.items():
        if not same_gradient(actual.get(path), gradient, exercise.tolerance):
            name = argument_name(reference, path)
            return f"The values agree, but the gradient of `{name}` differs from that of the formula."
    return "The values agree, but their gradients differ from those of the formula."


def wrong_type(what: str, actual: Any, wanted: str, is_part: bool = False) -> str:
    """Say that a result is of another kind, count or length, for example a list instead of an array.

    `is_part`: `what` names a part of what the answer returns, not the answer itself.
    """
    if actual is None and not is_part:
        return f"{what} returns nothing, expected {wanted}. Is the `return` line missing?"
    return f"{what} {'is' if is_part else 'returns'} {kind(actual)}, expected {wanted}.{usual_cause(actual)}"


def wrong_order(exercise: Exercise, order: Sequence[int]) -> str:
    """Say that the results are returned in another order: `order` holds the places where they belong."""
    wanted, returned = ", ".join(exercise.results), ", ".join(exercise.results[place] for place in order)
    return f"`{exercise.name}` returns ({returned}), expected ({wanted}), in this order."


def agreement(names: Sequence[str]) -> str:
    """Say which of several results are right."""
    plural = len(names) > 1 or names[0] in PLURAL
    return f"The {listed(names)} {'agree' if plural else 'agrees'}."


def wrong_parts(exercise: Exercise, side: str, actual: Any, expected: Any) -> str:
    """Say which parameters, buffers or attributes of a module have a wrong name, shape or type."""
    side = "entries of the state" if side == "state" else side
    if not isinstance(actual, dict) or not isinstance(expected, dict):
        return f"The {side} of `{exercise.name}` are {short(actual)}, expected {short(expected)}."
    missing = [f"`{name}`" for name in expected if name not in actual]
    extra = [f"`{name}`" for name in actual if name not in expected]
    if missing or extra:
        lacks = f"lack {listed(missing)}" if missing else ""
        has = f"have {listed(extra)} too many" if extra else ""
        return f"The {side} of `{exercise.name}` {' and '.join(filter(None, (lacks, has)))}."
    differing = (
        name for name in expected if short(actual[name]) != short(expected[name]) or actual[name] is None
    )
    name = next(differing, None)
    if name is None:
        return f"The {side} of `{exercise.name}` hold other numbers than they should."
    return (
        f"Of the {side} of `{exercise.name}`, `{name}` is {short(actual[name])}, not {short(expected[name])}."
    )
