"""What a learner is shown of a failing case: what their own code was handed, and their own numbers."""

import re

import pytest
import torch
from judged_answers import judged, kinds
from torch_exercise import Exercise

from nbjudge.authoring import case, made_by
from nbjudge.calls import Answer, Reply
from nbjudge.judge.scoring import judge_exercise
from nbjudge.torch import build

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
    return [finding.evidence for finding in judged(exercise, right, answer, seed=2).findings]


def test_arguments_of_an_adapter_are_not_shown():
    """What is between the judge and the answer is not shown."""
    shown = evidence_for(continued, lambda step, tokens, count: torch.cat([tokens, tokens[:count]]))
    assert shown[0].startswith("Called with tokens=an int64 tensor of shape (4,), count=3: your tokens: [")


def test_of_several_sides_those_that_differ_are_shown():
    def one_less(step, tokens, count):
        return reference(step, tokens, count)[:-1]

    found = judged(continued, reference, one_less, seed=2).findings
    assert any(": your how long: 6." in finding.evidence for finding in found)
    assert not any("loud" in finding.evidence for finding in found)
    assert ("value", ("`how long`", "is", "6", "7")) in [(each.kind, each.facts) for each in found]


def test_names_that_an_answer_makes_up_are_not_shown():
    made_up = {"how long": 6, "<b>full marks</b>": 1}

    def forged(_name, calls, _watched_calls):
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


pair = Exercise("pair", results=("output", "weights"))


@pair.group("two tables", points=1)
def two_tables(draw):
    rows, inner, columns = draw.sizes(3)
    yield case(draw.normal(rows, inner), draw.normal(columns, inner))


def right_pair(query, key):
    weights = torch.softmax(query @ key.mT, dim=-1)
    return weights @ key, weights


@pytest.mark.parametrize("seed", range(20))
def test_the_evidence_shows_no_right_numbers(seed):
    """The evidence shows the student's own numbers and no right ones."""

    def eighths_and_quarters(query, key):
        output, weights = right_pair(query, key)
        return output * 0 + 0.125, weights * 0 + 0.25

    (found,) = judged(pair, right_pair, eighths_and_quarters, seed).findings
    assert "your output: [0.125, 0.125" in found.evidence
    assert "your weights: [0.25, 0.25" in found.evidence
    assert not re.search(r"0\.(?!125|25)\d", found.evidence)
    assert len(re.findall(r"a float32 tensor of shape \(\d+, \d+\)", found.evidence)) == 2


@pytest.mark.parametrize("row", [0, 1, 2])
def test_the_evidence_shows_the_first_row_that_differs(row):
    def wrong_from_there_on(query, key):
        output, weights = right_pair(query, key)
        weights[row:, 0] = 7.5
        return output, weights

    (found,) = judged(pair, right_pair, wrong_from_there_on).findings
    assert f"your weights{f' at [{row}]' if row else ''}: [7.5, " in found.evidence
    assert "your output: [" in found.evidence  # right, so from its beginning


renamed = Exercise("renamed", results=("tensors",))


@renamed.group("ten tensors", points=1)
def ten_tensors(draw):
    yield case({f"old.{number}": draw.normal(3, 4) for number in range(10)})


def rename(weights):
    return {name.replace("old", "new"): tensor for name, tensor in weights.items()}


def test_of_many_wrong_entries_a_few_are_shown():
    """Of many wrong entries a few are shown and the dict is counted."""

    def add_one(weights):
        return {name: tensor + 1 for name, tensor in rename(weights).items()}

    (shown,) = evidence_for(renamed, add_one, rename)
    assert shown.startswith("Called with a dict of 10 entries: your new.0: a float32 tensor of shape (3, 4)")
    assert "; and 6 more." in shown and "new.4" not in shown


def test_a_missing_entry_is_not_a_missing_return():
    """A missing entry of a dict is not a missing return."""
    verdict = judged(renamed, rename, lambda weights: dict.fromkeys(rename(weights)))
    assert kinds(verdict) == ["type"] and verdict.findings[0].facts[:3] == ("`new.0`", "is", "None")


def test_right_entries_are_not_shown_with_a_change():
    """Where only an argument is changed the right entries are not shown."""

    def takes_them_out(weights):
        return {name.replace("old", "new"): weights.pop(name) for name in list(weights)}

    exercise = Exercise("renamed", results=("tensors",), changed_arguments="one group")
    exercise.group("ten tensors", points=1)(ten_tensors)
    (shown,) = evidence_for(exercise, takes_them_out, rename)
    assert shown.startswith("Called with a dict of 10 entries. (From")


def test_where_an_error_is_missing_no_value_is_shown():
    class Layer(torch.nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            if width % heads:
                raise ValueError(f"{width} is not divisible by {heads}")

    class Accepting(torch.nn.Module):
        def __init__(self, width, heads):
            super().__init__()

    exercise = Exercise("Layer", results=("output",))
    refused = build(10, 4, look=("attributes",))
    exercise.group("an indivisible width", points=1)(lambda draw: [case(build=refused, refuses=(10, 4))])
    (shown,) = evidence_for(exercise, Accepting, Layer)
    assert shown.startswith("Called with a module made with (10, 4): no error is raised. (From")


def test_what_a_change_costs_is_told_once():
    exercise = Exercise("doubled", results=("numbers",), changed_arguments="one group")
    exercise.group("numbers", points=1)(lambda draw: [case(draw.normal(5))])

    @exercise.mistake("It doubles in place.")
    def in_place(numbers):
        numbers *= 2
        return numbers

    (found,) = judged(exercise, lambda numbers: 2 * numbers, in_place).findings
    assert found.evidence.count("cost one group") == 1
    assert "changes its input `numbers`" in found.measured and "cost" not in found.measured
