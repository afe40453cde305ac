"""What a tutor replies in a bug hunt: an example, what came of a learner's call, hints, the last word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbjudge.authoring.cases import Case
from nbjudge.errors import CourseError
from nbjudge.tutor.help import both_outputs, outputs, written
from nbjudge.tutor.hunt_calls import HuntCall
from nbjudge.tutor.hunts import HINTS, Hunt, NotAllowedError, changed_lines
from nbjudge.tutor.messages import CheckResult, HuntFixed, HuntTried, Part
from nbjudge.tutor.smallest import Difference, count_numbers
from nbjudge.values import packing
from nbjudge.values.kinds import ArrayKind, kind_of
from nbjudge.values.packing import MadeInKernel

SAME = "No difference here. Both give:"
FOUND = "You found it: the statement allows this call, and the two answers differ."
FOUND_TITLE = "Your call"
SMALLEST_TITLE = "The smallest call the tutor knows"
EXAMPLE_TITLE = "It is right here, for example"
NO_MORE = "There is no further hint. `bug.give_up()` shows a call that tells it apart, and the mistake."
NOT_READ = "The tutor cannot read this call: give it numbers, tensors, arrays, lists or tuples."
KNOWN = "The fix differs in {own} from what you were given; the smallest known fix in {known}."
LONGEST_TEXT = 2**22  # characters of a packed call, or of a fix


def shown(hunt: Hunt) -> list[Part]:
    """Return an example that the wrong answer gets right, and the code of what can be handed in by name."""
    parts = [Part("code", f"# bug.given.{name}\n{code.strip()}") for name, code in hunt.table.given.items()]
    if (case := hunt.example) is not None:
        lines = [*_as_code(hunt, case), "", *_right(hunt, case)]
        parts.append(Part("code", "\n".join(lines), EXAMPLE_TITLE))
    return parts


def _as_code(hunt: Hunt, case: Case) -> list[str]:
    """Return a case as the call that a learner would write, with the weights of its object."""

    def bracket(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        named = (f"{name}={code(value)}" for name, value in kwargs.items())
        return f"({', '.join([*map(code, args), *named])})"

    def code(value: Any) -> str:
        kind = kind_of(value)
        if isinstance(value, MadeInKernel):
            return f"bug.given.{value.code.split()[-1]}"
        if isinstance(value, (list, tuple)):
            return f"({', '.join(map(code, value))},)"
        if not isinstance(kind, ArrayKind):
            return repr(value)
        maker = "np.array" if kind.library == "numpy" else f"{kind.library}.tensor"
        dtype = kind.dtype(value)
        is_usual = kind.library == "numpy" or dtype in ("float32", "int64", "bool")
        typed = "" if is_usual else f", dtype={kind.library}.{dtype}"
        return f"{maker}({kind.as_numbers(value).tolist()}{typed})"

    build, call = case.build, bracket(case.args, case.kwargs)
    if build is None:
        return [f"bug{call}"]
    look = build.look[0]
    rest = "" if look == "parameters" else call if look == "result" else f".{look}{call}"
    state = getattr(build, "state", None) or {}
    weights = [f"# {name} = {written(value)}" for name, value in state.items()]
    return [f"bug{bracket(build.args, build.kwargs)}{rest}", *weights]


def _right(hunt: Hunt, case: Case) -> list[str]:
    return outputs(hunt.exercise, hunt.expected(case))


def tried(hunt: Hunt, text: bytes | None) -> HuntTried:
    """Make a learner's call of the wrong and the right answer, and return what came of it."""
    try:
        content = packing.unpack(text or b"")
        call = HuntCall(**content)
    except Exception:  # whatever a kernel can send
        return HuntTried(is_allowed=False, is_found=False, parts=[Part("text", NOT_READ)])
    try:
        case = hunt.case(call)
        difference = hunt.tried(case)
    except NotAllowedError as error:
        return HuntTried(is_allowed=False, is_found=False, parts=[Part("text", str(error))])
    if difference is None:
        parts = [Part("text", SAME), Part("code", "\n".join(_right(hunt, case)))]
        return HuntTried(is_allowed=True, is_found=False, parts=parts)
    parts = [Part("text", FOUND), *_shown_case(hunt, difference, FOUND_TITLE)]
    smallest = hunt.smallest
    if smallest is not None and count_numbers(smallest.case) < count_numbers(case):
        parts += _shown_case(hunt, smallest, SMALLEST_TITLE)
    return HuntTried(is_allowed=True, is_found=True, parts=parts)


def _shown_case(hunt: Hunt, difference: Difference, title: str) -> list[Part]:
    lines = [*_as_code(hunt, difference.case), "", *both_outputs(hunt.exercise, difference, "this code")]
    return [Part("code", "\n".join(lines), title)]


def hint(hunt: Hunt, given: int) -> list[Part]:
    """Return the next hint."""
    return [Part("text", hunt.hint(given) if given < HINTS else NO_MORE)]


def last_word(hunt: Hunt) -> list[Part]:
    """Return the smallest case, the mistake's sentence, and where it was met."""
    parts = [] if hunt.smallest is None else _shown_case(hunt, hunt.smallest, SMALLEST_TITLE)
    return [*parts, *mistake(hunt)]


def mistake(hunt: Hunt) -> list[Part]:
    """Return the sentence of the mistake, and where it was met."""
    return [Part("text", f"{hunt.says} {hunt.met}".strip(), "The mistake")]


def fixed(hunt: Hunt, code: str, result: CheckResult) -> HuntFixed:
    """Return the result of a fix; the mistake and the size of the smallest fix only if all is right."""
    parts = list[Part]()
    if result.points == result.max_points:
        own, known = (_lines(count) for count in (changed_lines(hunt.code, code), hunt.lines))
        parts = [Part("text", KNOWN.format(own=own, known=known)), *mistake(hunt)]
    return HuntFixed(id=hunt.id, result=result, parts=parts)


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines"


def choose(hunts: list[Hunt], name: str, number: int, fixed: list[str]) -> tuple[int, Hunt]:
    """Return a hunt and its number: the one asked for, or the first that is not fixed.

    Raises CourseError if there is none of this number.
    """
    if not hunts:
        raise CourseError(f"`{name}` has no hunts: `hunts()` lists those that there are.")
    if number > len(hunts):
        raise CourseError(f"`{name}` has the hunts 1 to {len(hunts)}, and none of number {number}.")
    open_ones = (place for place, hunt in enumerate(hunts, 1) if hunt.id not in fixed)
    number = number or next(open_ones, 1)
    return number, hunts[number - 1]
