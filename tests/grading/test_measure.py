"""An answer that no named mistake explains gets the most specific sentence that can be measured."""

import math

import pytest
import torch

from attention_lab.grading import respond
from attention_lab.grading.answers import Answer, Reply, read_reply
from attention_lab.grading.exercise import Exercise, ask
from attention_lab.grading.judge import judge


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
    yield ask(*(draw.normal(*size, dtype=dtype) for size in sizes), **options)


def in_float64(draw):
    yield from unequal(draw, torch.float64)


def with_gradients(draw):
    yield from unequal(draw, gradients=True)


def square(draw):
    (size,) = draw.sizes(1)
    yield ask(*(draw.normal(size, size) for _ in range(3)))


def causal(draw):
    length, width = draw.sizes(2)
    yield ask(draw.normal(length, width), mask=torch.ones(length, length).tril().bool())


def masked(draw):
    queries, keys, width = draw.sizes(3)
    yield ask(draw.normal(queries, width), draw.normal(keys, width), mask=draw.mask(queries, keys))


def clashing(draw):
    length, width, other = draw.sizes(3)
    yield ask(draw.normal(length, width), draw.normal(length, other), refuses=(width, other))


def finding(answer, cases, seed=3, ask_kernel=None):
    """The one finding that the judge has about an answer to these cases."""
    exercise = Exercise(
        "attend",
        results=("output", "weights"),
        axes=(("queries", "value width"), ("queries", "keys")),
        weights=1,
    )
    exercise.group("the cases", points=1)(cases)

    def in_process(_name, calls, trace):
        return read_reply(respond.answer_calls(answer, calls, trace), len(calls))

    (found,) = judge(exercise, attend, ask_kernel or in_process, seed).findings
    assert found.mistake is None
    return found


def spoilt(change):
    """Right attention whose results are changed on the way out."""

    def answer(query, key=None, value=None, mask=None):
        return change(*attend(query, key, value, mask))

    return answer


def put(tensor, place, number):
    copy = tensor.clone()
    copy[place] = number
    return copy


def changes_the_key(query, key, value):
    result = attend(query, key, value)
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
    raise RuntimeError("no way back")


def refusing_with(error):
    def answer(query, key=None, value=None):
        raise error

    return answer


def one_ahead(query, mask):
    return attend(query, mask=torch.ones_like(mask).tril(1))


def leaks(query, key, mask):
    weights = attend(query, key, mask=mask)[1] + 0.01
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ key, weights


def by_loops(query, key, value):
    return attend(query.detach(), key, value)


SENTENCES = {
    "nothing": (unequal, spoilt(lambda o, w: None), r"returns nothing, .*\(output, weights\).* `return`"),
    "a list": (unequal, spoilt(lambda o, w: w.tolist()), r"returns a list of \d+, and \(output, weights\)"),
    "one result": (unequal, spoilt(lambda o, w: o), r"returns a tensor of shape \(\d+, \d+\), and \(output, w"),
    "three results": (unequal, spoilt(lambda o, w: (o, w, w)), r"returns a tuple of 3, and \(output, weights\)"),
    "a float": (unequal, spoilt(lambda o, w: 1.5), r"returns a Python float, and \(output, weights\)"),
    "a list inside": (unequal, spoilt(lambda o, w: (o, w.tolist())), r"weights.* list of \d+.* a tensor of shape"),
    "an array": (unequal, spoilt(lambda o, w: (o, w.numpy())), r"ndarray, and a tensor of shape"),
    "other shape": (
        unequal,
        spoilt(lambda o, w: (o, w[None])),
        r"weights has shape \(1, \d+, \d+\), and \(\d+, \d+\) was asked for: \(queries, keys\)",
    ),
    "axes turned": (unequal, spoilt(lambda o, w: (o, w.mT)), r"weights has shape .* have changed places"),
    "transposed": (square, spoilt(lambda o, w: (o, w.mT)), r"weights is transposed"),
    "row sums": (
        unequal,
        spoilt(lambda o, w: (o, put(w, 2, w[2] / 2))),
        r"rows of weights do not sum to 1: row \[2\] sums to 0\.5",
    ),
    "constant factor": (unequal, spoilt(lambda o, w: (8 * o, w)), r"Every number in output is 8 times"),
    "NaN": (unequal, spoilt(lambda o, w: (o, put(w, 3, math.nan))), r"weights is NaN in row 3 \(\d+ of \d+"),
    "infinite": (unequal, spoilt(lambda o, w: (put(o, (2, 1), math.inf), w)), r"output is infinite in row 2 \(1 of"),
    "one number": (
        unequal,
        spoilt(lambda o, w: (put(o, (4, 1), 99.0), w)),
        r"output has the right shape but other numbers: at \[4, 1\] yours is 99, and .* is right",
    ),
    "changed input": (unequal, changes_the_key, r"changes its input `key`"),
    "the future": (causal, one_ahead, r"weights looks? into the future: .* at query 0, key 1, where 0"),
    "mask ignored": (masked, lambda query, key, mask: attend(query, key), r"weights attends? where the mask forbids"),
    "mask leaks": (masked, leaks, r"weights attends? where the mask forbids it: .* where 0 is right"),
    "value ignored": (square, lambda q, k, v: attend(q, k), r"output is the same as if `value` had not been given"),
    "key ignored": (square, lambda q, k, v: attend(q, None, v), r"`key`.*not used"),
    "dtype": (in_float64, spoilt(lambda o, w: (o, w.float())), r"weights has dtype float32, and float64 was asked"),
    "no gradient": (with_gradients, by_loops, r"no gradient reaches `query`"),
    "NaN gradient": (with_gradients, backwards(lambda g: g * math.nan), r"gradient of `key` is NaN"),
    "other gradient": (with_gradients, backwards(lambda g: g * 2), r"values agree, but their gradients differ"),
    "no backward": (with_gradients, backwards(no_way_back), r"the backward pass stops: no way back\.$"),
    "an exception": (unequal, refusing_with(KeyError("x")), r"stops with KeyError at the line `raise error`: 'x'\.$"),
    "a stub": (unequal, refusing_with(NotImplementedError()), r"is not written yet"),
    "no function": (unequal, None, r"There is no `attend`"),
    "not refused": (clashing, lambda q, k: (q, q), r"returns an answer .* which cannot work: raise a ValueError"),
    "refused by assert": (clashing, refusing_with(AssertionError("widths 3")), r"ValueError .*\d+ and \d+"),
    "refused by torch": (clashing, lambda q, k: q @ k.mT, r"ValueError .*\d+ and \d+"),
    "refused, no numbers": (clashing, refusing_with(ValueError("they clash")), r"they clash.*\d+ and \d+"),
}


@pytest.mark.parametrize(("cases", "answer", "sentence"), SENTENCES.values(), ids=SENTENCES)
def test_the_sentence_says_what_was_measured(cases, answer, sentence):
    said = finding(answer, cases).sentence
    assert torch.is_tensor(said) is False and said.endswith((".", "?"))
    import re

    assert re.search(sentence, said), said
