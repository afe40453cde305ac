"""What counts as the same: shape, dtype and numbers within the course's tolerances, in any sequence."""

import math
from dataclasses import replace
from itertools import product

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbjudge.authoring import Tolerance
from nbjudge.calls import Answer
from nbjudge.judge.compare import same_answer, same_gradients, same_value
from nbjudge.values.packing import UnreadableValue

# However slow the machine, and without a database beside the tests.
many = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
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
@given(values)
def test_a_value_is_the_same_as_its_copy(value):
    """Also in tuples in place of lists, and not as a sequence that holds it."""
    assert same_value(value, as_tuples(value), COURSE) and same_value(as_tuples(value), value, COURSE)
    assert not same_value([value], value, COURSE)
    assert not same_value(value, (value,), COURSE)
    assert not same_value([value], [value, value], COURSE)


@many
@given(values, values)
def test_being_the_same_does_not_depend_on_the_order(one, other):
    exact = Tolerance((0, 0), (0, 0))
    assert same_value(one, other, exact) == same_value(other, one, exact)


@many
@given(tensors, dtypes)
def test_another_dtype_or_shape_is_another_tensor(tensor, dtype):
    """Another dtype or shape is another tensor whatever the numbers."""
    assert same_value(tensor, tensor.to(dtype), COURSE) == (tensor.dtype == dtype)
    assert not same_value(tensor, tensor[None], COURSE)
    assert not same_value(tensor, torch.cat([tensor, tensor]), COURSE)


@many
@given(rows, st.sampled_from([torch.float32, torch.float64]), st.data())
def test_numbers_may_be_off_by_their_tolerance(row, dtype, data):
    """Numbers may be off by the tolerance of their dtype and no more."""
    right = torch.tensor(row, dtype=dtype)
    rtol, atol = COURSE.float32 if dtype == torch.float32 else COURSE.float64
    place = data.draw(st.integers(0, len(row) - 1))
    allowed = atol + rtol * abs(row[place])
    for off, same in ((0.5 * allowed, True), (2 * allowed, False)):
        actual = right.clone()
        actual[place] += off
        assert same_value(actual, right, COURSE) == same


@many
@given(rows, st.data())
def test_nan_is_equal_only_on_request(row, data):
    """Nan is like nothing unless both are compared as behaviour."""
    right = torch.tensor(row)
    actual = right.clone()
    actual[data.draw(st.integers(0, len(row) - 1))] = math.nan
    assert not same_value(actual, right, COURSE)
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
    ],
)
def test_special_values_are_compared(one, other, same):
    assert same_value(one, other, COURSE) is same


KINDS = [1, 1.0, True, "1", None, torch.tensor(1.0), torch.tensor(1), [1], {"1": 1}]


@pytest.mark.parametrize(("one", "other"), list(product(KINDS, repeat=2)))
def test_no_kind_is_the_same_as_another(one, other):
    alike = type(one) is type(other) and getattr(one, "dtype", None) == getattr(other, "dtype", None)
    assert same_value(one, other, COURSE) == alike


@many
@given(finite)
def test_floats_may_be_off_like_tensors(number):
    assert same_value(number * (1 + 1e-5), number, COURSE)
    assert not same_value(number * (1 + 1e-3) + 1e-3 * math.copysign(1, number), number, COURSE)
    assert not same_value(math.nan, number, COURSE)


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
    """No gradient is the same as zeros and as nothing else."""
    answers = [Answer("value", 0, gradients={"/args/0": gradient}) for gradient in (actual, right)]
    assert same_gradients(*answers, COURSE) == same


def test_other_gradients_are_not_the_same():
    """Gradients of other arguments or of a failed backward are not the same."""
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
