"""What the judge says of a step that is not allowed, and what it costs."""

import subprocess
from pathlib import Path

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.authoring import AUTOMATIC_DIFFERENTIATION, SOFTMAX, Case, Exercise, case
from nbjudge.course.course import open_course
from nbjudge.judge.scoring import judge_exercise
from nbjudge.kernel.protocol import calls_for, read_reply
from nbjudge.probe import respond

COURSE = open_course(Path(__file__).parents[2])


def caller(function):
    def put(_name, calls, watched_calls):
        return read_reply(respond.answer_calls(function, calls, watched_calls), len(calls))

    return put


def by_hand(scores):
    exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


def ready_made(scores):
    return torch.softmax(scores, dim=-1)


def test_requesting_gradients_is_not_taken_for_a_forbidden_call():
    exercise = Exercise("answer", results=("weights",), not_allowed=(AUTOMATIC_DIFFERENTIATION,))

    @exercise.group("gradients", points=1)
    def gradients(draw):
        yield case(draw.normal(*draw.sizes(2)), gradients=True)

    assert judge_exercise(exercise, by_hand, caller(by_hand), seed=1).points == 1


def test_the_verdict_says_what_ran_and_gives_nothing_for_it():
    lesson, exercise = COURSE.exercise("softmax")
    verdict = judge_exercise(exercise, lesson.reference_answer("softmax"), caller(ready_made), seed=1)
    assert verdict.points == 0
    assert verdict.findings[0].mistake == "not_allowed"
    assert "runs a ready-made softmax" in verdict.message
    assert "this is the step you are asked to write" in verdict.message


@pytest.mark.parametrize(
    ("answer", "call"),
    [
        (lambda scores: scores.softmax(-1), "torch.softmax"),
        (lambda scores: nn.Softmax(-1)(scores), "torch.softmax"),
        (lambda scores: (scores - scores.logsumexp(-1, keepdim=True)).exp(), "torch.logsumexp"),
        (lambda scores: F.log_softmax(scores, -1).exp(), "torch.log_softmax"),
        (
            lambda scores: F.scaled_dot_product_attention(scores, scores, scores, scale=1.0),
            "F.scaled_dot_product_attention",
        ),
        (
            lambda scores: nn.MultiheadAttention(2, 1)(*[scores.view(-1, 1, 1).repeat(1, 1, 2)] * 3)[0],
            "nn.MultiheadAttention",
        ),
    ],
    ids=["method", "layer", "logsumexp", "log_softmax", "fused attention", "attention layer"],
)
def test_the_verdict_names_the_call_that_was_written(answer, call):
    lesson, exercise = COURSE.exercise("softmax")
    verdict = judge_exercise(exercise, lesson.reference_answer("softmax"), caller(answer), seed=1)
    assert f"(`{call}`)" in verdict.message


def test_the_verdict_says_that_another_process_took_part_and_gives_nothing_for_it():
    def elsewhere(scores):
        subprocess.run(["true"], check=True)
        return by_hand(scores)

    lesson, exercise = COURSE.exercise("softmax")
    verdict = judge_exercise(exercise, lesson.reference_answer("softmax"), caller(elsewhere), seed=1)
    assert verdict.points == 0
    assert verdict.findings[0].mistake == "not_allowed"
    assert verdict.findings[0].sentence == (
        "`softmax` hands its work to another process, whose steps cannot be seen: compute it here."
    )


def test_an_answer_is_what_it_was_when_the_call_returned():
    returned = []

    def filled_in_later(scores):
        returned.append((scores, torch.zeros_like(scores)))
        for given, earlier in returned[:-1]:
            earlier.copy_(by_hand(given))
        return returned[-1][1]

    calls = calls_for([Case((torch.ones(3),)), Case((torch.ones(3),))], [None, None])
    first, _ = caller(filled_in_later)("answer", calls, SOFTMAX.watched_calls()).answers
    assert torch.equal(first.value, torch.zeros(3))


def test_a_softmax_is_welcome_where_the_exercise_does_not_ask_for_one():
    def dot_product_attention(query, key=None, value=None):
        key = query if key is None else key
        weights = torch.softmax(query @ key.mT, dim=-1)
        return weights @ (key if value is None else value), weights

    lesson, exercise = COURSE.exercise("dot_product_attention")
    reference = lesson.reference_answer("dot_product_attention")
    verdict = judge_exercise(exercise, reference, caller(dot_product_attention), seed=1)
    assert verdict.points == verdict.max_points, verdict.findings


def test_only_the_group_in_which_it_ran_is_lost():
    exercise = Exercise("answer", results=("weights",), not_allowed=(SOFTMAX,))
    exercise.group("rows", points=1)(lambda draw: [case(draw.normal(*draw.sizes(1)))])
    exercise.group("tables", points=2)(lambda draw: [case(draw.normal(*draw.sizes(2)))])

    def answer(scores):
        return by_hand(scores) if scores.dim() == 1 else torch.softmax(scores, -1)

    assert judge_exercise(exercise, by_hand, caller(answer), seed=1).points == 1
