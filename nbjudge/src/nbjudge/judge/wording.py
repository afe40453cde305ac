"""How measurements are put into words that a student can act on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nbjudge.authoring.case import Case
from nbjudge.authoring.exercise import Exercise
from nbjudge.judge.arguments import argument_name
from nbjudge.judge.compare import same_gradient
from nbjudge.kernel.replies import Answer
from nbjudge.values.describe import kind, listed, short
from nbjudge.values.kinds import KINDS, kind_of, owned_values

# Behind what is said of changed arguments.
COSTS_ONE_GROUP = "The values are right; changed arguments cost one group of cases, “{}”."
COSTS_NOTHING = "This is a remark and costs no points."
NO_INPUT = "StdinNotImplementedError"  # what ipykernel raises where nobody can type
PLURAL = ("scores", "weights", "gradients", "parameters")


def no_value(exercise: Exercise, answer: Answer) -> str:
    """Why there is nothing to compare."""
    name = exercise.name
    if answer.status == "missing" and answer.error:
        said = f": {answer.message.rstrip('.')}" if answer.message else ""
        return f"There is no `{name}`: its cell stops with {answer.error}{said}.{_advice(answer)}"
    if answer.status == "missing":
        return f"There is no `{name}`: the cell that defines it did not run, or defines another name."
    if answer.status == "timeout":
        return f"`{name}` did not answer in time: look for a loop that never ends."
    if answer.status == "died":
        return f"The kernel died while `{name}` ran, so there is no answer to judge."
    if answer.status == "unreadable":
        return f"`{name}` sent back something that cannot be read: {answer.message}."
    if answer.error == "NotImplementedError":
        return f"`{name}` is not written yet."
    if answer.error == "WrongParametersError":
        return f"The parameters of `{name}` are not those the exercise names ({answer.message})."
    where = f" at the line `{answer.line}`" if answer.line else ""
    said = f": {_beginning_of(answer.message)}" if answer.message.strip() else ""
    return f"`{name}` stops with {answer.error}{where}{said}.{_advice(answer)}"


def _advice(answer: Answer) -> str:
    """Behind an error whose own message does not say what to do."""
    if answer.error == NO_INPUT:
        return " `input()` cannot be answered while a notebook is graded: remove it."
    advice = (kind.advice_on(answer.error, answer.message) for kind in KINDS)
    return next((f" {said}" for said in advice if said), "")


def _beginning_of(message: str) -> str:
    """The first line of an error's message, and the next one where the first only announces it."""
    first, *others = (line.strip() for line in message.splitlines() if line.strip())
    return " ".join([first, *others[:1]] if first.endswith(":") else [first]).rstrip(".")


def asked_for(exercise: Exercise, case: Case, answer: Answer, wanted: Any) -> str:
    """After an error of the answer's own: what the call was, and what it should have returned."""
    if answer.status != "raised" or answer.error in ("NotImplementedError", "WrongParametersError"):
        return ""
    if isinstance(wanted, dict):  # a module that was looked at from several sides
        wanted = wanted.get("result")
    if wanted is None:
        return ""
    values = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted]
    named = [
        f"`{name}`, {kind(value)}" if len(values) > 1 else kind(value)
        for name, value in zip(exercise.results, values, strict=False)
    ]
    return f" Called with {describe_call(case)}, it is to return {'; '.join(named)}." if named else ""


def _clashing(case: Case) -> str:
    """The numbers that a refusal has to hold: “5, or 10 and 2”."""
    enough = [numbers for numbers in (case.refuses, case.or_naming) if numbers]
    return ", or ".join(listed([str(number) for number in numbers]) for numbers in enough)


def should_refuse(exercise: Exercise, case: Case) -> str:
    numbers = _clashing(case)
    return (
        f"`{exercise.name}` returns an answer for {describe_call(case)}, which cannot work: "
        f"raise a ValueError with a sentence that holds {numbers}."
    )


def refuses_badly(exercise: Exercise, case: Case, answer: Answer) -> str:
    numbers = _clashing(case)
    if answer.error == "ValueError":
        said = answer.message.rstrip(".") or "nothing"
        return f"The ValueError of `{exercise.name}` says “{said}”: its sentence has to hold {numbers}."
    return (
        f"`{exercise.name}` stops with {answer.error} for {describe_call(case)}: "
        f"raise a ValueError instead, with a sentence that holds {numbers}."
    )


def keeps_something(exercise: Exercise, by_object: bool) -> str:
    """An answer that is right once."""
    who = "an object of it is called" if by_object else "it is called"
    return (
        f"`{exercise.name}` gives what is right when {who} once, and something else when {who} again with "
        "other numbers: it keeps something of an earlier call."
    )


def right_by_chance(exercise: Exercise, group: str) -> str:
    """An answer that is wrong elsewhere, and here only with other numbers."""
    return (
        f"“{group}” came out right on the numbers that were drawn; asked once more with others, "
        f"`{exercise.name}` gives something else than is right."
    )


def always_the_same(exercise: Exercise, calls: int) -> str:
    """Constants in place of arguments."""
    return (
        f"`{exercise.name}` gives one and the same answer to {calls} calls that differ: what it is handed "
        "takes no part in it. Compute it from the arguments."
    )


def stops_when_asked_again(exercise: Exercise, answer: Answer, by_object: bool) -> str:
    who = "an object of it was called" if by_object else "it was called"
    return f"Right at first; after {who} before: {no_value(exercise, answer)}"


def changes_when_asked_again(exercise: Exercise, by_object: bool) -> str:
    who = "an object of it was called" if by_object else "it was called"
    return f"`{exercise.name}` leaves its input alone at first, and changes it after {who} before."


def unsteady(exercise: Exercise, value: Any) -> str:
    """Two results of one call."""
    causes = (kind_of(each).cause_of_chance for _, each in owned_values(value))  # type: ignore[union-attr]
    cause = next(filter(None, causes), "")
    return (
        f"`{exercise.name}` gives two results for one and the same call: something in it is random, or kept "
        f"from one call to the next.{' ' if cause else ''}{cause}"
    )


def changed_arguments(exercise: Exercise, reference: Callable[..., Any], changed: Sequence[str]) -> str:
    if any("." in place for place in changed):
        parts = list(dict.fromkeys(_part(reference, place) for place in changed if "." in place))
        return f"`{exercise.name}` changes {listed(parts)}: leave what belongs to the caller as it was."
    names = listed(list(dict.fromkeys(f"`{argument_name(reference, place)}`" for place in changed)))
    return f"`{exercise.name}` changes its input {names}: work on a copy and leave the caller's alone."


def wrong_gradients(
    exercise: Exercise, reference: Callable[..., Any], answer: Answer, expected: Answer
) -> str:
    """Which argument's gradient is missing, not finite, or other than it should be."""
    if isinstance(answer.gradients, str):
        return f"The values agree, but the backward pass stops: {answer.gradients.rstrip('.')}."
    mine, right = answer.gradients or {}, expected.gradients
    assert isinstance(right, dict)
    for path, gradient in right.items():
        name = argument_name(reference, path)
        yours = mine.get(path)
        if yours is None and gradient is not None and bool(gradient.any()):
            why = getattr(kind_of(gradient), "no_gradient", "")
            return f"The values agree, but no gradient reaches `{name}`{': ' if why else ''}{why}."
        if yours is not None and bool((yours != yours).any()):
            return (
                f"The values agree, but the gradient of `{name}` is NaN: "
                "a value that was cleaned up afterwards was NaN on the way."
            )
    for path, gradient in right.items():
        if not same_gradient(mine.get(path), gradient, exercise.tolerance):
            name = argument_name(reference, path)
            return f"The values agree, but the gradient of `{name}` differs from that of the formula."
    return "The values agree, but their gradients differ from those of the formula."


def wrong_number(exercise: Exercise, value: Any, expected: Any) -> str:
    """One thing where several were asked for, or the other way round."""
    several = isinstance(expected, (list, tuple))
    asked = "(" + ", ".join(exercise.results) + ")" if several else kind(expected)
    if value is None:
        return f"`{exercise.name}` returns nothing, and {asked} was asked for: is the `return` line missing?"
    return f"`{exercise.name}` returns {kind(value)}, and {asked} was asked for."


def wrong_kind(what: str, value: Any, expected: Any, is_part: bool) -> str:
    """A list, a number, nothing, where an array was asked for."""
    if value is None and not is_part:
        return f"{what} returns nothing, and {kind(expected)} was asked for: is the `return` line missing?"
    return f"{what} {'is' if is_part else 'returns'} {kind(value)}, and {kind(expected)} was asked for."


def wrong_length(what: str, value: Any, expected: Any) -> str:
    """A pair where three things were asked for, or the like."""
    return f"{what} is {kind(value)}, and {kind(expected)} was asked for."


def wrong_order(exercise: Exercise) -> str:
    returned, asked = (", ".join(names) for names in (exercise.results[::-1], exercise.results))
    return f"`{exercise.name}` returns ({returned}); ({asked}) was asked for, in this order."


def agreement(names: Sequence[str]) -> str:
    plural = len(names) > 1 or names[0] in PLURAL
    return f"The {listed(names)} {'agree' if plural else 'agrees'}."


def wrong_parts(exercise: Exercise, side: str, mine: Any, right: Any) -> str:
    """Parameters, buffers or attributes with other names, shapes or types than they should have."""
    side = "entries of the state" if side == "state" else side
    if not isinstance(mine, dict) or not isinstance(right, dict):
        return f"The {side} of `{exercise.name}` are {short(mine)}, and {short(right)} was asked for."
    missing = [f"`{name}`" for name in right if name not in mine]
    extra = [f"`{name}`" for name in mine if name not in right]
    if missing or extra:
        lacks = f"lack {listed(missing)}" if missing else ""
        has = f"have {listed(extra)} too many" if extra else ""
        return f"The {side} of `{exercise.name}` {' and '.join(filter(None, (lacks, has)))}."
    differing = (name for name in right if short(mine[name]) != short(right[name]) or mine[name] is None)
    name = next(differing, None)
    if name is None:
        return f"The {side} of `{exercise.name}` hold other numbers than they should."
    return f"Of the {side} of `{exercise.name}`, `{name}` is {short(mine[name])}, not {short(right[name])}."


def describe_call(case: Case) -> str:
    """The shapes of a call's inputs: "a float64 array of shape (7, 9), axis=1"."""
    call = _arguments(case.args, case.kwargs)
    if case.build is None:
        return call
    made = f"a module made with ({_arguments(case.build.args, case.build.kwargs)})"
    return f"{made} and {call}" if call else made


def _arguments(args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    return ", ".join([short(value) for value in args] + [f"{name}={short(kwargs[name])}" for name in kwargs])


def _part(reference: Callable[..., Any], place: str) -> str:
    """An object's part in words: "/args/0._modules.embedding._parameters.weight"."""
    argument, *inner = place.split(".")
    names = [name for name in inner if name.strip("_") == name != "grad" and not name.isdecimal() and name]
    owner = f"`{argument_name(reference, argument)}`"
    said = f"`{'.'.join(names)}` of {owner}" if names else owner
    return f"the gradient of {said}" if inner[-1] == "grad" else said
