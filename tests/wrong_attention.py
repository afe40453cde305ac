"""Attention, cases to ask it about, and ways to be wrong that no mistake names."""

import math

import torch

from attention_lab.authoring import Exercise, case
from nbjudge.calls import read_reply
from nbjudge.judge.scoring import judge_exercise
from nbjudge.probe import respond


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


def finding(answer, cases, seed=3, ask_kernel=None):
    """The one finding that the judge has about an answer to these cases."""
    exercise = Exercise(
        "attend",
        results=("output", "weights"),
        axes=(("queries", "value width"), ("queries", "keys")),
        weights=1,
    )
    exercise.group("the cases", points=1)(cases)

    def in_process(_name, calls, watched_calls):
        return read_reply(respond.answer_calls(answer, calls, watched_calls), len(calls))

    (found,) = judge_exercise(exercise, attend, ask_kernel or in_process, seed).findings
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
