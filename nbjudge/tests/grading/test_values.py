"""Values of every kind: they arrive as they were sent, and which count as the same."""

import ast
import base64
import importlib
import inspect
import json
import math
import sys
import time
from dataclasses import replace
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
import torch
from any_json import many
from hypothesis import given
from hypothesis import strategies as st

import nbjudge.torch  # noqa: F401 - makes tensors known
from nbjudge.authoring import Tolerance
from nbjudge.calls import Answer
from nbjudge.judge.compare import same_answer, same_gradients, same_value
from nbjudge.kernel import protocol
from nbjudge.torch import Draw
from nbjudge.values import kinds, packing
from nbjudge.values.kinds import kind_of
from nbjudge.values.packing import UnreadableValue, pack, unpack

EXACT = Tolerance((0, 0), (0, 0))
DATES = pd.date_range("2026-01-01", periods=3)
VALUES = {
    "floats": np.arange(6.0).reshape(2, 3),
    "small floats": np.arange(6, dtype="float16"),
    "whole numbers": np.arange(-3, 3, dtype="int8"),
    "large whole numbers": np.array([2**64 - 1], dtype="uint64"),
    "truth values": np.array([[True, False]]),
    "complex numbers": np.array([1 + 2j, 3]),
    "times": np.array(["2026-01-01", "NaT"], dtype="datetime64[D]"),
    "texts": np.array([["a", "ä"], ["", "long"]]),
    "nothing": np.zeros((0, 4)),
    "big end first": np.arange(3, dtype=">f4").astype("<f4"),
    "a tensor": torch.arange(6.0).view(2, 3),
    "a small tensor": torch.arange(6).to(torch.bfloat16),
    "a tensor of truth values": torch.tensor([True, False]),
    "an empty tensor": torch.zeros(3, 0),
    "a tensor in steps": torch.arange(-127.0, 128).repeat(2) / 2**9,
    "a tensor in steps, double and turned": (torch.arange(512).view(8, 64).double() % 100 / 4).mT,
    "a tensor nearly in steps": torch.cat([torch.arange(300) / 8, torch.tensor([1e-30])]),
    "a tensor in steps with a gap": torch.cat([torch.arange(300) / 8, torch.tensor([math.nan])]),
    "a tensor in large steps": torch.arange(300.0) * 2**40,
    "a tensor without axes": torch.tensor(2.5),
    "a column": pd.Series([1.5, 2.5], name="height"),
    "a column of texts": pd.Series(["a", None, "c"]),
    "a column with gaps": pd.Series([1, None, 3], dtype="Int64", index=["x", "y", "z"]),
    "a table": pd.DataFrame({"name": ["Ada", "Bob"], "age": [36, 41], "tall": [True, False]}),
    "a table with dates": pd.DataFrame({"x": [1.0, np.nan, 3.0]}, index=DATES.rename("day")),
    "categories": pd.DataFrame({"kind": pd.Categorical(["a", "b", "a"])}),
    "an empty table": pd.DataFrame({"x": np.zeros(0)}),
    "many keys": dict.fromkeys(range(1, 10_000), 0),
    "many pairs as keys": dict.fromkeys(((0, number) for number in range(1, 10_000)), 0),
    "all together": [{"array": np.ones(3), "rest": (torch.ones(2), pd.Series([1]), 3, "x", None)}],
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_what_arrives_is_what_was_sent(value):
    assert same_value(unpack(pack(value)), value, EXACT, equal_nan=True)


@pytest.mark.parametrize("library", ["numpy", "pandas"])
def test_a_half_imported_library_owns_no_value(library, monkeypatch):
    """A value is told while another thread is importing a library."""
    monkeypatch.setitem(sys.modules, library, ModuleType(library))
    assert kind_of("a text") is None
    assert kind_of(VALUES["a tensor"]) is not None


PLAIN = [1, 1.0, True, "1", None, torch.tensor(1.0), torch.tensor(1), [1], {"1": 1}]
EVERY = VALUES | {f"{type(value).__name__} {value}": value for value in PLAIN}


@pytest.mark.parametrize("name", EVERY)
def test_no_kind_is_taken_for_another(name):
    alike = {other for other in EVERY if same_value(EVERY[name], EVERY[other], Tolerance())}
    assert alike <= {name}


@pytest.mark.parametrize("value", [np.float32(1.5), np.int64(3), np.bool_(True), np.array(2.0), np.str_("x")])
def test_a_scalar_of_numpys_is_a_plain_number(value):
    received = unpack(pack(value))
    assert received == value.item() and type(received) is type(value.item())


def test_a_transposed_view_arrives_as_one():
    array, tensor = np.arange(6).reshape(2, 3).T, torch.arange(6).view(2, 3).T
    received_array, received_tensor = unpack(pack([array, tensor]))
    assert (received_array.strides, received_tensor.stride()) == (array.strides, tensor.stride())


@pytest.mark.parametrize(
    "value",
    [
        np.array([object()]),
        np.ma.array([1, 2], mask=[0, 1]),
        np.array(["x" * 20_001]),
        np.array(["x" * 5_000, *["x"] * 900]),
        np.zeros(2**22 + 1, dtype="int8"),
        np.array([(1, 2.0)], dtype="i4,f8"),
        pd.DataFrame([[1, 2]]),
        pd.Series([1, 2], index=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])),
        pd.Series([object()]),
        torch.ones(3).to_sparse(),
        torch.ones(2, dtype=torch.complex64),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_sent_arrives_as_its_name(value):
    received = unpack(pack([value]))[0]
    holds_a_name = isinstance(received, pd.Series) and isinstance(received[0], UnreadableValue)
    assert isinstance(received, UnreadableValue) or holds_a_name


def words(tree: object, numbers: bytes = bytes(300)) -> str:
    return " ".join(base64.b64encode(word).decode() for word in (json.dumps(tree).encode(), numbers))


# Numbers apart by this prime have one hash: 10,000 of them in a dict take 50 million comparisons.
OF_ONE_HASH = [sys.hash_info.modulus * number for number in range(1, 10_000)]
FALSE_MESSAGES = {
    "keys of one hash": {"dict": [[key, 0] for key in OF_ONE_HASH]},
    "pairs of one hash": {"dict": [[{"tuple": [0, key]}, 0] for key in OF_ONE_HASH]},
    "a key that is no key": {"dict": [[{"list": []}, 0]]},
    "a size that was not sent": {"array": ["float64", [90], 0, [0]]},
    "more than memory": {"array": ["float64", [2**25, 2**25], 0, [0, 1]]},
    "a negative size": {"tensor": ["float32", [-1], 0, [0]]},
    "a negative place": {"tensor": ["float32", [1], -4, [0]]},
    "no whole number": {"array": ["float64", [1.0], 0, [0]]},
    "an axis too many": {"array": ["float64", [1], 0, [0, 1]]},
    "objects": {"array": ["object", [1], 0, [0]]},
    "no dtype": {"tensor": ["load", [1], 0, [0]]},
    "texts that are none": {"array": ["str", [1], [[]], [0]]},
    "texts that fill memory": {"array": ["str", [900], ["x" * 20_000, *[""] * 899], []]},
    "a text that is too long": {"array": ["str", [1], ["x" * 20_001], []]},
    "more texts than entries": {"list": [{"array": ["str", [0], [""] * 100_001, []]}] * 2},
    "a column of another length": {"column": [None, ["object", {"list": []}], [None, 3, None]]},
    "a column that is no column": {"column": [None, ["array", {"plain": "abc"}], [None, 3, None]]},
    "a table of tensors": {
        "table": [["a"], [["array", {"tensor": ["float32", [3], 0, [0]]}]], [None, 3, None]]
    },
    "an index without end": {"column": [None, ["object", {"list": []}], [None, 2**60, None]]},
    "an unknown dtype": {"column": [None, ["interval", {"list": []}], [None, 0, None]]},
    "two things at once": {"plain": 1, "list": []},
    "code": {"made": ["", {"dict": []}]},
    "an unknown kind": {"pickle": "gASVAAAA"},
} | {
    f"steps that no one writes, {halvings}": {"tensor": ["float32", [300], 0, [0], halvings]}
    for halvings in (-1, 65, 1.5, True, None, "2")
}


@pytest.mark.parametrize("tree", FALSE_MESSAGES.values(), ids=FALSE_MESSAGES)
def test_a_message_with_false_sizes_is_refused_at_once(tree):
    started = time.monotonic()
    with pytest.raises((ValueError, TypeError, RuntimeError, IndexError)):
        unpack(words(tree))
    assert time.monotonic() - started < 5


def test_bits_that_are_no_truth_value_become_one():
    for kind in ("array", "tensor"):
        received = unpack(words({kind: ["bool", [3], 0, [0]]}, b"\x00\x02\xff"))
        assert received.tolist() == [False, True, True]


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_copy_is_ones_own_and_a_change_is_seen(value):
    kind = kind_of(value)
    if kind is None:
        assert isinstance(value, (list, dict))
        return
    copy = kind.copy(value, False)
    assert kind.identical(value, copy)
    if isinstance(value, (np.ndarray, torch.Tensor)) and 0 not in value.shape and len(value.shape):
        copy[(0,) * len(value.shape)] = copy[(-1,) * len(value.shape)]
        changed = not bool((value == copy).all())
        assert kind.identical(value, copy) is not changed


def test_the_parts_of_the_program_share_no_name():
    """They are sent as one, with every kind, where a later definition would replace an earlier one."""
    assert {type(kind).__module__ for kind in kinds.KINDS} <= set(protocol.PARTS)
    owners: dict[str, str] = {}
    for part in protocol.PARTS:
        for node in ast.parse(inspect.getsource(importlib.import_module(part))).body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            names += [node.name] if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else []
            for name in names:
                assert owners.setdefault(name, part) == part, (
                    f"{name} is defined in {owners[name]} and {part}"
                )


def test_the_same_numbers_travel_once():
    """And each array that arrives has its own; numbers drawn in steps travel in a byte each."""
    large = torch.randn(100, 100)
    one_copy, three_copies = pack([large]), pack([large, large.clone(), {"again": large}])
    assert len(three_copies) < 1.1 * len(one_copy)
    first, second, third = unpack(three_copies)
    first += 1
    third["again"].zero_()
    assert torch.equal(second, large) and torch.equal(first, large + 1)
    coarse, fine = type("InSteps", (Draw,), {"step": 1 / 32})(3).normal(64, 64), Draw(3).normal(64, 64)
    assert len(pack(coarse)) < len(pack(fine)) / 3
    assert coarse.unique().numel() > 100 and coarse.abs().max() > 0.3


def test_what_looks_alike_stays_apart():
    """Equal bytes of other kinds, and a zero with a sign."""
    sent = [torch.zeros(4, dtype=torch.float64), torch.zeros(8), torch.zeros(32, dtype=torch.bool)]
    sent += [torch.zeros(2, 4), torch.cat([torch.arange(300.0), torch.tensor([-0.0])])]
    received = unpack(pack(sent))
    for one, other in zip(received, sent, strict=True):
        assert one.dtype == other.dtype and torch.equal(one, other)
    assert math.copysign(1, received[-1][-1]) == -1


def test_references_expand_a_few_times(monkeypatch):
    """References expand to a few times what was sent."""
    monkeypatch.setattr(packing, "MOST_REFERRED_TO", 2**20)
    array = np.zeros(2**14)  # 128 KiB, which the message holds once
    few, many = pack([array] * 9), pack([array] * 30)
    assert [each.nbytes for each in unpack(few)] == [array.nbytes] * 9
    with pytest.raises(ValueError, match="more numbers"):
        unpack(many)
    assert len(unpack(many, with_code=True)) == 30  # the judge's own questions
    assert len(unpack(pack([array + number for number in range(30)]))) == 30  # sent, each of them


COURSE = Tolerance()
DTYPES = [torch.float32, torch.float64, torch.int64, torch.bool]
finite = st.floats(-1e3, 1e3, width=32)
rows = st.lists(finite, min_size=1, max_size=5)
dtypes = st.sampled_from(DTYPES)
plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
tensors = st.builds(lambda row, dtype: torch.tensor(row).to(dtype), rows, dtypes)
values = st.recursive(
    plain | tensors,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def as_tuples(value):
    """A copy of the value in which every list is a tuple."""
    if isinstance(value, list):
        return tuple(as_tuples(entry) for entry in value)
    if isinstance(value, dict):
        return {key: as_tuples(entry) for key, entry in value.items()}
    return value.clone() if isinstance(value, torch.Tensor) else value


@many
@given(values, values)
def test_a_value_is_the_same_as_its_copy(value, other):
    """Also in tuples in place of lists, and not as a sequence that holds it; the order does not matter."""
    assert same_value(value, as_tuples(value), COURSE) and same_value(as_tuples(value), value, COURSE)
    for holder in ([value], (value,)):
        assert not same_value(holder, value, COURSE) and not same_value(value, holder, COURSE)
    assert not same_value([value], [value, value], COURSE)
    assert same_value(value, other, EXACT) == same_value(other, value, EXACT)


@many
@given(rows, st.sampled_from(DTYPES), dtypes, st.data())
def test_numbers_may_be_off_by_their_tolerance(row, dtype, other_dtype, data):
    """By that of their dtype and no more; another dtype or shape is another tensor, and NaN no number."""
    right = torch.tensor(row).to(dtype)
    assert same_value(right, right.to(other_dtype), COURSE) == (dtype == other_dtype)
    assert not same_value(right, right[None], COURSE)
    assert not same_value(right, torch.cat([right, right]), COURSE)
    if not dtype.is_floating_point:
        return
    rtol, atol = COURSE.float32 if dtype == torch.float32 else COURSE.float64
    place = data.draw(st.integers(0, len(row) - 1))
    allowed = atol + rtol * abs(row[place])
    for off, same in ((0.5 * allowed, True), (2 * allowed, False), (math.nan, False)):
        actual = right.clone()
        actual[place] += off
        assert same_value(actual, right, COURSE) == same
    assert not same_value(actual, right, COURSE, equal_nan=True)
    assert not same_value(actual, actual.clone(), COURSE)
    assert same_value(actual, actual.clone(), COURSE, equal_nan=True)


INFINITE, TABLE = torch.tensor([math.inf, 1.0]), torch.arange(6.0).view(2, 3)
THING = UnreadableValue("a.Thing")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (INFINITE, INFINITE.clone(), True),
        (INFINITE, -INFINITE, False),
        (INFINITE, torch.tensor([1e30, 1.0]), False),
        (TABLE.T, TABLE.T.contiguous(), True),
        (THING, THING, False),  # what could not be read
        ([THING], [THING], False),
        # Floats may be off like tensors.
        (0.0, 0.0, True),
        (-1e3 * (1 + 1e-5), -1e3, True),
        (-1e3 * (1 + 1e-3), -1e3, False),
        (1e-3, 0.0, False),
        (math.nan, 2.5, False),
    ],
)
def test_special_values_are_compared(one, other, same):
    assert same_value(one, other, COURSE) is same


NONE, ZERO, ONE = None, torch.zeros(2), torch.ones(2)
NOT_A_NUMBER = torch.tensor([0.0, math.nan])


@pytest.mark.parametrize(
    ("actual", "right", "same"),
    [
        (NONE, NONE, True),
        (NONE, ZERO, True),
        (ZERO, NONE, True),
        (NONE, ONE, False),
        (ONE, NONE, False),
        (ONE, ZERO, False),
        (NOT_A_NUMBER, ZERO, False),
        (NOT_A_NUMBER, NONE, False),
        (ONE.double(), ONE, False),
        (ONE + 5e-4, ONE, True),  # rounding gathers in a gradient: ten times the tolerance
        (ONE + 5e-3, ONE, False),
    ],
)
def test_no_gradient_is_the_same_as_zeros(actual, right, same):
    answers = [Answer("value", 0, gradients={"/args/0": gradient}) for gradient in (actual, right)]
    assert same_gradients(*answers, COURSE) == same


def test_gradients_of_other_arguments_are_not_the_same():
    """Nor those of a failed backward pass."""
    right = Answer("value", 0, gradients={"/args/0": ONE})
    for gradients in ({"/args/1": ONE}, {}, {"/args/0": ONE, "/args/1": ZERO}, "no way back", None):
        assert not same_gradients(replace(right, gradients=gradients), right, COURSE)
        assert not same_gradients(right, replace(right, gradients=gradients), COURSE)


def test_answers_are_compared_by_status_and_value():
    """Answers behave alike when status value and error are alike."""
    answer = Answer("value", [ONE, NOT_A_NUMBER])
    assert same_answer(answer, Answer("value", (ONE.clone(), NOT_A_NUMBER.clone())), COURSE)
    # What changed arguments cost is a rule of its own, see `Exercise.changed_arguments`.
    assert same_answer(answer, replace(answer, changed=("/args/0",)), COURSE)
    assert not same_answer(answer, replace(answer, status="timeout"), COURSE)
    raised = Answer("raised", error="ValueError", message="widths 3 and 4")
    assert same_answer(raised, replace(raised, message="in other words"), COURSE)
    assert not same_answer(raised, replace(raised, error="RuntimeError"), COURSE)
