"""The cause that is found where it is a common one, and the evidence that a learner is shown."""

import math
import random
import re
from functools import partial
from string import Formatter

import numpy as np
import pytest
import torch
from judged_answers import as_text, exercise_of, judged, judged_as_text, kinds, of_cases
from torch_exercise import Exercise

from nbjudge.authoring import case, made_by
from nbjudge.calls import Answer, Reply, caller_of
from nbjudge.judge.describe import told_apart
from nbjudge.judge.findings import Cause, no_value
from nbjudge.judge.scoring import judge_exercise
from nbjudge.torch import build

of_cases = partial(of_cases, base=Exercise)


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


# ---- common causes -------------------------------------------------------------------------------


def shares(x):
    return torch.softmax(x, -1)


def array_shares(x):
    exponentials = np.exp(x)
    return exponentials / exponentials.sum(-1, keepdims=True)


def _rows_of_one(cases, values):
    return None if all(isinstance(value, np.ndarray) for value in values) else "The rows do not sum to 1."


# Exercises with their references.
SHARES = of_cases("shares", with_normal(9, 14)), shares
IN_ARRAYS = exercise_of("shares", lambda draw: [case(draw.normal(9, 14, dtype="float32"))]), array_shares
three_groups = (lambda draw, rows=rows: [case(draw.normal(rows, 5))] for rows in (9, 11, 13))
SEVERAL = exercise_of("shares", *three_groups), array_shares
SEVERAL[0].group("sums", points=1, verify=_rows_of_one)(lambda draw: [case(draw.normal(7, 5))])


class Layer(torch.nn.Module):
    has_bias, dropout = False, 0.0

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(9, 9, bias=self.has_bias)
        torch.nn.init.eye_(self.linear.weight)

    def forward(self, x):
        return torch.nn.functional.dropout(self.linear(x), self.dropout)


class WithBias(Layer):
    has_bias = True


class WithDropout(Layer):
    dropout = 0.3


def halve(x):
    return x / 2


HALVES = of_cases("halve", with_normal(5, 8), with_normal(2, 3)), halve
ORDERED = of_cases("ordered", lambda draw: case(list(range(40)))), sorted
LAYERS = of_cases("Layer", lambda draw: case(draw.normal(7, 9), build=build())), Layer
LOOKED_AT = build(look=("result", "parameters"))
PARTS = of_cases("Layer", lambda draw: case(torch.zeros(4, 9), build=LOOKED_AT)), Layer
NEARLY = of_cases("nearly", lambda draw: case(torch.eye(*draw.sizes(1))[0])), lambda x: x


@pytest.mark.parametrize(
    ("task", "answer", "cause"),
    [
        # Rounding to a narrow dtype.
        (SHARES, lambda x: shares(x.half()).to(x.dtype), "narrower_dtype"),
        (SHARES, lambda x: shares(x.bfloat16()).to(x.dtype), "narrower_dtype"),
        (IN_ARRAYS, lambda x: array_shares(np.float16(x)).astype("f4"), "narrower_dtype"),
        (SHARES, lambda x: shares(x.half().to(x.dtype)), "half_precision"),
        (SHARES, lambda x: shares(x) * 1.01, "factor"),
        (SHARES, lambda x: shares(x) + 3e-5, "numbers"),
        (SHARES, lambda x: (shares(x) * 8).round() / 8, "rising_function"),
        (SHARES, lambda x: shares(x) * (-1) ** torch.arange(x.shape[-1]), "signs"),
        (SHARES, lambda x: shares(x) * x[:, :1] + x[:, 1:2], "shifted_rows"),
        # A wrong type, once for all groups.
        (SEVERAL, lambda x: array_shares(x).tolist(), "type"),
        (SEVERAL, lambda x: None, "nothing_returned"),
        (SEVERAL, lambda x: (array_shares(x).tolist(),), "type"),
        # A number that is nearly right has the digits that differ.
        (NEARLY, lambda x: x + 2e-4 * torch.eye(len(x))[0], "positions: 1.0002, 1"),
        # Two results of one call; a layer with a parameter too many draws it by chance, and is not random.
        (HALVES, lambda x: torch.dropout(x, 0.3, True) / 2, "random: dropout"),
        (HALVES, lambda x: torch.full_like(x, random.random()), "random: torch.empty, dropout"),
        (ORDERED, lambda numbers: random.sample(numbers, len(numbers)), "random"),
        (LAYERS, WithDropout, "random: dropout"),
        (PARTS, WithBias, "numbers"),
        (HALVES, lambda x: x / 3, "factor"),
    ],
)
def test_a_common_cause_is_found(task, answer, cause):
    kind, _, facts = cause.partition(": ")
    assert judged(*task, task[1]).findings == ()  # the control
    verdict = judged(*task, answer)
    assert verdict.points == 0 and kinds(verdict) == [kind]
    told = verdict.message if kind == "random" else ", ".join(verdict.findings[0].facts)
    assert all(fact in told for fact in facts.split(", "))
    assert kind != "random" or ("dropout" in told) == bool(facts)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_code_that_asks_for_a_gpu_gets_advice():
    answer = lambda x: shares(x) + torch.zeros(1, device="cuda")  # noqa: E731
    verdict = judged(*SHARES, answer)
    assert kinds(verdict) == ["stops"] and "device of the input" in verdict.message


@pytest.mark.parametrize(("error", "is_advised"), [("StdinNotImplementedError", True), ("NameError", False)])
def test_a_cell_that_waits_for_input_gets_advice(error, is_advised):
    stopped = no_value(Exercise("shares", ()), Answer("missing", error=error, message="stopped"))
    assert stopped.kind == "cell_stops" and (Cause.WITHOUT_INPUT.says() in stopped.facts) == is_advised


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


VERIFIED = of_cases("draw", lambda draw: case(3), verify=lambda cases, values: None), lambda n: 0.0


@pytest.mark.parametrize(
    ("task", "answer", "points", "requests"),
    [
        (HALVES, lambda x: x / 3, 0, [2, 1]),
        (VERIFIED, lambda n: random.random(), 1, [1]),  # random, and verified
    ],
)
def test_a_wrong_answer_is_called_once_more(task, answer, points, requests):
    sizes = []

    def call(name, calls, watched_calls):
        sizes.append(len(calls))
        return caller_of(answer)(name, calls, watched_calls)

    assert judge_exercise(*task, call, 3).points == points
    assert sizes == requests


# ---- what a cell switches in torch ---------------------------------------------------------------

SHIFTED = of_cases("shifted", lambda draw: case(draw.normal(4), gradients=True))


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


# ---- results that cannot be sent back ------------------------------------------------------------

cases_seen = []


def finite(cases, values):
    cases_seen.append(values)
    return None if all(isinstance(value, float) for value in values) else f"This is {values[0]!r}."


DRAWN = exercise_of("drawn", lambda draw: [case(1), case(2)], verify=finite), halve


class LinearLayer(torch.nn.Linear):
    pass


def shops(table):
    return sorted(table)


TABLES = lambda _: case({"b": 1, "a": 2}), lambda _: case({"c": 3})  # noqa: E731
SHOPS = of_cases("shops", *TABLES, results=("shops",)), shops
NUMBERS = lambda _: case(1.5), lambda _: case(2.5)  # noqa: E731
BOTH = of_cases("both", *NUMBERS, results=("first", "second")), lambda x: (x, x + 1)
TENSOR, LIST_OF_2 = "a tensor of shape (5, 8)", "a list of 2"
BRACKETS = "Are its brackets missing?"
A_LAYER, OBJECT = "a layer (an `nn.Module`)", "an object of type"
COLLECT = "collect them, for example with `list(...)`"


@pytest.mark.parametrize(
    ("task", "answer", "kind", "facts"),
    [
        # An object is told by its kind, with what is expected and the usual cause.
        (HALVES, lambda x: halve(x).clone, "type", ("a function or method that was not called", BRACKETS)),
        (HALVES, lambda x: lambda: x, "type", ("a function", TENSOR, "Call it")),
        (HALVES, lambda x: torch, "type", ("a module", TENSOR, "call that")),
        (HALVES, lambda x: torch.nn.Linear, "type", ("a class", TENSOR, "Make an object of it")),
        (HALVES, lambda x: LinearLayer(2, 3), "type", (A_LAYER, TENSOR, "Call it with its input.")),
        (HALVES, lambda x: map(abs, x), "type", ("a `map` object", TENSOR, COLLECT)),
        (HALVES, lambda x: object(), "type", (f"{OBJECT} object", TENSOR)),
        # One result that is a list is not told of several results and their order.
        (SHOPS, lambda table: table.keys(), "type", ("the keys of a dict", LIST_OF_2)),
        (SHOPS, lambda table: (key for key in sorted(table)), "type", ("a generator", LIST_OF_2)),
        (SHOPS, lambda table: [key.lower for key in table], "type", ("entry 0 of shops", "is")),
        (SHOPS, lambda table: [*sorted(table), "d"], "type", ("a list of 3", LIST_OF_2)),
        (SHOPS, lambda table: ", ".join(sorted(table)), "type", ("a string", LIST_OF_2)),
        (SHOPS, lambda table: sorted(table)[::-1], "value", ("['b', 'a']", "['a', 'b']")),
        (SHOPS, lambda table: tuple(table), "value", ("('b', 'a')", "['a', 'b']")),
        (SHOPS, lambda _: [None] * 20_000, "type", ("a list of more entries than are read", LIST_OF_2)),
        # Several results are named.
        (BOTH, lambda x: 2 * x, "type", ("a Python float", "(first, second)")),
        (BOTH, lambda x: (x + 1, x), "order", ("second, first", "first, second")),
        (BOTH, lambda x: (x, iter([x])), "type", ("second", f"{OBJECT} list_iterator", "a Python float")),
        # What a verifier cannot verify is told as where values are compared.
        (DRAWN, lambda n: random.random, "type", ()),
        (DRAWN, lambda n: None, "nothing_returned", ()),
    ],
)
def test_the_kind_of_a_result_is_said(task, answer, kind, facts):
    """No answer is called random because what it returns cannot be read."""
    cases_seen.clear()
    verdict = judged_as_text(*task, answer)
    (found,) = verdict.findings
    assert verdict.points == 0 and found.kind == kind and cases_seen == []
    assert all(fact in found.facts or fact in " ".join(found.facts[4:]) for fact in facts)
    assert "(shops)" not in found.sentence + found.evidence


def test_a_verifier_may_be_given_none():
    """Where the reference returns None, an answer that does is verified."""
    silent = exercise_of("silent", lambda draw: [case(math.pi)], verify=lambda cases, values: None)
    assert judged(silent, lambda x: None, lambda x: None).points == 1


# ---- the evidence that a learner is shown --------------------------------------------------------


def made_double():
    return lambda tokens: 2 * tokens


def watching(answer):
    """Tells what is asked for beside the result."""

    def watched(step, tokens, count, look, loud):
        result = answer(step, tokens, count)
        report = {"result": result, "how long": result.shape[0], "loud": loud}
        return {side: report[side] for side in look}

    return watched


def calls_of(*report):
    return lambda draw: [case(made_by(made_double), draw.integers(1, 9, 4), 3, *report, through=watching)]


continued = exercise_of(
    "continued",
    calls_of(["result"], True),
    calls_of(["how long", "loud"], False),
    results=("tokens",),
    base=Exercise,
)


def reference(step, tokens, count):
    return torch.cat([tokens, step(tokens)[:count]])


def evidence_for(exercise, answer, right=reference):
    return [finding.evidence for finding in judged(exercise, right, answer, seed=2).findings]


def test_of_several_sides_those_that_differ_are_shown():
    """Not the arguments of an adapter, which is between the judge and the answer, nor made-up names."""
    shown = evidence_for(continued, lambda step, tokens, count: torch.cat([tokens, tokens[:count]]))
    assert shown[0].startswith("Called with tokens=an int64 tensor of shape (4,), count=3: your tokens: [")
    made_up = Answer("value", value={"how long": 6, "<b>full marks</b>": 1})
    for call in (
        caller_of(lambda *args: reference(*args)[:-1]),
        lambda _name, calls, _watched_calls: Reply([made_up] * len(calls)),
    ):
        found = judge_exercise(continued, reference, call, seed=2).findings
        assert any(": your how long: 6." in finding.evidence for finding in found)
        assert not re.search("loud|full marks", " ".join(finding.evidence for finding in found))
        assert ("value", ("`how long`", "is", "6", "7")) in [(each.kind, each.facts) for each in found]


def two_tables(draw):
    rows, inner, columns = draw.sizes(3)
    yield case(draw.normal(rows, inner), draw.normal(columns, inner))


pair = exercise_of("pair", two_tables, results=("output", "weights"), base=Exercise)


def right_pair(query, key):
    weights = torch.softmax(query @ key.mT, dim=-1)
    return weights @ key, weights


@pytest.mark.parametrize("row", [0, 1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_the_evidence_shows_the_first_row_that_differs(seed, row):
    """What is right is shown from its beginning; it shows no right numbers."""

    def wrong_from_there_on(query, key):
        output, weights = right_pair(query, key)
        weights[row:] = 7.5
        return output * 0 + 0.125, weights

    (found,) = judged(pair, right_pair, wrong_from_there_on, seed).findings
    assert f"your weights{f' at [{row}]' if row else ''}: [7.5, 7.5" in found.evidence
    assert "your output: [0.125, 0.125" in found.evidence
    assert not re.search(r"0\.(?!125)\d", found.evidence)
    assert len(re.findall(r"a float32 tensor of shape \(\d+, \d+\)", found.evidence)) == 2


def ten_tensors(draw):
    yield case({f"old.{number}": draw.normal(3, 4) for number in range(10)})


renamed = exercise_of("renamed", ten_tensors, base=Exercise)
left_alone = exercise_of("renamed", ten_tensors, base=Exercise, changed_arguments="one group")
refusing = of_cases("Layer", lambda draw: case(build=build(10, 4, look=("attributes",)), refuses=(10, 4)))


def rename(weights):
    return {name.replace("old", "new"): tensor for name, tensor in weights.items()}


def add_one(weights):
    return {name: tensor + 1 for name, tensor in rename(weights).items()}


def take_out(weights):
    return {name.replace("old", "new"): weights.pop(name) for name in list(weights)}


class Accepting(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()


class Refusing(Accepting):
    def __init__(self, width, heads):
        raise ValueError(f"{width} is not divisible by {heads}")


def added(*sizes):
    return of_cases("added", lambda draw: case(tuple(draw.normal(*size) for size in sizes)))


def sums_of(places):
    return lambda tables: sum(tables[place].sum() for place in places)


ONE_SHAPE = "a tuple of 2, each a float32 tensor of shape (2, 3): "
TWO_SHAPES = "a tuple of 2: a float32 tensor of shape (2, 3) and a float32 tensor of shape (4,): "
A_DICT = "Called with a dict of 10 entries"


@pytest.mark.parametrize(
    ("exercise", "right", "answer", "parts"),
    [
        (added((2, 3), (2, 3)), sums_of([0, 1]), sums_of([0]), [ONE_SHAPE]),
        (added((2, 3), (4,)), sums_of([0, 1]), sums_of([0]), [TWO_SHAPES]),
        # Of many wrong entries a few are shown, and the dict is counted.
        (renamed, rename, add_one, [f"{A_DICT}: your new.0: a float32 tensor of shape (3", "; and 6 more."]),
        (renamed, rename, lambda w: dict.fromkeys(rename(w)), [f"{A_DICT}: your new.0: None"]),
        # Where only an argument is changed, the right entries are not shown.
        (left_alone, rename, take_out, [f"{A_DICT}. (From"]),
        # Where an error is missing, no value is shown.
        (refusing, Refusing, Accepting, ["a module made with (10, 4): no error is raised. (From"]),
    ],
    ids=["one shape", "two shapes", "many entries", "missing entries", "changed", "no error"],
)
def test_the_evidence_tells_what_was_called(exercise, right, answer, parts):
    (shown,) = evidence_for(exercise, answer, right)
    assert all(part in shown for part in parts) and "new.4" not in shown


def test_what_a_change_costs_is_told_once():
    exercise = of_cases("doubled", with_normal(5), results=("numbers",), changed_arguments="one group")

    @exercise.mistake("It doubles in place.")
    def in_place(numbers):
        numbers *= 2
        return numbers

    (found,) = judged(exercise, lambda numbers: 2 * numbers, in_place).findings
    assert found.evidence.count("cost one group") == 1
    assert "changes its input `numbers`" in found.measured and "cost" not in found.measured
