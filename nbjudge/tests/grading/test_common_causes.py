"""Sentences that say the cause, where what is measured has a common one: a narrow dtype, a GPU, `input()`."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nbjudge.authoring.cases import case
from nbjudge.authoring.exercise import Exercise
from nbjudge.calls import Answer, read_reply
from nbjudge.judge import messages
from nbjudge.judge.scoring import judge_exercise
from nbjudge.probe import respond
from nbjudge.torch import Draw

tensors = Exercise("shares", results=("shares",), draw=Draw)
arrays = Exercise("shares", results=("shares",))
arrays.group("tables", points=1)(lambda draw: [case(draw.normal(9, 14, dtype="float32"))])
tensors.group("tables", points=1)(lambda draw: [case(draw.normal(9, 14))])


def shares(x):
    return torch.softmax(x, -1)


def shares_of_array(x):
    exponentials = np.exp(x)
    return exponentials / exponentials.sum(-1, keepdims=True)


def verdict_on(exercise, reference, answer):
    def put(_name, calls, watched_calls):
        return read_reply(respond.answer_calls(answer, calls, watched_calls), len(calls))

    verdict = judge_exercise(exercise, reference, put, seed=1)
    assert verdict.points == 0
    return verdict


def message(exercise, reference, answer):
    return verdict_on(exercise, reference, answer).message


@pytest.mark.parametrize("narrow", [torch.float16, torch.bfloat16])
def test_a_narrow_dtype_inside_is_said(narrow):
    sentence = message(tensors, shares, lambda x: shares(x.to(narrow)).to(x.dtype))
    assert f"something is computed in {str(narrow).removeprefix('torch.')}." in sentence


def test_a_narrow_dtype_inside_is_said_of_arrays():
    sentence = message(
        arrays, shares_of_array, lambda x: shares_of_array(x.astype("float16")).astype("float32")
    )
    assert "something is computed in float16." in sentence


def test_a_difference_of_half_s_size_is_asked_about():
    sentence = message(tensors, shares, lambda x: shares(x.half().to(x.dtype)))
    assert "the size of float16's rounding" in sentence


@pytest.mark.parametrize(
    "answer", [lambda x: shares(x) * 1.01, lambda x: shares(x) + 3e-5, lambda x: (shares(x) * 8).round() / 8]
)
def test_other_differences_are_not_taken_for_rounding(answer):
    sentence = message(tensors, shares, answer)
    assert "float16" not in sentence and "half" not in sentence


def test_code_that_asks_for_a_gpu_is_told_to_use_the_device_of_the_input():
    if torch.cuda.is_available():
        pytest.skip("this machine has one")
    sentence = message(tensors, shares, lambda x: shares(x) + torch.zeros(1, device="cuda"))
    assert "make tensors on the device of the input" in sentence


def test_a_cell_that_waits_for_input_is_told_to_remove_it():
    stopped = Answer("missing", error="StdinNotImplementedError", message="raw_input was called")
    assert "`input()` cannot be answered while a notebook is graded" in messages.no_value(tensors, stopped)
    other = Answer("missing", error="NameError", message="name 'a' is not defined")
    assert "input()" not in messages.no_value(tensors, other)


def _rows_of_one(cases, values):
    return None if all(isinstance(value, np.ndarray) for value in values) else "The rows do not sum to 1."


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda x: shares_of_array(x).tolist(), "`shares` returns a list of 9, expected an array"),
        (lambda x: None, "`shares` returns nothing, expected an array"),
        (lambda x: (shares_of_array(x).tolist(),), "`shares` returns a tuple of 1, expected an array"),
    ],
    ids=["list", "none", "tuple"],
)
def test_a_wrong_type_is_said_once_for_all_groups(answer, says):
    several = Exercise("shares", results=("shares",))
    for rows in (9, 11, 13):
        several.group(f"{rows} rows", points=1)(lambda draw, rows=rows: [case(draw.normal(rows, 5))])
    several.group("sums", points=1, verify=_rows_of_one)(lambda draw: [case(draw.normal(7, 5))])
    (sentence,) = [each.sentence for each in verdict_on(several, shares_of_array, answer).findings]
    assert sentence.startswith(says)
