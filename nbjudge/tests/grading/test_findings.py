"""The cause that is found where it is a common one: rounding, chance, a switch of a cell, a wrong type."""

from __future__ import annotations

import random
import re
from string import Formatter

import numpy as np
import pytest
import torch
from judged_answers import as_text, judged, kinds
from torch_exercise import Exercise

import nbjudge.authoring
from nbjudge.authoring import case
from nbjudge.calls import Answer, caller_of
from nbjudge.judge import findings
from nbjudge.judge.describe import told_apart
from nbjudge.judge.findings import Cause
from nbjudge.judge.scoring import judge_exercise
from nbjudge.torch import build


def exercise_of(name, *cases, base=Exercise, **more):
    exercise = base(name, results=("numbers",))
    exercise.group("all", points=1, **more)(lambda draw: [each(draw) for each in cases])
    return exercise


def with_normal(*shape, **more):
    return lambda draw: case(draw.normal(*shape, **more))


@pytest.mark.parametrize("cause", Cause, ids=lambda cause: cause.kind)
def test_every_cause_has_a_sentence(cause):
    """Each is said with its facts, and no two causes say the same."""
    facts = {name: f"<{name}>" for _, name, _, _ in Formatter().parse(cause.value) if name}
    found = cause.found(**facts)
    assert all(fact in found.sentence for fact in facts.values())
    assert found.identity == (cause.kind, None, *facts.values())
    assert [other for other in Cause if other.value == cause.value] == [cause]


def shares(x):
    return torch.softmax(x, -1)


def shares_of_array(x):
    exponentials = np.exp(x)
    return exponentials / exponentials.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (lambda x: shares(x.half()).to(x.dtype), "narrower_dtype"),
        (lambda x: shares(x.bfloat16()).to(x.dtype), "narrower_dtype"),
        (lambda x: shares(x) * 1.01, "factor"),
        (lambda x: shares(x) + 3e-5, "numbers"),
        (lambda x: (shares(x) * 8).round() / 8, "numbers"),
    ],
)
def test_rounding_to_a_narrow_dtype_is_found(answer, kind):
    assert kinds(judged(exercise_of("shares", with_normal(9, 14)), shares, answer)) == [kind]


def test_a_narrow_dtype_is_found_in_arrays():
    exercise = exercise_of("shares", with_normal(9, 14, dtype="float32"), base=nbjudge.authoring.Exercise)
    narrow = judged(
        exercise, shares_of_array, lambda x: shares_of_array(x.astype("float16")).astype("float32")
    )
    assert kinds(narrow) == ["narrower_dtype"]


def test_half_precision_is_asked_about():
    exercise = exercise_of("shares", with_normal(9, 14))
    (half,) = judged(exercise, shares, lambda x: shares(x.half().to(x.dtype))).findings
    (other,) = judged(exercise, shares, lambda x: (shares(x) * 8).round() / 8).findings
    assert half.facts[-1] == Cause.HALF_PRECISION.says() and Cause.HALF_PRECISION.says() not in other.facts


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_code_that_asks_for_a_gpu_gets_advice():
    answer = lambda x: shares(x) + torch.zeros(1, device="cuda")  # noqa: E731
    verdict = judged(exercise_of("shares", with_normal(9, 14)), shares, answer)
    assert kinds(verdict) == ["stops"] and "device of the input" in verdict.message


@pytest.mark.parametrize(("error", "is_advised"), [("StdinNotImplementedError", True), ("NameError", False)])
def test_a_cell_that_waits_for_input_gets_advice(error, is_advised):
    stopped = findings.no_value(Exercise("shares", ()), Answer("missing", error=error, message="stopped"))
    assert stopped.kind == "cell_stops" and (Cause.WITHOUT_INPUT.says() in stopped.facts) == is_advised


def _rows_of_one(cases, values):
    return None if all(isinstance(value, np.ndarray) for value in values) else "The rows do not sum to 1."


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (lambda x: shares_of_array(x).tolist(), "type"),
        (lambda x: None, "nothing_returned"),
        (lambda x: (shares_of_array(x).tolist(),), "type"),
    ],
)
def test_a_wrong_type_is_found_once_for_all_groups(answer, kind):
    several = nbjudge.authoring.Exercise("shares", results=("shares",))
    for rows in (9, 11, 13):
        several.group(f"{rows} rows", points=1)(lambda draw, rows=rows: [case(draw.normal(rows, 5))])
    several.group("sums", points=1, verify=_rows_of_one)(lambda draw: [case(draw.normal(7, 5))])
    assert kinds(judged(several, shares_of_array, answer)) == [kind]


@pytest.mark.parametrize(
    ("actual", "right", "shown"),
    [
        (0.5, 0.25, ("0.5", "0.25")),
        (0.46142, 0.46138, ("0.46142", "0.46138")),
        (1.0, 1.0 + 2**-52, ("1", "1.0000000000000002")),
        (torch.tensor(2.0), torch.tensor(2.00001), ("2", "2.00001")),
        (torch.tensor(2), torch.tensor(3), ("2", "3")),
    ],
)
def test_numbers_have_the_digits_that_differ(actual, right, shown):
    assert told_apart(actual, right) == shown


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        (lambda x: x + 2e-4 * torch.eye(len(x))[0], lambda x: x),
        (lambda x: float(x.sum()) * 1.0002, lambda x: float(x.sum())),
    ],
)
def test_a_number_that_is_nearly_right_is_told_apart(answer, reference):
    exercise = exercise_of("nearly", lambda draw: case(torch.eye(*draw.sizes(1))[0]))
    (finding,) = judged(exercise, reference, answer).findings
    assert {"1.0002", "1"} <= set(finding.facts)


# ---- chance --------------------------------------------------------------------------------------


class Layer(torch.nn.Module):
    has_bias = False

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(9, 9, bias=self.has_bias)
        torch.nn.init.eye_(self.linear.weight)

    def forward(self, x):
        return self.linear(x)


class WithBias(Layer):
    has_bias = True


class WithDropout(Layer):
    def forward(self, x):
        return torch.nn.functional.dropout(super().forward(x), 0.3)


def halve(x):
    return x / 2


HALVES = exercise_of("halve", with_normal(20), with_normal(7, 9))
ORDERED = exercise_of("ordered", lambda draw: case(list(range(40))))
LAYERS = exercise_of("Layer", lambda draw: case(draw.normal(7, 9), build=build()))
PARTS = exercise_of("Layer", lambda draw: case(torch.zeros(4, 9), build=build(look=("result", "parameters"))))


@pytest.mark.parametrize(
    ("exercise", "reference", "answer", "kind", "cause"),
    [
        (HALVES, halve, lambda x: torch.dropout(x, 0.3, True) / 2, "random", "dropout"),
        (HALVES, halve, lambda x: torch.full_like(x, random.random()), "random", "torch.empty"),
        (ORDERED, sorted, lambda numbers: random.sample(numbers, len(numbers)), "random", ""),
        (LAYERS, Layer, WithDropout, "random", "dropout"),
        (PARTS, Layer, WithBias, "numbers", ""),
        (HALVES, halve, lambda x: x / 3, "factor", ""),
    ],
)
def test_two_results_of_one_call_are_found_first(exercise, reference, answer, kind, cause):
    """A layer with a parameter too many draws it by chance, and is not called random."""
    assert judged(exercise, reference, reference).points == 1  # the control
    verdict = judged(exercise, reference, answer)
    assert verdict.points == 0 and kinds(verdict) == [kind]
    assert cause in verdict.message and (kind != "random" or ("dropout" in verdict.message) == bool(cause))


@pytest.mark.parametrize(
    ("exercise", "reference", "answer", "points", "requests"),
    [
        (HALVES, halve, lambda x: x / 3, 0, [2, 1]),
        (
            exercise_of("draw", lambda draw: case(3), verify=lambda cases, values: None),
            lambda n: 0.0,
            lambda n: random.random(),
            1,
            [1],
        ),
    ],
    ids=["wrong", "random and verified"],
)
def test_a_wrong_answer_is_called_once_more(exercise, reference, answer, points, requests):
    sizes = []

    def call(name, calls, watched_calls):
        sizes.append(len(calls))
        return caller_of(answer)(name, calls, watched_calls)

    assert judge_exercise(exercise, reference, call, 3).points == points
    assert sizes == requests


# ---- what a cell switches in torch ---------------------------------------------------------------

SHIFTED = exercise_of("shifted", lambda draw: case(draw.normal(4), gradients=True))


def shift(x):
    return x + torch.ones(4)


def verdict_after(switch, undo):
    """The verdict on a right answer in a kernel where a cell has called `switch`."""

    def call(name, calls, watched_calls):
        switch()
        try:
            return as_text({name: shift})(name, calls, watched_calls)
        finally:
            undo()

    return judge_exercise(SHIFTED, shift, call, seed=1)


def test_a_default_device_does_not_reach_the_answer():
    """Afterwards the cell's own choice is in force again."""
    left = []

    def undo():
        left.append(torch.get_default_device().type)
        torch.set_default_device(None)

    assert verdict_after(lambda: torch.set_default_device("meta"), undo).points == 1
    assert set(left) == {"meta"}


@pytest.mark.parametrize(
    ("switch", "setting", "default"),
    [(torch.set_default_dtype, torch.float64, torch.float32), (torch.set_grad_enabled, False, True)],
)
def test_another_switch_is_named(switch, setting, default):
    """Unless the grader's process has it as well, because the course sets it."""
    verdict = verdict_after(lambda: switch(setting), lambda: switch(default))
    named = Cause.SWITCHED.says(calls=f"`torch.{switch.__name__}({setting})`")
    assert verdict.points == 0 and verdict.findings[0].facts[-1] == named
    assert not re.search("torch.set", verdict_after(lambda: None, lambda: None).message)
