"""An answer that no named mistake explains gets the most specific sentence that can be measured."""

import math
import re

import pytest
import torch
from wrong_attention import (
    attend,
    backwards,
    causal,
    changes_the_key,
    clashing,
    clashing_or_else,
    detached,
    finding,
    in_float64,
    leaks,
    masked,
    multiplied,
    no_way_back,
    one_ahead,
    put,
    raising,
    spoilt,
    square,
    unequal,
    with_gradients,
)

from attention_lab.authoring import Exercise, build, case
from nbjudge.calls import Answer, Reply, read_reply
from nbjudge.judge.compare import is_right
from nbjudge.judge.drawn_group import draw_groups
from nbjudge.judge.scoring import judge_exercise
from nbjudge.probe import respond
from nbjudge.torch import Draw

PAIR = r"expected \(output, weights\)"
REFUSED = r"raise a ValueError .* \d+ and \d+"


def with_query(query, key, value):
    output, weights = attend(query, key, value)
    return output + query, weights


# What the student wrote, the cases that show it, and the sentence.
SENTENCES = {
    "nothing": (unequal, spoilt(lambda o, w: None), f"returns nothing, {PAIR}.* `return`"),
    "a list": (unequal, spoilt(lambda o, w: w.tolist()), rf"returns a list of \d+, {PAIR}"),
    "one result": (unequal, spoilt(lambda o, w: o), f"returns a tensor of shape .*, {PAIR}"),
    "a float": (unequal, spoilt(lambda o, w: 1.5), f"returns a Python float, {PAIR}"),
    "a list inside": (unequal, spoilt(lambda o, w: (o, w.tolist())), "weights.* list of .* a tensor"),
    "an array": (
        unequal,
        spoilt(lambda o, w: (o, w.numpy())),
        "is an array of .*, expected a tensor of shape",
    ),
    "other shape": (
        unequal,
        spoilt(lambda o, w: (o, w[None])),
        r"weights has shape \(1, .*\(queries, keys\)",
    ),
    "both shapes": (unequal, spoilt(lambda o, w: (o[None], w[None])), "^weights has shape"),
    "axes turned": (unequal, spoilt(lambda o, w: (o, w.mT)), "weights has shape .* changed places"),
    "transposed": (square, spoilt(lambda o, w: (o, w.mT)), "weights is transposed"),
    "row sums": (
        unequal,
        spoilt(lambda o, w: (o, put(w, 2, w[2] / 2))),
        r"not sum to 1: row \[2\] sums to 0\.5",
    ),
    "a factor": (unequal, spoilt(lambda o, w: (8 * o, w)), "Every number in output is 8 times"),
    "NaN": (unequal, spoilt(lambda o, w: (o, put(w, 3, math.nan))), "weights is NaN in row 3"),
    "infinite": (unequal, spoilt(lambda o, w: (put(o, (2, 1), math.inf), w)), r"infinite in row 2 \(1 of"),
    "a factor of a size": (
        unequal,
        spoilt(lambda o, w: (o / w.shape[-1], w)),
        r"is 0\.\d+ times what it should be, that is 1/(\d+), and \1 is a size of what went in",
    ),
    "a difference": (
        unequal,
        spoilt(lambda o, w: (o + 2, w)),
        "number in output is 2 more than it should be",
    ),
    "one row": (unequal, spoilt(lambda o, w: (put(o, 4, 99.0), w)), "except at position 4 of “queries”: at"),
    "every other column": (
        unequal,
        spoilt(lambda o, w: (put(o, (..., slice(1, None, 2)), 9.0), w)),
        "output agrees except at the odd positions of “value width”",
    ),
    "nearly right": (
        unequal,
        spoilt(lambda o, w: (o + 1e-3 * o.roll(1), w)),
        "other numbers: .* They come close: the furthest differ by 0.00\\d+, and 1e-05 and 1e-04 of a number",
    ),
    "scores": (
        square,
        lambda q, k, v: (attend(q, k, v)[0], q @ k.mT / q.shape[-1] ** 0.5),
        "before the softmax",
    ),
    "twice": (
        unequal,
        spoilt(lambda o, w: (o, w.softmax(-1))),
        "weights have been through the softmax twice",
    ),
    "one number": (unequal, spoilt(lambda o, w: (put(o, (4, 1), 99.0), w)), r"at \[4, 1\] yours is 99, and"),
    "changed input": (unequal, changes_the_key, "changes its input `key`"),
    "the future": (causal, one_ahead, "weights looks? into the future: .* at query 0, key 1, where 0"),
    "mask ignored": (masked, lambda query, key, mask: attend(query, key), "where the mask forbids it"),
    "mask leaks": (masked, leaks, "weights attends? where the mask forbids it: .* where 0 is right"),
    "value ignored": (square, lambda q, k, v: attend(q, k), "as if `value` had not been given"),
    "key ignored": (square, lambda q, k, v: attend(q, None, v), "`key`.*not used"),
    "an argument negated": (
        square,
        lambda q, k, v: attend(-q, k, v),
        "weights come from scores that are -1 times what they should be",
    ),
    "two arguments exchanged": (
        square,
        lambda q, k, v: attend(q, v, k),
        "weights is the same as if `value` were in the place of `key`",
    ),
    "one entry for all": (
        square,
        lambda q, k, v: attend(q[:1].expand_as(q), k, v),
        "weights is the same as if `query` were its first entry for all along axis 0",
    ),
    "another scale": (
        unequal,
        spoilt(lambda o, w: (o, (w.log() / 3).softmax(-1))),
        "weights come from scores that are 0.3333 times what they should be",
    ),
    "an argument added": (square, with_query, r"output is too much by the tensor of shape .* that went in"),
    "rows moved": (
        unequal,
        spoilt(lambda o, w: (torch.cat([o[[1, 0]], o[2:]]), w)),
        "wrong positions of “queries”: position 0 holds what belongs at 1",
    ),
    "a factor per row": (
        unequal,
        spoilt(lambda o, w: (o * torch.arange(1.0, len(o) + 1)[:, None], w)),
        "output is right along “value width” up to a factor, which differs from row to row: one is",
    ),
    "dtype": (in_float64, spoilt(lambda o, w: (o, w.float())), "weights has dtype float32, expected float64"),
    "no gradient": (with_gradients, detached, "no gradient reaches `query`"),
    "NaN gradient": (with_gradients, backwards(lambda g: g * math.nan), "gradient of `key` is NaN"),
    "other gradient": (
        with_gradients,
        backwards(lambda g: g * 2),
        "values agree, but the gradient of `key` differs",
    ),
    "no way back": (with_gradients, backwards(no_way_back), "backward pass stops: no way back"),
    "an exception": (
        unequal,
        raising(KeyError("x")),
        "stops with KeyError at the line `raise error`: 'x'. Called with .*, it must return `output`, a",
    ),
    "a stub": (unequal, raising(NotImplementedError()), "is not written yet"),
    "a stub, to refuse": (clashing, raising(NotImplementedError()), "is not written yet"),
    "no function": (unequal, None, "There is no `attend`"),
    "not refused": (clashing, lambda q, k: (q, q), f"returns an answer .* {REFUSED}"),
    "refused by assert": (clashing, raising(AssertionError("widths 3")), f"AssertionError.* {REFUSED}"),
    "refused by torch": (clashing, multiplied, f"RuntimeError.* {REFUSED}"),
    "refused, neither": (clashing_or_else, raising(ValueError("10 is odd")), r"odd.* hold 5, or 10 and 2\.$"),
    "not refused, neither": (clashing_or_else, lambda q, k: (q, q), r"sentence that holds 5, or 10 and 2\.$"),
    "refused, no numbers": (clashing, raising(ValueError("they clash")), r"they clash.* \d+ and \d+"),
}


@pytest.mark.parametrize(("cases", "answer", "sentence"), SENTENCES.values(), ids=SENTENCES)
def test_the_sentence_says_what_was_measured(cases, answer, sentence):
    message = finding(answer, cases).sentence
    assert re.search(sentence, message), message
    assert re.search(r"[^.][.?]$", message), message


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        ("timeout", "did not answer in time"),
        ("died", "The kernel died while `attend` ran"),
        ("missing", "There is no `attend`"),
        ("unreadable", "cannot be read: too long"),
    ],
)
def test_no_answer_is_told_from_a_wrong_one(status, sentence):
    def ask_kernel(_name, calls, _watched_calls):
        return Reply([Answer(status, message="too long")] * len(calls))

    found = finding(None, unequal, ask_kernel=ask_kernel)
    assert sentence in found.sentence
    assert found.evidence == ""


@pytest.mark.parametrize(
    ("change", "sentence"),
    [(lambda o, w: (o, w / 2), "The output agrees."), (lambda o, w: (o + o**2, w), "The weights agree.")],
)
def test_the_result_that_is_right_is_named_as_well(change, sentence):
    assert finding(spoilt(change), unequal).sentence.endswith(sentence)


def test_a_number_is_told_from_a_tensor_and_an_int():
    exercise = Exercise("count", results=("count",))
    exercise.group("one", points=1)(lambda draw: [case(draw.integer(5, 9))])
    for answer, sentence in {
        lambda n: 2.0 * n: r"gives 1\d, and \d is right",
        lambda n: n: r"returns an int, expected a Python float",
        lambda n: torch.tensor(float(n)): r"returns a tensor of shape \(\), expected a Python float",
    }.items():

        def in_process(_name, calls, watched_calls, answer=answer):
            return read_reply(respond.answer_calls(answer, calls, watched_calls), len(calls))

        assert re.search(sentence, judge_exercise(exercise, lambda n: float(n), in_process, seed=1).message)


def two_texts(draw):
    for _ in range(2):
        yield case(draw.normal(5, 6), draw.normal(7, 6), draw.normal(7, 6))


def test_constants_in_place_of_arguments_are_told():
    constants = attend(torch.ones(5, 6), torch.ones(7, 6), torch.ones(7, 6))
    sentence = finding(lambda query, key, value: constants, two_texts).sentence
    assert sentence.startswith("`attend` gives the same answer to 2 calls whose right answers differ")


def test_what_is_nan_in_every_call_is_told_as_that():
    sentence = finding(
        spoilt(lambda output, weights: (output * math.nan, weights * math.nan)), two_texts
    ).sentence
    assert "NaN" in sentence


def cached(token):
    """A pair, of which the second is a pair itself."""
    return token, (token, 2 * token)


def share(scores, mask=None):
    """Weights by a fill so low that no learner means it; a row with nothing to attend to is all zeros."""
    hidden = torch.zeros_like(scores, dtype=torch.bool) if mask is None else ~mask
    return scores.masked_fill(hidden, -1e30).softmax(dim=-1).masked_fill(hidden, 0.0)


def with_an_empty_row(draw):
    mask = torch.ones(7, 9).bool()
    mask[2] = False
    yield case(draw.normal(7, 9), mask)


def one_row(draw):
    yield case(draw.normal(9))


@pytest.mark.parametrize(
    ("answer", "cases", "sentence"),
    [
        (
            lambda scores, mask: scores.masked_fill(~mask, -1e9).softmax(dim=-1),
            with_an_empty_row,
            "Row [2] of the weights sums to 1, expected 0: all its keys are hidden, so each of its weights "
            "must be 0.",
        ),
        (
            lambda scores: 0.1 + share(scores),
            one_row,
            "The weights do not sum to 1: they sum to 1.9.",
        ),
    ],
)
def test_a_wrong_sum_is_told_by_the_rows_that_there_are(answer, cases, sentence):
    exercise = Exercise("share", results=("weights",), axes=(("queries", "keys"),), weights=0)
    exercise.group("the cases", points=1)(cases)

    def in_process(_name, calls, watched_calls):
        return read_reply(respond.answer_calls(answer, calls, watched_calls), len(calls))

    assert judge_exercise(exercise, share, in_process, seed=3).message == sentence


def test_one_line_that_stops_in_every_group_is_told_once():
    exercise = Exercise("add", results=("sum",), draw=Draw)
    exercise.group("numbers", points=1)(lambda draw: [case(draw.normal(3))])
    exercise.group("tables", points=1)(lambda draw: [case(draw.normal(3, 4))])
    exercise.group("a list", points=1)(lambda draw: [case([1.0, draw.integer(5, 9) / 2])])

    def answer(x):
        if isinstance(x, list):
            return float(len(x) / 7)
        return x + (x, x)

    def in_process(_name, calls, watched_calls):
        return read_reply(respond.answer_calls(answer, calls, watched_calls), len(calls))

    def right(x):
        return sum(x) if isinstance(x, list) else 2 * x

    sentences = [each.sentence for each in judge_exercise(exercise, right, in_process, seed=3).findings]
    assert sum("TypeError" in sentence for sentence in sentences) == 1, sentences
    assert any("gives 0.2857" in sentence for sentence in sentences), sentences


CACHES = {
    "one too many": (
        lambda token, cache: (token, (*cache, token)),
        "cache is a tuple of 3, expected a tuple of 2",
    ),
    "another shape": (lambda token, cache: (token, (cache[0], cache[1][:1])), "entry 1 of cache has shape"),
    "changed places": (lambda token, cache: (token, cache[::-1]), "entry 0 of cache is 2 times|2 times what"),
    "a list in it": (
        lambda token, cache: (token, (cache[0].tolist(), cache[1])),
        "entry 0 of cache is a list of",
    ),
    "one number": (
        lambda token, cache: (token, (cache[0], put(cache[1], (1, 0), 99.0))),
        r"entry 1 of cache .*at \[1, 0\] yours is 99, and",
    ),
}


@pytest.mark.parametrize("name", CACHES)
def test_of_a_result_that_holds_arrays_the_one_that_differs_is_named(name):
    spoil, sentence = CACHES[name]
    exercise = Exercise("cached", results=("output", "cache"), draw=Draw)
    exercise.group("a token", points=1)(lambda draw: [case(draw.normal(*draw.sizes(2)))])

    def in_process(_name, calls, watched_calls):
        reply = respond.answer_calls(lambda *given: spoil(*cached(*given)), calls, watched_calls)
        return read_reply(reply, len(calls))

    (found,) = judge_exercise(exercise, cached, in_process, seed=1).findings
    assert re.search(sentence, found.sentence), found.sentence
    assert found.sentence.endswith("The output agrees.")


@pytest.mark.parametrize("sentence", ["5 is odd", "10 / 2 is odd"])
def test_other_numbers_may_say_as_much(sentence):
    error_answer = Answer("raised", error="ValueError", message=sentence)
    exercise = Exercise("attend", results=("output",))
    assert is_right(exercise, case(refuses=(5,), or_naming=(10, 2)), error_answer, error_answer)


def test_an_empty_row_divided_by_the_smallest_number_has_a_gradient():
    """Weights of the output are never so large that a right answer's gradient overflows."""

    def empty(draw):
        yield case(draw.normal(40, 50), gradients=True)

    exercise = Exercise("shares", results=("shares",), weights=1)
    exercise.group("empty rows", points=1)(empty)

    def shares(x):
        total = (x * 0).sum(-1, keepdim=True)
        return x * 0 / total.clamp(min=torch.finfo(x.dtype).tiny)

    for seed in range(20):
        (drawn_group,) = draw_groups(exercise, shares, seed)
        (gradient,) = drawn_group.expected[0].gradients.values()
        assert gradient.isfinite().all()


def test_nothing_in_every_call_is_told_as_a_missing_return():
    sentence = finding(lambda query, key, value: None, two_texts).sentence
    assert sentence.endswith("Is the `return` line missing?")


def test_an_error_whose_first_line_only_announces_it_is_told_with_the_next():
    def stops(query, key, value):
        raise RuntimeError('Error(s) in loading Layer:\n\tMissing key(s) in state_dict: "mask". ')

    sentence = finding(stops, two_texts).sentence
    assert 'Error(s) in loading Layer: Missing key(s) in state_dict: "mask".' in sentence


def refuses_without_numbers(x):
    if len(x) % 2:
        raise ValueError("the length must be even")
    return x


def says_it_in_other_words(x):
    if len(x) % 2:
        raise ValueError("that cannot work")
    return x


def converts_a_word(x):
    return x if len(x) % 2 == 0 else int("seven")  # int raises a ValueError, too


@pytest.mark.parametrize(
    ("answer", "mistake"),
    [(says_it_in_other_words, "refuses_without_numbers"), (converts_a_word, None)],
)
def test_an_error_raised_on_purpose_is_recognised_in_other_words(answer, mistake):
    exercise = Exercise("even", results=("numbers",), draw=Draw)
    exercise.group("even lengths", points=1)(lambda draw: [case(draw.normal(4))])
    exercise.group("odd lengths", points=1)(lambda draw: [case(draw.normal(5), refuses=(5,))])
    exercise.mistake("Name the length.")(refuses_without_numbers)

    def right(x):
        if len(x) % 2:
            raise ValueError(f"{len(x)} is odd")
        return x

    def in_process(_name, calls, watched_calls):
        return read_reply(respond.answer_calls(answer, calls, watched_calls), len(calls))

    assert judge_exercise(exercise, right, in_process, seed=3).findings[0].mistake == mistake


class Linear(torch.nn.Module):
    """Two maps in a row, of which a step may be changed."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = torch.nn.Linear(width, width), torch.nn.Linear(width, width)

    def steps(self, x):
        return self.second(self.first(x))

    def forward(self, x):
        return self.steps(x)


OF_WEIGHTS = {
    "`second` had the weights of `first`": lambda self, x: self.first(self.first(x)),
    "`first` and `second` were exchanged": lambda self, x: self.first(self.second(x)),
    "the bias of `first` were 0": lambda self, x: self.second(x @ self.first.weight.T),
    "`second` were not applied": lambda self, x: self.first(x),
    "the weight of `first` were transposed": lambda self, x: self.second(
        x @ self.first.weight + self.first.bias
    ),
    "the sum were negative": lambda self, x: -self.second(self.first(x)) * x,
}


@pytest.mark.parametrize(("clause", "steps"), OF_WEIGHTS.items(), ids=OF_WEIGHTS)
def test_wrong_use_of_weights_is_told(clause, steps):
    exercise = Exercise("Linear", results=("output",))
    exercise.cause(
        "the sum were negative", type("Wrong", (Linear,), {"steps": OF_WEIGHTS["the sum were negative"]})
    )

    @exercise.group("numbers", points=1)
    def numbers(draw):
        state = {f"{part}.weight": draw.normal(7, 7) for part in ("first", "second")}
        state |= {f"{part}.bias": draw.normal(7) for part in ("first", "second")}
        yield case(draw.normal(5, 7), build=build(7, state=state))

    answer = type("Linear", (Linear,), {"steps": steps})
    verdict = judge_exercise(exercise, Linear, call_of(answer), 0)
    assert f"output is the same as if {clause}" in verdict.findings[0].sentence


def call_of(answer):
    """Put calls straight to an answer, without a kernel."""
    return lambda _name, calls, watched: read_reply(respond.answer_calls(answer, calls, watched), len(calls))


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 0, 1)])
def test_any_order_of_three_results_is_told(order):
    exercise = Exercise("three", results=("one", "two", "three"))

    @exercise.group("numbers", points=1)
    def numbers(draw):
        yield case(draw.normal(5, 7))

    reference = lambda x: (x, 2 * x, x + 1)  # noqa: E731
    answer = lambda x: tuple(reference(x)[place] for place in order)  # noqa: E731
    names = ", ".join(exercise.results[place] for place in order)
    sentence = judge_exercise(exercise, reference, call_of(answer), 0).findings[0].sentence
    assert f"returns ({names}), expected (one, two, three)" in sentence
