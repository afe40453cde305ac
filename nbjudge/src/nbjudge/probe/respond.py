"""What runs in the student's kernel: it takes inputs, calls the answer and sends back raw results.

It also sends back which arguments the answer changed. The text of this file and of its parts (see
`nbjudge.kernel.protocol`) is sent with the first request, so nothing of the course is needed beside the
kernel. It knows no reference, compares no result and decides nothing: students who tamper with it only spoil
their own answers. The grader's process uses the same functions to run references and mistakes on the same
inputs.

Names and random state are set for the calls, and restored after them. Given cells and tests assign names,
too: `total`, `rows`, `result`. If a student calls a helper of theirs by such a name, the answer is called
with their helper in its place. A name that only the assignment's own cells bind has the value that they gave
it last, as it has for the reference. Random numbers are the same whenever the same calls are made: a module
that draws its own weights gets the same ones as others made like it, and a cell after a check draws what it
would have drawn without.
"""

from __future__ import annotations

import difflib
import itertools
import linecache
import os
import random
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from nbjudge.probe.watching import ANOTHER_THREAD, OtherThreads, Recording, WatchedCalls
from nbjudge.values.kinds import KINDS, LONGEST_LIST, kind_of, owned_values, type_names
from nbjudge.values.packing import DEEPEST_NEST, copy_value, copy_within_graph, make, pack, unpack

# What is looked at without calling a method: what a call returns, and how the object is made.
RESULTS = ("result", "result again")
SIDES = (*RESULTS, "parameters", "buffers", "buffer values", "state", "attributes")
MOST_NAMES = 4  # of parameters, in a message


class WrongParametersError(Exception):
    """The module's parameters do not fit the weights that the judge sent."""

    def __init__(self, own: dict[str, Any], sent: dict[str, Any]) -> None:
        missing = [name for name in sent if name not in own]
        extra = [name for name in own if name not in sent]
        shapes = [
            f"{name} {own[name]} instead of {sent[name]}"
            for name in sent
            if own.get(name, sent[name]) != sent[name]
        ]
        shown = []
        for what, names in (("missing", missing), ("too many", extra), ("of another shape", shapes)):
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            shown += [f"{what}: {', '.join(names[:MOST_NAMES])}{more}"] if names else []
        super().__init__("; ".join(shown))


class Builder:
    """Plain objects. Another library's (torch's modules) have a builder of their own."""

    def make(self, answer: Callable[..., Any], build: dict[str, Any], args: Any, kwargs: Any) -> Any:
        """The object, as `nbjudge.authoring.build` describes it."""
        return answer(*args, **kwargs)

    def modes(self, build: dict[str, Any]) -> list[dict[str, Any]]:
        """Return how else to make the object for the same results: once more in each mode that it has."""
        return [build]

    def call_before(self, instance: Any, build: dict[str, Any], args: Any, kwargs: Any) -> None:
        """A call whose result is not used: what an object keeps of it shows in the next one."""
        instance(*args, **kwargs)

    def parameters(self, instance: Any) -> dict[str, Any]:
        """Of the object, what gradients are asked for beside those of the arguments."""
        return {}

    def side(self, instance: Any, name: str) -> Any:
        """Return how the object is made: one of `SIDES` that is no result."""
        if name == "attributes":
            return {key: type(value).__name__ for key, value in sorted(vars(instance).items())}
        raise ValueError(f"a {type(instance).__name__} has no {name}")


# By the name that `Build.builder` holds.
BUILDERS: dict[str, Builder] = {"object": Builder()}


LONGEST_MESSAGE = 500  # characters
LIKENESS = 0.8  # of 1, from which on a name may be meant for another one
NOT_ANSWERED = "the request could not be answered"


class Printed:
    """Packed text that IPython shows between quotes, without looking for line ends and escapes in it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return f"'{self._text}'"

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        return {"text/plain": repr(self)}


def respond(text: str, namespace: dict[str, Any]) -> str:
    """Answer one packed request against the student's namespace; return the packed answers.

    Raises a short RuntimeError for whatever is raised outside of a call: the student's own exception may
    have a message of any length, and the kernel would format it and send it twice.
    """
    try:
        return _respond(text, namespace)
    except BaseException:
        raise RuntimeError(NOT_ANSWERED) from None


def _respond(text: str, namespace: dict[str, Any]) -> str:
    now = namespace.copy()
    with as_remembered(namespace), drawing_from(zlib.crc32(text.encode())):
        request = unpack(text, with_code=True)
        name, calls, watched_calls = request["target"], request["calls"], request["watched_calls"]
        reads_variable = any(call.get("reads_variable") for call in calls)
        function = reader_of(now, name) if reads_variable else namespace.get(name)
        if not callable(function):
            return pack([_missing(name, namespace)] * len(calls))
        with Recording(watched_calls) as recording:
            answers = _answers(function, calls, recording)
            switched = [call for kind in KINDS for call in kind.switched()]
            for answer in answers if switched else ():
                answer["switched"] = switched
            packed = pack(answers)
            ran_while_packing = recording.taken()  # while it was packed
        for answer in answers if ran_while_packing else ():
            answer["ran"] = sorted({*answer.get("ran", ()), *ran_while_packing})
        return pack(answers) if ran_while_packing else packed


def _missing(name: str, namespace: dict[str, Any]) -> dict[str, Any]:
    """Say what is there in place of an answer: something else of its name, or a name like it."""
    if name in namespace:
        return {"status": "missing", "holds": type_names(namespace[name])}
    callables = [each for each, value in namespace.items() if callable(value) and not each.startswith("_")]
    near = difflib.get_close_matches(name, callables, 1, LIKENESS)
    return {"status": "missing", "near": near[0] if near else ""}


def reader_of(namespace: dict[str, Any], name: str) -> Callable[[], Any] | None:
    """Return a function that returns what a variable holds now; None if there is no such name."""
    if name not in namespace:
        return None
    value = namespace[name]
    return lambda: value


def answer_calls(
    function: Any, calls: Sequence[Mapping[str, Any]], watched_calls: WatchedCalls | None = None
) -> list[dict[str, Any]]:
    """Call `function` once per call: a dict per call says what came of it, and which watched calls ran."""
    with Recording(watched_calls or {}) as recording:
        return _answers(function, calls, recording)


def _answers(function: Any, calls: Sequence[Mapping[str, Any]], recording: Recording) -> list[dict[str, Any]]:
    if not callable(function):
        return [{"status": "missing"} for _ in calls]
    answers: list[dict[str, Any]] = []
    for call in calls:
        answers.append(_answer(function, call, recording))
        answers[-1]["ran"] = sorted({*answers[-1].get("ran", ()), *recording.taken()})
        if answers[-1].get("error") == "KeyboardInterrupt":
            break  # the judge has lost patience
    return answers


def _answer(function: Callable[..., Any], call: Mapping[str, Any], recording: Recording) -> dict[str, Any]:
    cotangents, build = call["cotangents"], call.get("build")
    sent = {"args": call["args"], "kwargs": call["kwargs"]}
    taken, handed = dict(sent), list[CallArguments]()  # until they are made
    answer: dict[str, Any] = {"status": "value"}
    try:
        with recording.aside():
            if cotangents is not None:
                taken = copy_value(sent, True)
            looks = ["result"] if build is None else build["look"]
            for _ in (name for name in looks if name in RESULTS or name not in SIDES):  # one for each call
                handed.append(
                    CallArguments(copy_value(sent) if cotangents is None else copy_within_graph(taken), sent)
                )
            if call.get("through") is not None:
                function = make(call["through"])(function)
            measure = None if call.get("measure") is None else make(call["measure"])
        # To measure may take a second call, which must not meet what the first one has changed.
        further = (copy_value(sent) for _ in itertools.count())
        arguments = itertools.chain([each.handed for each in handed], further)
        value_of_call = partial(_call, function, call, taken, arguments)
        if measure is None:
            value = value_of_call()
        else:
            with OtherThreads() as threads:
                value, answer["measured"] = measure(value_of_call)
            answer["ran"] = [ANOTHER_THREAD] if threads.took_part else []
        # What comes later, in a hook, a thread or another call, is no answer any more.
        answer["value"] = _snapshot(value)
        if cotangents is not None:
            answer["gradients"] = _gradients(value, cotangents, taken)
    except BaseException as error:
        answer = {"status": "raised", **describe_error(error)}
    answer["changed"] = list(dict.fromkeys(place for each in handed for place in each.changed()))
    return answer


def _call(
    function: Callable[..., Any], call: Mapping[str, Any], taken: dict[str, Any], arguments: Iterator[Any]
) -> Any:
    """The value of one call; where the answer is a class, of an object that is made for it."""
    build = call.get("build")
    if build is None:
        given = next(arguments)
        return function(*given["args"], **given["kwargs"])
    builder = BUILDERS[build["builder"]]
    instance = builder.make(function, build, copy_value(build["args"]), copy_value(build["kwargs"]))
    for earlier in call.get("before", ()):
        builder.call_before(instance, build, copy_value(earlier["args"]), copy_value(earlier["kwargs"]))
    taken["parameters"] = builder.parameters(instance)
    return _read_object(instance, builder, build["look"], arguments)


def _read_object(instance: Any, builder: Builder, sides: list[str], handed: Iterator[dict[str, Any]]) -> Any:
    """Return what the judge wants to see: one result, or a dict of whatever else it asked for.

    `handed` holds arguments for each call: what one call changes must not reach the next one.
    """
    seen: dict[str, Any] = {}
    # A call may change what is seen of the object: results come first, in this order.
    for name in sorted(sides, key=lambda name: (*SIDES, name).index(name)):
        if name in SIDES and name not in RESULTS:
            seen[name] = builder.side(instance, name)
        else:
            arguments, called = next(handed), instance if name in RESULTS else getattr(instance, name)
            seen[name] = called(*arguments["args"], **arguments["kwargs"])
    return seen["result"] if sides == ["result"] else seen


def _gradients(value: Any, cotangents: list[Any], taken: dict[str, Any]) -> dict[str, Any] | str:
    """The gradient of sum(output * cotangent) for each argument that has one, None where none flows."""
    for kind in KINDS:
        if kind.differentiates:
            inputs = [(name, each) for name, each in owned_values(taken) if kind.owns(each)]
            outputs = [each for _, each in owned_values(value) if kind.owns(each)]
            try:
                return kind.gradients(outputs, cotangents, inputs)
            except KeyboardInterrupt:  # the backward pass took too long
                raise
            except BaseException as error:
                return describe_error(error)["message"]
    return {}


def describe_error(error: BaseException) -> dict[str, str]:
    """Class, message and the student's own line of an exception, whatever its class does when it is read."""
    try:
        return {
            "error": type(error).__name__[:100],
            "message": _message(error),
            "line": _line(error)[:200],
        }
    except KeyboardInterrupt:  # the grader has stopped the call
        return {"error": "KeyboardInterrupt", "message": "", "line": ""}
    except BaseException:
        return {"error": "Exception", "message": "", "line": ""}


def _message(error: BaseException) -> str:
    try:
        # The text may be of a class of the student's, which would compute when it is cut.
        return str.__getitem__(str(error), slice(LONGEST_MESSAGE))
    except KeyboardInterrupt:
        raise
    except BaseException:
        return ""


def _line(error: BaseException) -> str:
    """The innermost line of code that a student wrote."""
    line, trace = "", error.__traceback__
    files = filter(None, (getattr(kind.imported(), "__file__", None) for kind in KINDS))
    libraries = (os.path.dirname(os.__file__), "<nbjudge>", *map(os.path.dirname, files))
    while trace is not None:
        filename, module = trace.tb_frame.f_code.co_filename, trace.tb_frame.f_globals.get("__name__")
        is_ours = type(module) is str and module.startswith("nbjudge.")  # called in its own process
        if not filename.startswith(libraries) and not is_ours:
            line = linecache.getline(filename, trace.tb_lineno).strip() or line
        trace = trace.tb_next
    return line


def _snapshot(value: Any, depth: int = 0) -> Any:
    """The value as it is now, and of plain types: others may compute when they are read.

    What is too large or too deep to be sent need not be copied.
    """
    kind = kind_of(value)
    if kind is not None:
        return kind.snapshot(value)
    if isinstance(value, dict) and depth <= DEEPEST_NEST:
        return {key: _snapshot(entry, depth + 1) for key, entry in value.items()}
    if isinstance(value, (list, tuple)) and len(value) <= LONGEST_LIST and depth <= DEEPEST_NEST:
        entries = [_snapshot(entry, depth + 1) for entry in value]
        return tuple(entries) if isinstance(value, tuple) else entries
    if isinstance(value, set):
        return set(value)
    if isinstance(value, (float, str)):
        return float(value) if isinstance(value, float) else str(value)
    return value


MOST_PARTS = 3_000  # of everything that is handed over: a model has some hundred
DEEPEST_PART = 12
# What the user of an object may change about it, and what a check asks for by itself.
NOT_COMPARED = frozenset({"training"})
UNCHANGEABLE = (bool, int, float, complex, str, bytes, type(None))


class CallArguments:
    """The arguments of one call, `handed`: a copy of what the judge `sent`, for this call alone.

    Places are paths like "/args/0/2"; those of an object's own parts have dots: "/args/0._buffers.mean".
    """

    def __init__(self, handed: dict[str, Any], sent: dict[str, Any]) -> None:
        self.handed = handed
        self._sent = sent
        self._before = _parts(handed)

    def changed(self) -> list[str]:
        """The places that hold something else now, without those within one that is named already."""
        arrays = dict(owned_values(self.handed))
        changed = [place for place, sent in owned_values(self._sent) if not _is_same(sent, arrays.get(place))]
        after, places = _parts(self.handed), list[str]()
        for place, part in self._before.items():
            if not _is_same(part, after.get(place)) and not place.startswith(tuple(places)):
                places.append(place)
        return changed + places


def _parts(handed: Any) -> dict[str, Any]:
    """Place -> what can be compared there, in the order in which it is come across."""
    parts: dict[str, Any] = {}
    seen: set[int] = set()
    waiting: list[tuple[str, Any, int]] = [("", handed, 0)]
    while waiting and len(parts) < MOST_PARTS:
        place, value, depth = waiting.pop()
        inside: list[tuple[str, Any]] = []
        kind = kind_of(value)
        if kind is not None:
            if "." in place:  # those outside of objects are compared with what was sent
                parts[place] = kind.snapshot(value)
                inside = [(f"{place}.{name}", each) for name, each in kind.companions(value).items()]
        elif isinstance(value, UNCHANGEABLE):
            parts[place] = value
        elif id(value) not in seen and depth < DEEPEST_PART:
            seen.add(id(value))
            is_plain = isinstance(value, (list, tuple, dict, Mapping))
            parts[place if is_plain else f"{place}."], inside = _container(place, value)
        waiting += [(where, each, depth + 1) for where, each in reversed(inside)]
    return parts


def _container(place: str, value: Any) -> tuple[Any, list[tuple[str, Any]]]:
    """Return what shows that a container holds other things than before, and what it holds."""
    separator = "." if "." in place else "/"
    if isinstance(value, (list, tuple)):
        return len(value), [(f"{place}{separator}{index}", each) for index, each in enumerate(value)]
    if isinstance(value, (dict, Mapping)):  # whether it is a Mapping takes long to say
        names = [key if isinstance(key, str) else str(index) for index, key in enumerate(value)]
        return names, [
            (f"{place}{separator}{name}", each) for name, each in zip(names, value.values(), strict=True)
        ]
    if isinstance(value, set):
        return set(value), []
    if isinstance(value, (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)):
        return None, []
    attributes = vars(value) if hasattr(value, "__dict__") else {}
    names = [name for name in attributes if name not in NOT_COMPARED]
    return sorted(names), [(f"{place}.{name}", attributes[name]) for name in names]


def _is_same(part: Any, other: Any) -> bool:
    kind = kind_of(part)
    if kind is not None:
        return kind.identical(part, other)
    return type(part) is type(other) and bool(part == other or (part != part and other != other))


# Kept on the module `sys`, where no cell of a notebook comes across it: the names that the student bound
# last, and all names as the last cell left them.
REMEMBERED = "nbjudge_names"
_NOTE = (
    "(lambda sys: (lambda old, now: sys.__setattr__('nbjudge_names', ({own}, now)))"
    "(sys.__dict__.get('nbjudge_names', ({{}}, {{}})), {{**sys.modules['__main__'].__dict__}}))"
    "(__import__('sys'))"
)
# Evaluated after each cell, of the assignment's own and of the student's. It costs as much as there are
# names, whatever they hold.
NOTE_GIVEN = _NOTE.format(own="old[0]")
NOTE_STUDENTS = _NOTE.format(
    own="{name: value for name, value in now.items()"
    " if old[1].get(name, now) is not value or old[0].get(name, now) is value}"
)


@contextmanager
def as_remembered(namespace: dict[str, Any]) -> Iterator[None]:
    """Give the student's names back what the student bound to them, and afterwards what they hold now."""
    remembered, _ = getattr(sys, REMEMBERED, ({}, {}))
    absent = object()
    rebound = {
        name: namespace.get(name, absent)
        for name, value in remembered.items()
        if namespace.get(name, absent) is not value
    }
    namespace.update({name: remembered[name] for name in rebound})
    try:
        yield
    finally:
        for name, value in rebound.items():
            if value is absent:
                namespace.pop(name, None)
            else:
                namespace[name] = value


@contextmanager
def drawing_from(seed: int) -> Iterator[None]:
    """Inside, Python and every library that is imported draw from this seed, a whole number below 2**32."""
    with ExitStack() as undo:
        undo.callback(random.setstate, random.getstate())
        random.seed(seed)
        for kind in KINDS:
            undo.callback(kind.draw_from(seed))
        yield
