"""The causes of findings, and the findings on what an answer does apart from its values.

Each cause has a kind, by which code decides, and one sentence, which people read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from nbjudge.authoring.cases import Case
from nbjudge.authoring.exercise import Exercise
from nbjudge.calls import Answer
from nbjudge.judge import describe
from nbjudge.judge.compare import same_gradient
from nbjudge.judge.describe import argument_name, describe_call, listed, part_name
from nbjudge.judge.verdict import Finding
from nbjudge.probe.respond import WrongParametersError
from nbjudge.values.kinds import KINDS, kind_of


class Cause(Enum):
    """One cause of a finding, or of a sentence behind another one: the value is the sentence."""

    # The checks' own sentences.
    MISTAKE = "{message}"
    VERIFIER = "{objection}"
    MEASURED_BY_COURSE = "{measurement}"
    TABLE = "{difference}"

    # Nothing to compare.
    NOTHING_TO_VERIFY = ""  # another cause says why
    NOT_WRITTEN = "`{name}` is not written yet."
    CELL_STOPS = "There is no `{name}`: its cell stops with {error}{text}."
    NAME_TAKEN = "`{name}` is {what} now: a line gives the function's name to a result. Take another name."
    NAME_MISSPELT = "There is no `{name}`, and there is `{near}`: write the name as the exercise does."
    CELL_KEEPS_NO_NAMES = (
        "There is no `{name}`: its cell begins with `{line}`, which keeps no names. Remove it."
    )
    NOT_DEFINED = "There is no `{name}`: the cell that defines it did not run, or defines another name."
    TIMED_OUT = (
        "`{name}` did not answer in time: look for a loop that never ends, a very large tensor, much "
        "printing, or `torch.compile`."
    )
    DIED = "The kernel died while `{name}` ran, so there is no answer to judge."
    UNREADABLE_ANSWER = "`{name}` sent back something that cannot be read: {message}."
    WRONG_PARAMETERS = "The parameters of `{name}` are not those the exercise names ({message})."
    STOPS = "`{name}` stops with {error}{where}{text}."
    NOT_GIVEN = "{name} is still {value}: give it a value."
    WITHOUT_INPUT = "`input()` cannot be answered while a notebook is graded: remove it."
    WITHOUT_DEBUGGER = "A debugger cannot be used while an answer is checked: remove it (`pdb.set_trace()`)."
    WANTED_RESULT = "Called with {call}, it must return {wanted}."

    # Errors that are asked for.
    NO_ERROR = (
        "`{name}` returns an answer for {call}, which cannot work: raise a ValueError with a sentence that "
        "holds {numbers}."
    )
    WRONG_ERROR = (
        "`{name}` stops with {error} for {call}: raise a ValueError instead, with a sentence that holds "
        "{numbers}."
    )
    WRONG_ERROR_MESSAGE = "The ValueError of `{name}` says “{message}”: its sentence has to hold {numbers}."

    # Work that is not allowed, or that cannot be seen.
    NOT_ALLOWED = "`{name}` runs {step} (`{call}`), and this is the step you are asked to write."
    OTHER_THREAD = (
        "`{name}` hands its work to another thread, where memory and products are not counted: compute it "
        "without threads."
    )

    # What the weights of a module's own show.
    NO_WEIGHTS = "The weights of `{name}` cannot be read from its state_dict."
    OTHER_WEIGHTS = "The weights that `{name}` draws for itself are not those it is asked to have."
    UNUSED_WEIGHTS = (
        "On the weights that `{name}` draws for itself it gives other numbers than the formula on the "
        "weights in its `state_dict()`: they are not what it computes with. Make each layer once, in "
        "`__init__`, and use it as it is in `forward`."
    )

    # Several calls.
    RANDOM = (
        "`{name}` gives two results for one and the same call: something in it is random, or kept from one "
        "call to the next."
    )
    ALWAYS_THE_SAME = (
        "`{name}` gives the same answer to {calls} calls whose right answers differ. Check that it uses its "
        "arguments{decides}."
    )
    KEEPS_STATE = (
        "`{name}` gives what is right when {what} once, and something else when {what} again with other "
        "numbers: it keeps something of an earlier call."
    )
    WRONG_WITHOUT_OPTIONAL = (
        "`{name}` gives what is right with the arguments of its first call, and {what} when it is called "
        "again without the optional ones: either it keeps something of an earlier call, or it is wrong "
        "without them."
    )
    RIGHT_BY_CHANCE = (
        "“{group}” is right on the first inputs only by chance: on those of a second call `{name}` gives a "
        "wrong result."
    )
    STOPS_IN_RETEST = "Right in the first calls; called again with other values: {why}"
    CHANGES_IN_RETEST = "`{name}` leaves its input alone at first, and changes it after {what} before."
    CHANGES_INPUT = "`{name}` changes its input {arguments}: work on a copy and leave the caller's alone."
    CHANGES_PARTS = "`{name}` changes {parts}: leave what belongs to the caller as it was."
    COSTS_ONE_GROUP = "The values are right; changed arguments cost one group of cases, “{group}”."
    COSTS_NOTHING = "This is a remark and costs no points."
    SWITCHED = "A cell has called {calls}, which holds for this answer, too: remove it."
    WITHHELD_UNTIL_ONE = "these points count once at least one group passes whose values must be computed"
    WITHHELD_UNTIL_ALL = (
        "the weights it draws are almost zero, so wrong formulas pass as well: these points count once all "
        "groups pass whose values must be computed"
    )
    WITHHELD = "Right so far: {groups}; {reason}."

    # Gradients.
    BACKWARD_STOPS = "The values agree, but the backward pass stops: {message}."
    BACKWARD_NEEDS_CHANGED = (
        "The values agree, but the backward pass stops: a tensor that it needs was changed in place "
        "afterwards, by `+=`, `/=` or a function whose name ends in `_`. Make a new tensor instead."
    )
    NO_GRADIENT = "The values agree, but no gradient reaches `{argument}`{why}."
    GRADIENT_NAN = (
        "The values agree, but the gradient of `{argument}` is NaN: a value that was cleaned up afterwards "
        "was NaN on the way."
    )
    GRADIENT_CUT = (
        "The values agree, but no gradient flows from `{result}` back to `{argument}`: something between "
        "them was detached, or computed without gradients."
    )
    GRADIENT_DIFFERS = "The values agree, but the gradient of `{argument}` differs from that of the formula."
    GRADIENTS_DIFFER = "The values agree, but their gradients differ from those of the formula."

    # Values of another form.
    NOTHING_RETURNED = "{what} returns nothing, expected {wanted}. Is the `return` line missing?"
    TYPE = "{what} {is_} {kind}, expected {wanted}."
    ORDER = "`{name}` returns ({returned}), expected ({wanted}), in this order."
    AGREE = "The {names} {agree}."
    KEYS = "Of its keys, {name} {lacks_or_has}."
    KEY_TYPE = "The key {key} in what `{name}` gives is {kind}, expected {wanted}."
    KEY_MISSING = "`{key}` is missing from what `{name}` gives."
    KEYS_TOO_MANY = "`{name}` gives {keys} besides what the exercise asks for."
    PARTS_ARE = "The {side} of `{name}` are {actual}, expected {wanted}."
    PARTS_NAMES = "The {side} of `{name}` {lack_or_have}."
    PARTS_VALUES = "The {side} of `{name}` hold other numbers than they should."
    PART_DIFFERS = "Of the {side} of `{name}`, `{part}` is {actual}, not {wanted}."
    VALUE = "{what} {is_} {actual}, and {wanted} is right."
    OTHER_CASE = "{name} is the same as if {clause}."
    TWO_CAUSES = "Two things are wrong at once. {name} is as if {clause}, and compared with that: {besides}"
    AS_IF = "It is as if {clause}."
    TWO_MISTAKES = "Two mistakes together explain {name}. {one} {other}"
    NO_EFFECT = (
        "No gradient reaches {parts}: what `{name}` returns does not depend on it, or it was detached on the "
        "way. {measured}"
    )
    ONLY_WITH = (
        "`{name}` is wrong in every call with {argument} and right in every call without it: look at what "
        "is done with it. {measured}"
    )
    DIFFERS = "`{name}` does not return what the exercise asks for."
    BEHAVES_OTHERWISE = "`{name}` does not behave as the exercise asks."
    UNDESCRIBED = "`{name}` does not give what the exercise asks for."

    # Arrays.
    SHAPE = "{name} has shape {actual}, expected {wanted}{axes}."
    SHAPE_TRANSPOSED = (
        "{name} has shape {actual}, expected {wanted}{axes}. The last two axes have changed places."
    )
    DTYPE = "{name} has dtype {actual}, expected {wanted}."
    NOT_FINITE = "{name} is {what} in {where} ({count} of {size} numbers)."
    TRANSPOSED = "{name} is transposed: the last two axes have changed places."
    NARROWER_DTYPE = (
        "Every number in {name} is right to the rounding of {dtype}, and one that {dtype} can hold: "
        "something is computed in {dtype}. Keep the dtype of what goes in."
    )
    FACTOR = "Every number in {name} is {factor} times what it should be{size}."
    ARRANGEMENT = (
        "{name} has right numbers at wrong positions of {axis}: position {place} holds what belongs at "
        "{other}."
    )
    AN_ARGUMENT = "{name} is the {argument} that went in, unchanged."
    ARGUMENT_ADDED = "{name} is too much by the {argument} that went in: it was added to what is right."
    ARGUMENT_SUBTRACTED = (
        "{name} is too little by the {argument} that went in: it was subtracted, or not added."
    )
    DIFFERENCE = "Every number in {name} is {amount} {more} than it should be."
    SAME_DIFFERENCE = (
        "{name} is off by the same numbers at each position of {axis}: something that does not depend on the "
        "position was added, subtracted or left out."
    )
    POSITIONS = "{name} agrees except at {where}: at {position} yours is {actual}, and {wanted} is right."
    FACTOR_OF_ROWS = (
        "{name} is right along {axis} up to a factor, which differs from row to row: one is {factor}. Look "
        "at what the numbers are divided by or multiplied with."
    )
    RIGHT_POSITIONS = "{name} is right at {where} only."
    WRONG_FROM = "{name} is right up to position {last} of {axis}, and wrong from {first} on."
    SIGNS = "Every number in {name} is right but for its sign, which is wrong {count} times of {size}."
    RISING_FUNCTION = (
        "The numbers in {name} are in the right order of size, and wrong: a function was applied to each, or "
        "left out."
    )
    RISING_IN_ROWS = (
        "In each row of {name} the numbers are in the right order of size, and wrong: a function was applied "
        "to what they are made of, or left out."
    )
    FUNCTION_APPLIED = "{name} is {function} of what it should be{added}."
    FUNCTION_LEFT_OUT = "{name} is what it should be before {function}, which is missing."
    ALL_EQUAL = "Every number in {name} is {number}, and the right ones differ."
    AT = "{name} is {actual} at {position}, and {wanted} is right."
    SHIFTED_ROWS = (
        "{name} is right along {axis} up to a factor and a shift, which differ from row to row: look at what "
        "is subtracted or divided by, as in a norm."
    )
    NUMBERS = (
        "{name} has the right shape but other numbers: at {position} yours is {actual}, and {wanted} is "
        "right."
    )
    CLOSE = (
        "They come close: the furthest differ by {furthest}, and {atol} and {rtol} of a number are accepted."
    )
    HALF_PRECISION = (
        "Nearly all numbers in {name} are off by a little, by about as much as float16 or bfloat16 round: is "
        "something computed in half precision?"
    )

    @property
    def kind(self) -> str:
        """The name of the cause in a finding and in records."""
        return self.name.lower()

    def says(self, **facts: Any) -> str:
        """Return the sentence."""
        return self.value.format(**facts)

    def found(self, **facts: Any) -> Finding:
        """Return a finding with this cause; equal facts make equal findings."""
        return Finding(self.says(**facts), kind=self.kind, facts=tuple(map(str, facts.values())))


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


def wrong_error(exercise: Exercise, case: Case, answer: Answer) -> Finding:
    """Say that no error was raised, the wrong one, or one without the required numbers."""
    enough = [numbers for numbers in (case.refuses, case.or_naming) if numbers]
    listed_numbers = ", or ".join(listed([str(number) for number in numbers]) for numbers in enough)
    about = {"name": exercise.name, "numbers": listed_numbers}
    if answer.raised(ValueError):
        return Cause.WRONG_ERROR_MESSAGE.found(**about, message=answer.message.rstrip(".") or "nothing")
    about["call"] = describe_call(case)
    if answer.status == "value":
        return Cause.NO_ERROR.found(**about)
    return Cause.WRONG_ERROR.found(**about, error=answer.error)


def always_the_same(exercise: Exercise, calls: int, value: Any) -> Finding:
    """Say that an answer seems to ignore its arguments, or that what it decides never changes."""
    decides = f", and that its condition can be {not value} at all" if isinstance(value, bool) else ""
    return Cause.ALWAYS_THE_SAME.found(name=exercise.name, calls=calls, decides=decides)


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
        if "inplace operation" in answer.gradients:  # torch's words, and a dump of the tensor
            return Cause.BACKWARD_NEEDS_CHANGED.found()
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
