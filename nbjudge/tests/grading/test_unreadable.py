"""Results that cannot be sent back are told by their kind, what is expected and the usual cause."""

from __future__ import annotations

import math
import random

import pytest
import torch
from judged_answers import judged, judged_as_text

from nbjudge.authoring.cases import case
from nbjudge.authoring.exercise import Exercise
from nbjudge.torch import Draw

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


def finding(exercise, reference, answer):
    """The only finding on a wrong answer, as packed text brings it."""
    verdict = judged_as_text(exercise, reference, answer)
    (found,) = verdict.findings
    assert verdict.points == 0
    return found


def shops(table):
    return sorted(table)


BRACKETS = "Are its brackets missing?"
COLLECT = "collect them, for example with `list(...)`"


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
    found = finding(tensors, lambda x: x / 2, answer)
    assert found.kind == "type"
    assert found.facts[2:4] == (kind, "a tensor of shape (5, 8)") and cause in "".join(found.facts[4:])


@pytest.mark.parametrize(
    ("answer", "kind", "facts"),
    [
        (lambda table: table.keys(), "type", ("the keys of a dict", "a list of 2")),
        (lambda table: (key for key in sorted(table)), "type", ("a generator", "a list of 2")),
        (lambda table: [key.lower for key in table], "type", ("entry 0 of shops", "is")),
        (lambda table: [*sorted(table), "d"], "type", ("a list of 3", "a list of 2")),
        (lambda table: ", ".join(sorted(table)), "type", ("a string", "a list of 2")),
        (lambda table: sorted(table)[::-1], "value", ("['b', 'a']", "['a', 'b']")),
        (lambda table: tuple(table), "value", ("('b', 'a')", "['a', 'b']")),
        (lambda table: [None] * 20_000, "type", ("a list of more entries than are read", "a list of 2")),
    ],
)
def test_one_list_is_one_result(answer, kind, facts):
    """An exercise with one result that is a list is not told of several results and their order."""
    found = finding(words, shops, answer)
    assert found.kind == kind and set(facts) <= set(found.facts)
    assert "(shops)" not in found.sentence + found.evidence


@pytest.mark.parametrize(
    ("answer", "kind", "facts"),
    [
        (lambda x: 2 * x, "type", ("a Python float", "(first, second)")),
        (lambda x: (x + 1, x), "order", ("second, first", "first, second")),
        (lambda x: (x, iter([x])), "type", ("second", "an object of type list_iterator", "a Python float")),
    ],
)
def test_several_results_are_named(answer, kind, facts):
    """The control to the test above."""
    found = finding(pairs, lambda x: (x, x + 1), answer)
    assert found.kind == kind and set(facts) <= set(found.facts)


@pytest.mark.parametrize(
    ("answer", "kind"), [(lambda n: random.random, "type"), (lambda n: None, "nothing_returned")]
)
def test_a_verifier_gets_no_unreadable_values(answer, kind):
    """What a verifier cannot verify is told as where values are compared."""
    cases_seen.clear()
    assert finding(drawn, lambda n: random.random(), answer).kind == kind
    assert cases_seen == []
    assert finding(drawn, lambda n: random.random(), lambda n: "word").sentence == "This is 'word'."


def test_a_verifier_may_be_given_none():
    """Where the reference returns None, an answer that does is verified."""
    silent = Exercise("silent", results=("nothing",))
    silent.group("numbers", points=1, verify=lambda cases, values: None)(lambda draw: [case(math.pi)])
    assert judged(silent, lambda x: None, lambda x: None).points == 1
