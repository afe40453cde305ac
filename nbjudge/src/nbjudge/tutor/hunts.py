"""Bug hunts: wrong answers that learners find with a call of their own, and then fix.

A hunt is the solution with a few lines changed. An assignment's hunts are in `checks/NOTEBOOK/hunts.toml`, a
table for each exercise::

    [deviation]
    inputs = { sample = "float (n)" }
    require = ["n > 1"]

    [[deviation.hunts]]
    mistake = "divided_by_n"
    old = "(len(sample) - 1)"
    new = "len(sample)"

`inputs` says what the statement allows. Its strings read as the shapes in a docstring: `float`, a dtype's
name, `int 1..8`, `number`, `flag`, `text a b` or `given`, and the axes of an array. The names of axes and
whole numbers stand for one size each, also in `require`, a list of expressions that have to be true. A list
stands for a tuple or list of such values, `|` for a choice. What an argument is by default is allowed.
`make` has the inputs of a class. `given` has the code of what cannot be sent, a function or a layer, by name.
Instead of the name of a `mistake`, a hunt may have the sentence itself, `says`; `met` says where it was met.
A call that tells a hunt apart, and one that does not, are drawn from the inputs; where these say too little,
`calls` lists some, as they are written behind the answer's name.
"""

from __future__ import annotations

import difflib
import io
import keyword
import math
import sys
import tokenize
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from inspect import Parameter, isclass, isfunction, signature, unwrap
from pathlib import Path
from typing import Any

import msgspec

from nbjudge.authoring.cases import Case, Draw
from nbjudge.authoring.exercise import Exercise
from nbjudge.calls import Answer, answers_of, caller_of, calls_for
from nbjudge.errors import CourseError
from nbjudge.judge.compare import is_right, unreadable_part
from nbjudge.judge.describe import short
from nbjudge.judge.drawn_group import DrawnGroup
from nbjudge.judge.scoring import judge_groups
from nbjudge.judge.verdict import Verdict
from nbjudge.probe.respond import drawing_from
from nbjudge.tutor.hunt_calls import GIVEN, HuntCall, call_of, given
from nbjudge.tutor.smallest import LARGEST_SIZE, Difference, with_whole_weights
from nbjudge.values.kinds import KINDS, ArrayKind, kind_of, leaves
from nbjudge.values.packing import MadeInKernel

MOST_LINES = 3  # that a hunt may differ from the solution in
MOST_NUMBERS = 5_000  # of all arrays in a learner's call
LARGEST_EXAMPLE = 24  # numbers of an example that the wrong answer gets right
LARGEST_PLAIN = 4.0  # number of an example that is preferred
MOST_DRAWN = 600
SIZES = (1, 2, 2, 3, 4, 4)  # of what is drawn; those that divide each other are drawn often
SEED = 0  # so that a hunt always has the same example and the same smallest case
RAISED_ON_PURPOSE = ("ValueError", "KeyError")
NOT_THIS_FORM = "`{exercise}` is not called like this: {reason}."
TOO_LARGE = f"A hunt needs no large arrays: keep those of a call below {MOST_NUMBERS:,} numbers together."
NOT_COVERED = "The statement does not cover this call: the right answer stops with {error}."
NOT_ALLOWED = "The statement does not allow this call: `{name}` has to be {wanted}, and here it is {given}."
NOT_REQUIRED = "The statement does not allow this call: it asks for `{condition}`."


class HuntTable(msgspec.Struct, forbid_unknown_fields=True):
    """A hunt as its author writes it."""

    old: str
    new: str
    mistake: str = ""
    says: str = ""
    met: str = ""


class ExerciseTable(msgspec.Struct, forbid_unknown_fields=True):
    """The hunts of an exercise, and what its statement allows."""

    inputs: dict[str, Any]
    hunts: list[HuntTable]
    make: dict[str, Any] = {}
    require: list[str] = []
    given: dict[str, str] = {}
    calls: list[str] = []


class NotAllowedError(Exception):
    """A call that the statement does not allow; the message says why."""


def read_hunts(path: Path) -> dict[str, ExerciseTable]:
    """Read the hunts of an assignment, by exercise; none if there is no such file. Raises CourseError."""
    if not path.is_file():
        return {}
    try:
        return msgspec.convert(tomllib.loads(path.read_text("utf-8")), dict[str, ExerciseTable])
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise CourseError(f"{path} cannot be read ({error}): fix it.") from None


def without_comments(code: str) -> str:
    """Return code without its comments, which say what is right."""
    lines, emptied = code.splitlines(), set[int]()
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip()
            emptied.add(row - 1)
    return "\n".join(line for row, line in enumerate(lines) if line or row not in emptied)


def changed_lines(one: str, other: str) -> int:
    """Count the lines that differ between two versions of some code, without comments and empty lines."""
    steps = _steps(without_comments(one), without_comments(other))
    return sum(max(j - i, n - m) for kind, i, j, m, n in steps if kind != "equal")


def _steps(one: str, other: str) -> Sequence[tuple[str, int, int, int, int]]:
    own, right = ([line.rstrip() for line in code.splitlines() if line.strip()] for code in (one, other))
    return difflib.SequenceMatcher(None, own, right, autojunk=False).get_opcodes()


class SmallDraw:
    """Draws small calls from what a statement allows; some of them it does not allow as a whole."""

    def __init__(self, draw: Draw, table: ExerciseTable) -> None:
        self._draw, self._table = draw, table
        self._sizes = dict[str, Any]()

    def call(self, reference: Callable[..., Any]) -> HuntCall:
        """Return a call of a function, or of an object of a class."""
        self._sizes = {}
        if not isclass(reference):
            return HuntCall(*self._arguments(reference, self._table.inputs))
        make = self._arguments(reference, self._table.make)
        called = getattr(reference, "forward", None) or reference.__call__
        return HuntCall(*self._arguments(called, self._table.inputs), make)

    def _arguments(
        self, function: Callable[..., Any], inputs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        parameters = signature(function).parameters
        needed = [
            name for name in inputs if parameters[name].default is Parameter.empty or self._draw.integer(0, 1)
        ]
        drawn = {}
        # Numbers first, as where they are matched.
        for name in sorted(needed, key=lambda name: not str(inputs[name]).startswith("int ")):
            drawn[name] = self._sizes[name] = self._value(inputs[name])
        given = [name for name in parameters if name in drawn]
        named = [name for name in given if parameters[name].default is not Parameter.empty]
        return [drawn[name] for name in given if name not in named], {name: drawn[name] for name in named}

    def _value(self, wanted: Any) -> Any:
        if isinstance(wanted, list):
            return tuple(map(self._value, wanted))
        draw = self._draw
        word, _, rest = draw.shuffled(str(wanted).split(" | "))[0].partition(" ")
        if word in ("int", "number"):
            low, high = (float(end) for end in rest.split(".."))
            value = min(max(low, draw.shuffled(SIZES)[0] - draw.integer(0, 1) * (low < 1)), high)
            return int(value) if word == "int" else value
        if word == "flag":
            return bool(draw.integer(0, 1))
        if word in ("text", "given"):
            return draw.shuffled(rest.split() if word == "text" else map(given, self._table.given))[0]
        shape = self._shape(rest.strip("()").split(", "))
        if word == "bool":
            return draw.integers(0, 2, *shape) > 0
        if word != "float":
            return draw.integers(0, LARGEST_SIZE, *shape)
        # Whole numbers, now and then large ones, and now and then in double precision.
        numbers = draw.integers(-3, 3, *shape) * (1.0 if draw.integer(0, 3) else 100.0)
        return numbers.double() if hasattr(numbers, "double") and not draw.integer(0, 15) else numbers

    def _shape(self, names: list[str]) -> list[int]:
        shape, sizes = list[int](), self._sizes
        for name in filter(None, names):
            if name == "...":
                leading = [self._draw.integer(1, 2) for _ in range(self._draw.integer(0, 2))]
                shape += sizes.setdefault(name, leading)
            elif name.isidentifier():
                shape.append(sizes.setdefault(name, self._draw.shuffled(SIZES)[0]))
            else:
                shape.append(eval(name, {"__builtins__": {}}, sizes))
        return shape


_drawn = dict[int, tuple[ExerciseTable, Sequence[HuntCall]]]()  # by the id of the table, which is kept


def drawn_calls(
    exercise: Exercise, reference: Callable[..., Any], table: ExerciseTable
) -> Sequence[HuntCall]:
    """Draw small calls of an exercise, the smaller before the larger; the same ones for all of its hunts."""
    if id(table) not in _drawn:
        draw = SmallDraw(exercise.draw(SEED), table)
        calls = [draw.call(reference) for _ in range(MOST_DRAWN)]
        _drawn[id(table)] = table, sorted(calls, key=lambda call: (_count(call), _largest(call)))
    return _drawn[id(table)][1]


class Hunt:
    """One wrong answer to an exercise. What takes long is computed when it is first asked for.

    Raises CourseError if its author's change does not fit the solution.
    """

    def __init__(
        self,
        exercise: Exercise,
        reference: Callable[..., Any],
        solution: str,
        table: ExerciseTable,
        hunt: HuntTable,
        draw: Callable[[], Sequence[DrawnGroup]],
    ) -> None:
        self.exercise, self.reference, self.table, self._hunt = exercise, reference, table, hunt
        self._draw, self._right = draw, without_comments(solution)
        count = self._right.count(hunt.old)
        if count != 1:
            raise CourseError(
                f"A hunt of `{exercise.name}` changes {hunt.old!r}, which the solution without its comments "
                f"has {count} times: write as much of it as it has once."
            )
        self.code = self._right.replace(hunt.old, hunt.new)
        self.id = sha256(self.code.encode()).hexdigest()[:8]  # by which a learner's record knows it
        self.lines, self.met = changed_lines(self.code, self._right), hunt.met

    @property
    def says(self) -> str:
        """The sentence of the mistake."""
        known = {mistake.name: mistake.message for mistake in self.exercise.mistakes}
        if not self._hunt.says and self._hunt.mistake not in known:
            raise CourseError(
                f"A hunt of `{self.exercise.name}` is the mistake {self._hunt.mistake!r}, which its checks "
                "do not have: fix the name, or write its sentence, `says`."
            )
        return self._hunt.says or known[self._hunt.mistake]

    @property
    def is_class(self) -> bool:
        return isclass(self.reference)

    @cached_property
    def _names(self) -> dict[str, Any]:
        """The names that the solution finds, and the libraries that notebooks import."""
        known = {name: module for kind in KINDS for name, module in kind.names.items()} | {"math": "math"}
        libraries = {name: sys.modules[path] for name, path in known.items() if path in sys.modules}
        found: Any = self.reference
        if isclass(found):
            found = next(each for each in vars(found).values() if isfunction(each))
        return libraries | unwrap(found).__globals__

    @cached_property
    def function(self) -> Callable[..., Any]:
        """The wrong answer, in the place of the solution."""
        names = dict(self._names)
        exec(compile(self.code, "<hunt>", "exec", dont_inherit=True), names)
        function: Callable[..., Any] = names[self.exercise.name]
        return function

    @cached_property
    def verdict(self) -> Verdict:
        """The judge's verdict on it."""
        return judge_groups(self.exercise, self._draw(), caller_of(self.function), SEED).verdict

    @cached_property
    def smallest(self) -> Difference | None:
        """The smallest case, of those that are tried, that tells it from the right answer."""
        return next(filter(None, map(self._tried_call, self._calls)), None)

    @cached_property
    def example(self) -> Case | None:
        """A case that the wrong answer gets right: of those with few numbers, one with the most."""
        few = [call for call in self._calls if self.table.calls or _count(call) <= LARGEST_EXAMPLE]
        few.reverse()
        few.sort(key=lambda call: _largest(call) > LARGEST_PLAIN)
        for call in few:
            with suppress(NotAllowedError):
                case = self.case(call)
                if self.expected(case).status == "value" and self.tried(case) is None:
                    return case
        return None

    @cached_property
    def _calls(self) -> Sequence[HuntCall]:
        """Small calls, of which the statement allows most, the smaller before the larger."""
        if not self.table.calls:
            return drawn_calls(self.exercise, self.reference, self.table)
        names = self._names | {name: given(name) for name in self.table.given}
        names["call"] = lambda *args, **kwargs: call_of(self.is_class, lambda call: call, list(args), kwargs)
        return [eval(f"call{call}", names) for call in self.table.calls]

    def _tried_call(self, call: HuntCall) -> Difference | None:
        try:
            return self.tried(self.case(call))
        except NotAllowedError:
            return None

    def expected(self, case: Case) -> Answer:
        """Return what the right answer gives."""
        with drawing_from(SEED):
            (expected,) = answers_of(self.reference, calls_for([case], [None]))
        return expected

    def case(self, call: HuntCall) -> Case:
        """Return a call as a case. Raises NotAllowedError where the statement does not allow it."""
        arguments = [call.args, call.kwargs, call.make]
        if (part := unreadable_part(arguments)) is not None:
            raise NotAllowedError(self._not_this_form(f"an argument is {short(part)}"))
        arrays = (leaf for _, leaf in leaves(arguments) if isinstance(kind_of(leaf), ArrayKind))
        if sum(math.prod(array.shape) for array in arrays) > MOST_NUMBERS:
            raise NotAllowedError(TOO_LARGE)
        case = Case(tuple(self._with_given(call.args)), self._with_given(call.kwargs))
        if call.make is not None:
            args, kwargs = self._with_given(call.make)
            builds = (case.build for group in self._draw() for case in group.cases)
            look = ("parameters",) if call.is_made_only else (call.method or "result",)
            build: Any = next(filter(None, builds))
            build = replace(build, args=tuple(args), kwargs=kwargs, look=look)
            case = replace(case, build=replace(build, state=None) if hasattr(build, "state") else build)
        self.refuse(case)  # before anything of these sizes is made
        return case if call.make is None or call.is_made_only else with_whole_weights(self.reference, case)

    def _with_given(self, value: Any) -> Any:
        if isinstance(value, dict) and value.keys() == {GIVEN}:
            name = value[GIVEN]
            if name not in self.table.given:
                raise NotAllowedError(self._not_this_form(f"nothing called {name} is given"))
            return MadeInKernel(f"{self.table.given[name]}\nmade = {name}\n")
        if isinstance(value, (list, tuple)):
            return type(value)(map(self._with_given, value))
        if isinstance(value, dict):
            return {key: self._with_given(entry) for key, entry in value.items()}
        return value

    def refuse(self, case: Case) -> None:
        """Raise NotAllowedError if the statement does not allow a case."""
        sizes = dict[str, Any]()
        if case.build is not None:
            self._match(self.reference, case.build.args, case.build.kwargs, self.table.make, sizes)
        if case.build is None or case.build.look != ("parameters",):
            self._match(self._called(case), case.args, case.kwargs, self.table.inputs, sizes)
        for condition in self.table.require:
            with suppress(NameError):  # of an argument that is not given
                if not eval(condition, dict(self._names), sizes):
                    raise NotAllowedError(NOT_REQUIRED.format(condition=condition))

    def _called(self, case: Case) -> Callable[..., Any]:
        """Return what gets the arguments of a case: the answer, or a method of its objects."""
        if case.build is None:
            return self.reference
        names = (case.build.look[0], "forward", "__call__")
        name = next((name for name in names if isfunction(getattr(self.reference, name, None))), "")
        if not name or (case.build.look[0] != "result" and name != case.build.look[0]):
            raise NotAllowedError(self._not_this_form(f"its objects have no {case.build.look[0]}"))
        bound: Callable[..., Any] = getattr(self.reference, name).__get__(object())
        return bound

    def _match(
        self,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        inputs: Mapping[str, Any],
        sizes: dict[str, Any],
    ) -> None:
        form = signature(function)
        try:
            bound = form.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise NotAllowedError(self._not_this_form(str(error))) from None
        for name, parameter in form.parameters.items():
            if name not in bound and parameter.default is not Parameter.empty:
                sizes[name] = parameter.default
        # Numbers first: the axes of arrays may refer to them.
        for name, value in sorted(bound.items(), key=lambda each: type(each[1]) is not int):
            wanted, sizes[name] = inputs.get(name, ""), value
            is_default = value is form.parameters[name].default
            if not is_default and not _fits(value, wanted, sizes):
                words = NOT_ALLOWED.format(name=name, wanted=_words(wanted), given=_given_words(value))
                raise NotAllowedError(words)

    def _not_this_form(self, reason: str) -> str:
        return NOT_THIS_FORM.format(exercise=self.exercise.name, reason=reason)

    def tried(self, case: Case) -> Difference | None:
        """Return how the wrong answer differs from the right one in an allowed case; None where they agree.

        Raises NotAllowedError if the right one stops with an error that is not raised on purpose.
        """
        expected = self.expected(case)
        with drawing_from(SEED):
            (answer,) = answers_of(self.function, calls_for([case], [None]))
        if expected.status == "raised" and expected.error not in RAISED_ON_PURPOSE:
            raise NotAllowedError(NOT_COVERED.format(error=f"{expected.error}: {expected.message}"[:300]))
        answer = answer.without_allowed_changes(expected)
        if expected.status == "raised":
            is_same = answer.status == "raised" and answer.error == expected.error
        else:
            is_same = is_right(self.exercise, case, answer, expected)
        return None if is_same else Difference(case, answer, expected)

    def hint(self, place: int) -> str:
        """Return the hint at this place, one of three: the groups of cases, a few lines, the line."""
        own = [line for line in self.code.splitlines() if line.strip()]
        changed = next(i for kind, i, *_ in _steps(self.code, self._right) if kind != "equal")
        line = min(changed, len(own) - 1)
        groups = ", ".join(f"“{group.name}”" for group in self.verdict.groups if not group.is_earned)
        return (
            f"Of the tutor's groups of cases it fails: {groups}.",
            f"Look at the lines from `{own[max(line - 1, 0)].strip()}` to "
            f"`{own[min(line + 1, len(own) - 1)].strip()}`.",
            f"It is this line, or one is missing above it: `{own[line].strip()}`.",
        )[place]


HINTS = 3


def _count(call: HuntCall) -> int:
    """Return how many numbers a call hands over, whole numbers counted as themselves."""
    parts = (leaf for _, leaf in leaves([call.args, call.kwargs, call.make]))
    return sum(
        math.prod(leaf.shape) if isinstance(kind_of(leaf), ArrayKind) else leaf if type(leaf) is int else 0
        for leaf in parts
    )


def _largest(call: HuntCall) -> float:
    """Return the largest absolute number in the arrays of a call."""
    parts = [(kind_of(leaf), leaf) for _, leaf in leaves([call.args, call.kwargs])]
    arrays = [kind.as_numbers(leaf) for kind, leaf in parts if isinstance(kind, ArrayKind)]
    return max((float(abs(array.astype(float)).max(initial=0)) for array in arrays), default=0.0)


def _fits(value: Any, wanted: Any, sizes: dict[str, Any]) -> bool:
    """Return whether a value is what the statement allows, and note the sizes that it has names for."""
    if isinstance(wanted, list):
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(wanted)
            and all(_fits(*pair, sizes) for pair in zip(value, wanted, strict=True))
        )
    for alternative in str(wanted).split(" | "):
        trial = dict(sizes)
        if _fits_one(value, alternative, trial):
            sizes.update(trial)
            return True
    return False


def _fits_one(value: Any, wanted: str, sizes: dict[str, Any]) -> bool:
    word, _, rest = wanted.partition(" ")
    if word == "int":
        low, _, high = rest.partition("..")
        return type(value) is int and int(low) <= value <= int(high)
    if word == "number":
        low, _, high = rest.partition("..")
        return type(value) in (int, float) and float(low) <= value <= float(high)
    if word == "flag":
        return type(value) is bool
    if word == "text":
        return isinstance(value, str) and value in rest.split()
    if word == "given":
        return isinstance(value, MadeInKernel)
    kind = kind_of(value)
    if not isinstance(kind, ArrayKind):
        return False
    if not (kind.dtype(value) in ("float32", "float64") if word == "float" else kind.dtype(value) == word):
        return False
    return _is_finite(kind, value) and _has_axes(list(value.shape), rest.strip("()").split(", "), sizes)


def _has_axes(shape: list[int], names: list[str], sizes: dict[str, Any]) -> bool:
    if names[0] == "...":
        names = names[1:]
        leading = shape[: max(0, len(shape) - len(names))]
        if sizes.setdefault("...", leading) != leading:
            return False
        shape = shape[len(leading) :]
    names = [name for name in names if name]
    if len(shape) != len(names) or 0 in shape:
        return False
    for size, name in zip(shape, names, strict=True):
        if name.isidentifier() and not keyword.iskeyword(name):
            if sizes.setdefault(name, size) != size:
                return False
        elif eval(name, {"__builtins__": {}}, sizes) != size:  # a number, or made of sizes: D // 2
            return False
    return True


def _words(wanted: Any) -> str:
    if isinstance(wanted, list):
        return f"a tuple of {', '.join(map(_words, wanted))}"
    return " or ".join(f"`{each}`" for each in str(wanted).split(" | ")) or "left out"


def _given_words(value: Any) -> str:
    kind = kind_of(value)
    if isinstance(kind, ArrayKind) and not _is_finite(kind, value):
        return f"{short(value)} with NaN or an infinite number"
    return "a tuple or list" if isinstance(value, (list, tuple)) else short(value)


def _is_finite(kind: ArrayKind, value: Any) -> bool:
    return not kind.is_floating(value) or math.isfinite(abs(kind.as_numbers(value)).max(initial=0))
