"""One call that gives two results is told so first, and costs nothing by itself."""

from __future__ import annotations

import random

import pytest
import torch

from nbjudge.authoring.cases import case
from nbjudge.authoring.exercise import Exercise
from nbjudge.calls import read_reply
from nbjudge.judge.scoring import judge_exercise
from nbjudge.probe import respond
from nbjudge.torch import Draw, build

exercise = Exercise("halve", results=("halves",), draw=Draw)


@exercise.group("numbers", points=1)
def numbers(draw):
    yield case(draw.normal(20))


@exercise.group("tables", points=1)
def tables(draw):
    yield case(draw.normal(7, 9))


@exercise.mistake("It doubles.")
def doubles(x):
    return 2 * x


def halve(x):
    return x / 2


def judged(judged_exercise, reference, answer):
    """The verdict, and how many messages and calls it took."""
    messages = []

    def put(_name, calls, watched_calls):
        messages.append(len(calls))
        return read_reply(respond.answer_calls(answer, calls, watched_calls), len(calls))

    return judge_exercise(judged_exercise, reference, put, seed=3), messages


def with_dropout(x):
    return torch.nn.functional.dropout(x, 0.3) / 2


def test_dropout_is_the_first_thing_that_is_said():
    verdict, _ = judged(exercise, halve, with_dropout)
    assert verdict.points == 0
    assert "two results for one and the same call" in verdict.message
    assert "dropout" in verdict.message
    assert len(verdict.findings) == 1


def test_a_random_list_is_told_without_a_library_s_causes():
    ordered = Exercise("ordered", results=("numbers",))
    ordered.group("numbers", points=1)(lambda draw: [case(list(range(40)))])
    verdict, _ = judged(ordered, sorted, lambda numbers: random.sample(numbers, len(numbers)))
    assert "two results for one and the same call" in verdict.message
    assert "dropout" not in verdict.message


def test_dropout_in_a_layer_is_said_first():
    class Layer(torch.nn.Module):
        def forward(self, x):
            return x / 2

    class WithDropout(Layer):
        def __init__(self):
            super().__init__()
            self.dropout = torch.nn.Dropout(0.3)

        def forward(self, x):
            return self.dropout(super().forward(x))

    layer = Exercise("Layer", results=("halves",), draw=Draw)
    layer.group("attributes", points=1)(lambda draw: [case(build=build(look=("attributes",)))])
    layer.group("numbers", points=1)(lambda draw: [case(draw.normal(7, 9), build=build())])
    assert judged(layer, Layer, Layer)[0].points == 2
    verdict, _ = judged(layer, Layer, WithDropout)
    assert "two results for one and the same call" in verdict.message


def test_a_layer_with_a_bias_too_many_is_not_called_random():
    class Layer(torch.nn.Module):
        has_bias = False

        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(5, 5, bias=self.has_bias)

        def forward(self, x):
            return self.linear(x)

    class WithBias(Layer):
        has_bias = True

    layer = Exercise("Layer", results=("output",), draw=Draw)
    zeros = torch.zeros(4, 5)
    read = build(look=("result", "parameters"))
    layer.group("no bias", points=1)(lambda draw: [case(zeros, build=read)])
    assert judged(layer, Layer, Layer)[0].points == 1
    verdict, _ = judged(layer, Layer, WithBias)
    assert not any("two results" in finding.sentence for finding in verdict.findings)


@pytest.mark.parametrize(("answer", "mistake"), [(doubles, "doubles"), (lambda x: x / 3, None)])
def test_a_steady_wrong_answer_is_called_once_more_and_no_word_is_said(answer, mistake):
    verdict, messages = judged(exercise, halve, answer)
    assert "two results" not in verdict.message
    assert verdict.findings[0].mistake == mistake
    assert messages == [2, 1]


def test_random_results_that_a_verifier_accepts_cost_nothing():
    draw_exercise = Exercise("draw", results=("number",))
    draw_exercise.group("numbers", points=1, verify=lambda cases, values: None)(lambda draw: [case(3)])
    verdict, messages = judged(draw_exercise, lambda n: 0.0, lambda n: random.random())
    assert verdict.points == 1
    assert messages == [1]
