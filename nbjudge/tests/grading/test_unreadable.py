"""Results that cannot be sent back are told by their kind, what is expected and the usual cause."""

from __future__ import annotations

import math
import random

import pytest
import torch

from nbjudge.authoring.cases import case
from nbjudge.authoring.exercise import Exercise
from nbjudge.calls import read_reply
from nbjudge.judge.scoring import judge_exercise
from nbjudge.probe import respond
from nbjudge.torch import Draw
from nbjudge.values.packing import pack, unpack

tensors = Exercise("halve", results=("halves",), draw=Draw)
tensors.group("tables", points=1)(lambda draw: [case(draw.normal(5, 8)), case(draw.normal(2, 3))])
words = Exercise("shops", results=("shops",))
words.group("names", points=1)(lambda draw: [case({"b": 1, "a": 2}), case({"c": 3})])
pairs = Exercise("both", results=("first", "second"))
pairs.group("numbers", points=1)(lambda draw: [case(1.5), case(2.5)])
cases_seen = []


def finite(cases, values):
    cases_seen.append(values)
    return None if all(isinstance(value, float) for value in values) else f"This is {values[0]!r}."


drawn = Exercise("drawn", results=("number",))
drawn.group("numbers", points=1, verify=finite)(lambda draw: [case(1), case(2)])


class Layer(torch.nn.Linear):
    pass


def findings(exercise, reference, answer):
    def call(_name, calls, watched_calls):
        sent = unpack(pack(respond.answer_calls(answer, calls, watched_calls)))
        return read_reply(sent, len(calls))

    verdict = judge_exercise(exercise, reference, call, seed=3)
    assert verdict.points == 0
    return verdict.findings


def shops(table):
    return sorted(table)


BRACKETS = "Are its brackets missing?"
COLLECT = "collect them, for example with `list(...)`"
TABLE = "expected a tensor of shape (5, 8)"


@pytest.mark.parametrize(
    ("answer", "kind", "cause"),
    [
        (lambda x: (x / 2).clone, "a function or method that was not called", BRACKETS),
        (lambda x: lambda: x, "a function", "Call it"),
        (lambda x: torch, "a module", "call that"),
        (lambda x: torch.nn.Linear, "a class", "Make an object of it"),
        (lambda x: Layer(2, 3), "a layer (an `nn.Module`)", "Call it with its input."),
        (lambda x: map(abs, x), "a `map` object", COLLECT),
        (lambda x: object(), "an object of type object", ""),
    ],
)
def test_the_kind_of_an_object_is_said(answer, kind, cause):
    """No answer is called random because what it returns cannot be read."""
    (finding,) = findings(tensors, lambda x: x / 2, answer)
    assert finding.sentence.startswith(f"`halve` returns {kind}, {TABLE}.")
    assert cause in finding.sentence


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (
            lambda table: table.keys(),
            "returns the keys of a dict, expected a list of 2. It gives its entries",
        ),
        (lambda table: (key for key in sorted(table)), "returns a generator, expected a list of 2."),
        (lambda table: [key.lower for key in table], "entry 0 of shops is a function or method that was not"),
        (lambda table: [*sorted(table), "d"], "returns a list of 3, expected a list of 2."),
        (lambda table: ", ".join(sorted(table)), "returns a string, expected a list of 2."),
        (lambda table: sorted(table)[::-1], "gives ['b', 'a'], and ['a', 'b'] is right."),
        (lambda table: tuple(table), "gives ('b', 'a'), and ['a', 'b'] is right."),
        (lambda table: [None] * 20_000, "returns a list of more entries than are read, expected a list of 2"),
    ],
)
def test_one_list_is_one_result(answer, sentence):
    """An exercise with one result that is a list is not told of several results and their order."""
    (finding,) = findings(words, shops, answer)
    assert sentence in finding.sentence
    assert "(shops)" not in finding.sentence + finding.evidence


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda x: 2 * x, "returns a Python float, expected (first, second)."),
        (lambda x: (x + 1, x), "returns (second, first), expected (first, second), in this order."),
        (lambda x: (x, iter([x])), "second is an object of type list_iterator, expected a Python float."),
    ],
)
def test_several_results_are_named(answer, sentence):
    """The control to the test above."""
    assert sentence in findings(pairs, lambda x: (x, x + 1), answer)[0].sentence


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (
            lambda n: random.random,
            "returns a function or method that was not called, expected a Python float",
        ),
        (lambda n: None, "`drawn` returns nothing, expected a Python float. Is the `return` line missing?"),
    ],
)
def test_a_verifier_gets_no_unreadable_values(answer, sentence):
    """What a verifier cannot verify is told as where values are compared."""
    cases_seen.clear()
    (finding,) = findings(drawn, lambda n: random.random(), answer)
    assert sentence in finding.sentence
    assert cases_seen == []
    assert findings(drawn, lambda n: random.random(), lambda n: "word")[0].sentence == "This is 'word'."


def test_a_verifier_may_be_given_none():
    """Where the reference returns None, an answer that does is verified."""
    silent = Exercise("silent", results=("nothing",))
    silent.group("numbers", points=1, verify=lambda cases, values: None)(lambda draw: [case(math.pi)])
    verdict = judge_exercise(
        silent,
        lambda x: None,
        lambda name, calls, _: read_reply(respond.answer_calls(lambda x: None, calls), len(calls)),
        seed=1,
    )
    assert verdict.points == 1
