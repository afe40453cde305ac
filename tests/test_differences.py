"""An answer that no named mistake explains gets the most specific sentence that can be measured."""

import math
import re
from functools import partial

import pytest
import torch
from judged_answers import exercise_of, judged

from attention_lab.authoring import Exercise, build, case
from nbjudge.calls import Answer, Reply
from nbjudge.judge.compare import is_right
from nbjudge.judge.drawn_group import draw_groups
from nbjudge.judge.scoring import judge_exercise

# ---- attention, cases to ask it about, and ways to be wrong that no mistake names ----


def attend(query, key=None, value=None, mask=None):
    key = query if key is None else key
    value = key if value is None else value
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f"query has width {query.shape[-1]}, key has width {key.shape[-1]}")
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def unequal(draw, dtype=torch.float32, **options):
    queries, keys, width, value_width = draw.sizes(4)
    sizes = (queries, width), (keys, width), (keys, value_width)
    yield case(*(draw.normal(*size, dtype=dtype) for size in sizes), **options)


def in_float64(draw):
    yield from unequal(draw, torch.float64)


def two_texts(draw):
    for _ in range(2):
        yield case(draw.normal(5, 6), draw.normal(7, 6), draw.normal(7, 6))


def with_gradients(draw):
    yield from unequal(draw, gradients=True)


def square(draw):
    (size,) = draw.sizes(1)
    yield case(*(draw.normal(size, size) for _ in range(3)))


def causal(draw):
    length, width = draw.sizes(2)
    yield case(draw.normal(length, width), mask=torch.ones(length, length).tril().bool())


def masked(draw):
    queries, keys, width = draw.sizes(3)
    yield case(draw.normal(queries, width), draw.normal(keys, width), mask=draw.mask(queries, keys))


def clashing(draw):
    length, width, other = draw.sizes(3)
    yield case(draw.normal(length, width), draw.normal(length, other), refuses=(width, other))


def clashing_or_else(draw):
    yield case(draw.normal(3, 5), draw.normal(3, 4), refuses=(5,), or_naming=(10, 2))


exercise_of = partial(exercise_of, base=Exercise)


def attention_exercise(cases):
    axes = (("queries", "value width"), ("queries", "keys"))
    return exercise_of("attend", cases, results=("output", "weights"), axes=axes, weights=1)


def spoilt(change):
    """Right attention whose results are changed on the way out."""

    def answer(query, key=None, value=None, mask=None):
        return change(*attend(query, key, value, mask))

    return answer


def put(tensor, place, number):
    copy = tensor.clone()
    copy[place] = number
    return copy


def changes_the_key(query, key=None, value=None):
    result = attend(query, key, value)
    if key is not None:
        key *= 2
    return result


class Backwards(torch.autograd.Function):
    """The identity, with a backward pass of its own."""

    @staticmethod
    def forward(context, x, back):
        context.back = back
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        return context.back(gradient), None


def backwards(back):
    return lambda query, key, value: attend(query, Backwards.apply(key, back), value)


def no_way_back(gradient):
    raise RuntimeError("no way back.")


def raising(error):
    def answer(query, key=None, value=None):
        raise error

    return answer


def one_ahead(query, mask):
    return attend(query, mask=torch.ones_like(mask).tril(1))


def leaks(query, key, mask):
    weights = attend(query, key, mask=mask)[1] + 0.01
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ key, weights


def multiplied(query, key):
    return query @ key.mT


def detached(query, key, value):
    return attend(query.detach(), key, value)


# ---- the sentences ----

PAIR = r"expected \(output, weights\)"
REFUSED = r"raise a ValueError .* \d+ and \d+"


def with_query(query, key, value):
    output, weights = attend(query, key, value)
    return output + query, weights


CONSTANTS = attend(torch.ones(5, 6), torch.ones(7, 6), torch.ones(7, 6))
# How the results of right attention are changed on the way out, and the sentence.
SPOILT = {
    "nothing": (lambda o, w: None, f"returns nothing, {PAIR}.* `return`"),
    "a list": (lambda o, w: w.tolist(), rf"returns a list of \d+, {PAIR}"),
    "one result": (lambda o, w: o, f"returns a tensor of shape .*, {PAIR}"),
    "a float": (lambda o, w: 1.5, f"returns a Python float, {PAIR}"),
    "a list inside": (lambda o, w: (o, w.tolist()), "weights.* list of .* a tensor"),
    "an array": (lambda o, w: (o, w.numpy()), "is an array of .*, expected a tensor of shape"),
    "other shape": (lambda o, w: (o, w[None]), r"weights has shape \(1, .*\(queries, keys\)"),
    "both shapes": (lambda o, w: (o[None], w[None]), "^weights has shape"),
    "axes turned": (lambda o, w: (o, w.mT), "weights has shape .* changed places"),
    "row sums": (lambda o, w: (o, put(w, 2, w[2] / 2)), r"not sum to 1: row \[2\] sums to 0\.5"),
    "a factor": (lambda o, w: (8 * o, w), "Every number in output is 8 times"),
    "NaN": (lambda o, w: (o, put(w, 3, math.nan)), "weights is NaN in row 3"),
    "infinite": (lambda o, w: (put(o, (2, 1), math.inf), w), r"infinite in row 2 \(1 of"),
    "a factor of a size": (
        lambda o, w: (o / w.shape[-1], w),
        r"is 0\.\d+ times what it should be, that is 1/(\d+), and \1 is a size of what went in",
    ),
    "a difference": (lambda o, w: (o + 2, w), "number in output is 2 more than it should be"),
    "one row": (lambda o, w: (put(o, 4, 99.0), w), "except at position 4 of “queries”: at"),
    "every other column": (
        lambda o, w: (put(o, (..., slice(1, None, 2)), 9.0), w),
        "output agrees except at the odd positions of “value width”",
    ),
    "nearly right": (
        lambda o, w: (o + 1e-3 * o.roll(1), w),
        "half precision\\? They come close: the furthest differ by 0.00\\d+, and 1e-05 and 1e-04 of a number",
    ),
    "twice": (lambda o, w: (o, w.softmax(-1)), "weights have been through the softmax twice"),
    "one number": (lambda o, w: (put(o, (4, 1), 99.0), w), r"at \[4, 1\] yours is 99, and"),
    "another scale": (
        lambda o, w: (o, (w.log() / 3).softmax(-1)),
        "weights come from scores that are 0.3333 times what they should be",
    ),
    "rows moved": (
        lambda o, w: (torch.cat([o[[1, 0]], o[2:]]), w),
        "wrong positions of “queries”: position 0 holds what belongs at 1",
    ),
    "a factor per row": (
        lambda o, w: (o * torch.arange(1.0, len(o) + 1)[:, None], w),
        "output is right along “value width” up to a factor, which differs from row to row: one is",
    ),
    "only the output right": (lambda o, w: (o, w / 2), r"The output agrees\.$"),
    "only the weights right": (lambda o, w: (o + o**2, w), r"The weights agree\.$"),
}
# What the student wrote, the cases that show it, and the sentence.
SENTENCES = {
    "transposed": (square, spoilt(lambda o, w: (o, w.mT)), "weights is transposed"),
    "scores": (
        square,
        lambda q, k, v: (attend(q, k, v)[0], q @ k.mT / q.shape[-1] ** 0.5),
        "before the softmax",
    ),
    "changed input": (unequal, changes_the_key, "changes its input `key`"),
    "the future": (causal, one_ahead, "weights looks? into the future: .* at query 0, key 1, where 0"),
    "mask ignored": (masked, lambda query, key, mask: attend(query, key), "as if `mask` had not been given"),
    "mask leaks": (masked, leaks, "weights attends? where the mask forbids it: .* where 0 is right"),
    "value ignored": (square, lambda q, k, v: attend(q, k), "as if `value` had not been given"),
    "key ignored": (square, lambda q, k, v: attend(q, None, v), "`key`.*not used"),
    "an argument negated": (
        square,
        lambda q, k, v: attend(-q, k, v),
        "weights is the same as if `query` were negated",
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
    "an argument added": (square, with_query, r"output is too much by the tensor of shape .* that went in"),
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
    "constants": (two_texts, lambda q, k, v: CONSTANTS, "^`attend` gives the same answer to 2 calls whose"),
    "NaN in every call": (two_texts, spoilt(lambda o, w: (o * math.nan, w * math.nan)), "NaN"),
    "nothing in every call": (two_texts, lambda q, k, v: None, r"Is the `return` line missing\?$"),
    "an announced error": (
        two_texts,
        raising(RuntimeError('Error(s) in loading Layer:\n\tMissing key(s) in state_dict: "mask". ')),
        r'Error\(s\) in loading Layer: Missing key\(s\) in state_dict: "mask"\.',
    ),
    "refused, no numbers": (clashing, raising(ValueError("they clash")), r"they clash.* \d+ and \d+"),
}
SENTENCES |= {name: (unequal, spoilt(change), sentence) for name, (change, sentence) in SPOILT.items()}


@pytest.mark.parametrize(("cases", "answer", "sentence"), SENTENCES.values(), ids=SENTENCES)
def test_the_sentence_says_what_was_measured(cases, answer, sentence):
    (found,) = judged(attention_exercise(cases), attend, answer).findings
    assert found.mistake is None
    assert re.search(sentence, found.sentence), found.sentence
    assert re.search(r"[^.][.?]$", found.sentence), found.sentence


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

    (found,) = judge_exercise(attention_exercise(unequal), attend, ask_kernel, 3).findings
    assert sentence in found.sentence
    assert found.evidence == ""


def share(scores, mask=None):
    """Weights by a fill so low that no learner means it; a row with nothing to attend to is all zeros."""
    hidden = torch.zeros_like(scores, dtype=torch.bool) if mask is None else ~mask
    return scores.masked_fill(hidden, -1e30).softmax(dim=-1).masked_fill(hidden, 0.0)


def with_an_empty_row(draw):
    mask = torch.ones(7, 9).bool()
    mask[2] = False
    yield case(draw.normal(7, 9), mask)


def test_a_line_that_always_stops_is_told_once():
    exercise = exercise_of(
        "add",
        lambda draw: [case(draw.normal(3))],
        lambda draw: [case(draw.normal(3, 4))],
        lambda draw: [case([1.0, draw.integer(5, 9) / 2])],
    )

    def answer(x):
        return float(len(x) / 7) if isinstance(x, list) else x + (x, x)

    def right(x):
        return sum(x) if isinstance(x, list) else 2 * x

    sentences = [finding.sentence for finding in judged(exercise, right, answer).findings]
    assert sum("TypeError" in sentence for sentence in sentences) == 1, sentences
    assert any("gives 0.2857" in sentence for sentence in sentences), sentences


def cached(token):
    """A pair, of which the second is a pair itself."""
    return token, (token, 2 * token)


def tables(draw):
    return [case(draw.normal(*draw.sizes(2)))]


def caching(spoil):
    """An answer whose output is right, and whose cache is changed."""
    return lambda x: (x, spoil(cached(x)[1], x))


def three_results(*order):
    return lambda x: tuple((x, 2 * x, x + 1)[place] for place in order)


# Exercises with their references.
COUNT = exercise_of("count", lambda draw: [case(draw.integer(5, 9))]), float
SHARES = {"results": ("weights",), "axes": (("queries", "keys"),), "weights": 0}
EMPTY_ROW = exercise_of("share", with_an_empty_row, **SHARES), share
ONE_ROW = exercise_of("share", lambda draw: [case(draw.normal(9))], **SHARES), share
CACHED = exercise_of("cached", tables, results=("output", "cache")), cached
THREE = exercise_of("three", tables, results=("one", "two", "three")), three_results(0, 1, 2)
HIDDEN = (
    r"^Row \[2\] of the weights sums to 1, expected 0: all its keys are hidden, so each of its weights must"
)


@pytest.mark.parametrize(
    ("task", "answer", "sentence"),
    [
        (COUNT, lambda n: 2.0 * n, r"gives 1\d, and \d is right"),
        (COUNT, lambda n: n, "returns an int, expected a Python float"),
        (COUNT, lambda n: torch.tensor(float(n)), r"a tensor of shape \(\), expected a Python float"),
        (EMPTY_ROW, lambda scores, mask: scores.masked_fill(~mask, -1e9).softmax(dim=-1), HIDDEN),
        (ONE_ROW, lambda scores: 0.1 + share(scores), r"^The weights do not sum to 1: they sum to 1\.9\.$"),
        # The array that differs is named, also within a result.
        (CACHED, caching(lambda cache, x: (*cache, x)), "cache is a tuple of 3, expected a tuple of 2"),
        (CACHED, caching(lambda cache, _: (cache[0], cache[1][:1])), "entry 1 of cache has shape"),
        (CACHED, caching(lambda cache, _: cache[::-1]), "entry 0 of cache is 2 times|2 times what"),
        (CACHED, caching(lambda cache, _: (cache[0].tolist(), cache[1])), "entry 0 of cache is a list of"),
        (CACHED, caching(lambda c, _: (c[0], put(c[1], (1, 0), 99.0))), r"entry 1 .*at \[1, 0\] yours is 99"),
        (THREE, three_results(1, 0, 2), r"returns \(two, one, three\), expected \(one, two, three\)"),
        (THREE, three_results(2, 0, 1), r"returns \(three, one, two\), expected \(one, two, three\)"),
    ],
)
def test_what_is_no_pair_of_tensors_is_told(task, answer, sentence):
    (found,) = judged(*task, answer, seed=1).findings
    assert re.search(sentence, found.sentence), found.sentence
    assert found.sentence.endswith("The output agrees.") == (task is CACHED)


@pytest.mark.parametrize("sentence", ["5 is odd", "10 / 2 is odd"])
def test_other_numbers_may_say_as_much(sentence):
    error_answer = Answer("raised", error="ValueError", message=sentence)
    exercise = Exercise("attend", results=("output",))
    assert is_right(exercise, case(refuses=(5,), or_naming=(10, 2)), error_answer, error_answer)


def test_an_empty_row_may_have_a_gradient():
    """Weights of the output are never so large that a right answer's gradient overflows."""

    def shares(x):
        total = (x * 0).sum(-1, keepdim=True)
        return x * 0 / total.clamp(min=torch.finfo(x.dtype).tiny)

    def empty_rows(draw):
        yield case(draw.normal(40, 50), gradients=True)

    exercise = exercise_of("shares", empty_rows, results=("shares",), weights=1)
    for seed in range(20):
        (drawn_group,) = draw_groups(exercise, shares, seed)
        (gradient,) = drawn_group.expected[0].gradients.values()
        assert gradient.isfinite().all()


def even(sentence):
    """Refuse an odd length with a sentence, or with an error of Python's own."""

    def answer(x):
        if len(x) % 2:
            if not sentence:
                int("seven")  # raises a ValueError, too
            raise ValueError(sentence.format(len(x)))
        return x

    return answer


@pytest.mark.parametrize(("sentence", "mistake"), [("that cannot work", "answer"), ("", None)])
def test_an_intended_error_may_have_other_words(sentence, mistake):
    odd = lambda draw: [case(draw.normal(5), refuses=(5,))]  # noqa: E731
    exercise = exercise_of("even", lambda draw: [case(draw.normal(4))], odd)
    exercise.mistake("Name the length.")(even("the length must be even"))
    assert judged(exercise, even("{} is odd"), even(sentence)).findings[0].mistake == mistake


class Linear(torch.nn.Module):
    """Two maps in a row, of which a step may be changed."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = torch.nn.Linear(width, width), torch.nn.Linear(width, width)

    def steps(self, x):
        return self.second(self.first(x))

    def forward(self, x):
        return self.steps(x)


NEGATIVE = "the sum were negative"
OF_WEIGHTS = {
    "`second` had the weights of `first`": lambda self, x: self.first(self.first(x)),
    "`first` and `second` were exchanged": lambda self, x: self.first(self.second(x)),
    "the bias of `first` were 0": lambda self, x: self.second(x @ self.first.weight.T),
    "`second` were not applied": lambda self, x: self.first(x),
    "the weight of `first` were transposed": lambda self, x: self.second(
        x @ self.first.weight + self.first.bias
    ),
    NEGATIVE: lambda self, x: -self.second(self.first(x)) * x,
}


@pytest.mark.parametrize(("clause", "steps"), OF_WEIGHTS.items(), ids=OF_WEIGHTS)
def test_wrong_use_of_weights_is_told(clause, steps):
    def numbers(draw):
        state = {f"{part}.weight": draw.normal(7, 7) for part in ("first", "second")}
        state |= {f"{part}.bias": draw.normal(7) for part in ("first", "second")}
        yield case(draw.normal(5, 7), build=build(7, state=state))

    exercise = exercise_of("Linear", numbers, results=("output",))
    exercise.cause(NEGATIVE, type("Wrong", (Linear,), {"steps": OF_WEIGHTS[NEGATIVE]}))
    verdict = judged(exercise, Linear, type("Linear", (Linear,), {"steps": steps}), 0)
    assert f"output is the same as if {clause}" in verdict.findings[0].sentence
