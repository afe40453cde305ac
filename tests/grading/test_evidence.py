"""What a learner is shown of a failing case: what their own code was handed, and their own numbers."""

import re

import pytest
import torch
from wrong_attention import finding, put, spoilt, unequal

from attention_lab.authoring import Exercise, case, made_by
from nbjudge.judge.judge import judge_exercise
from nbjudge.kernel.replies import Answer, Reply, read_reply
from nbjudge.probe import respond

continued = Exercise("continued", results=("tokens",))


def double(tokens):
    return 2 * tokens


def made_double():
    return double


def watching(answer):
    """Tells what is asked for beside the result."""

    def watched(step, tokens, count, look, loud):
        result = answer(step, tokens, count)
        report = {"result": result, "how long": result.shape[0], "loud": loud}
        return {side: report[side] for side in look}

    return watched


@continued.group("the numbers", points=1)
def numbers(draw):
    yield case(made_by(made_double), draw.integers(1, 9, 4), 3, ["result"], True, through=watching)


@continued.group("how many", points=1)
def how_many(draw):
    yield case(made_by(made_double), draw.integers(1, 9, 4), 3, ["how long", "loud"], False, through=watching)


def reference(step, tokens, count):
    return torch.cat([tokens, step(tokens)[:count]])


def evidence_for(exercise, answer, right=reference):
    def in_process(_name, calls, watch):
        return read_reply(respond.answer_calls(answer, calls, watch), len(calls))

    verdict = judge_exercise(exercise, right, in_process, seed=2)
    return [finding.evidence for finding in verdict.findings]


def test_what_is_between_the_judge_and_the_answer_is_not_shown():
    shown = evidence_for(continued, lambda step, tokens, count: torch.cat([tokens, tokens[:count]]))
    assert shown[0].startswith("Called with tokens=an int64 tensor of shape (4,), count=3: your tokens: [")


def test_of_several_sides_those_that_differ_are_shown():
    shown = evidence_for(continued, lambda step, tokens, count: reference(step, tokens, count)[:-1])
    assert any(": your how long: 6." in evidence for evidence in shown)
    assert not any("loud" in evidence for evidence in shown)


def test_names_that_an_answer_makes_up_are_not_shown():
    made_up = {"how long": 6, "<b>full marks</b>": 1}

    def forged(_name, calls, _watch):
        return Reply([Answer("value", value=made_up)] * len(calls))

    shown = [each.evidence for each in judge_exercise(continued, reference, forged, seed=2).findings]
    assert any(": your how long: 6." in evidence for evidence in shown)
    assert not any("full marks" in evidence for evidence in shown)


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        (((2, 3), (2, 3)), "a tuple of 2, each a float32 tensor of shape (2, 3): "),
        (
            ((2, 3), (4,)),
            "a tuple of 2: a float32 tensor of shape (2, 3) and a float32 tensor of shape (4,): ",
        ),
    ],
)
def test_arrays_in_a_list_are_told_whole(sizes, sentence):
    exercise = Exercise("added_up", results=("sum",))
    exercise.group("two", points=1)(lambda draw: [case(tuple(draw.normal(*size) for size in sizes))])
    (shown,) = evidence_for(exercise, lambda pair: pair[0].sum(), lambda pair: pair[0].sum() + pair[1].sum())
    assert sentence in shown


@pytest.mark.parametrize("seed", range(20))
def test_the_evidence_shows_the_students_own_numbers_and_no_right_ones(seed):
    evidence = finding(spoilt(lambda o, w: (o * 0 + 0.125, w * 0 + 0.25)), unequal, seed).evidence
    assert "your output: [0.125, 0.125" in evidence
    assert "your weights: [0.25, 0.25" in evidence
    assert not re.search(r"0\.(?!125|25)\d", evidence)
    assert len(re.findall(r"a float32 tensor of shape \(\d+, \d+\)", evidence)) == 3


@pytest.mark.parametrize("row", [0, 1, 2])
def test_the_evidence_shows_the_first_row_that_differs(row):
    found = finding(spoilt(lambda o, w: (o, put(w, (slice(row, None), 0), 7.5))), unequal)
    assert f"your weights{f' at [{row}]' if row else ''}: [7.5, " in found.evidence
    assert "your output: [" in found.evidence  # right, so from its beginning
