"""The exercise `part`; its mistakes are in a file of their own."""

import math

import torch

from attention_lab.authoring import FLOATS, FUSED_ATTENTION, SUMS_OF_PRODUCTS, Exercise, case

part = Exercise(
    "part",
    results=("output", "maximum", "total"),
    axes=(("queries", "numbers of a value"), ("queries",), ("queries",)),
    not_allowed=(FUSED_ATTENTION,),
    tolerance=SUMS_OF_PRODUCTS,
    mistakes_from=("part_mistakes", "part_mistakes_in_the_mask"),
)


def _inputs(draw, *leading, sizes=None, dtype=torch.float32):
    """Query (..., T_q, d_k), key (..., T_k, d_k) and value (..., T_k, d_v): all sizes differ."""
    queries, keys, width, value_width = sizes or draw.sizes(4)
    return (
        draw.normal(*leading, queries, width, dtype=dtype),
        draw.normal(*leading, keys, width, dtype=dtype),
        draw.normal(*leading, keys, value_width, dtype=dtype),
    )


@part.group("one text", points=1)
def one_text(draw):
    for dtype in FLOATS:
        yield case(*_inputs(draw, dtype=dtype))


@part.group("batches, and batches with heads", points=1)
def batches(draw):
    batch, heads, *sizes = draw.sizes(6)
    for dtype in FLOATS:
        yield case(*_inputs(draw, batch, sizes=sizes, dtype=dtype))
    yield case(*_inputs(draw, batch, heads, sizes=sizes))


@part.group("masks of every shape", points=1)
def masks(draw):
    batch, heads, *sizes = draw.sizes(6)
    queries, keys = sizes[:2]
    for dtype in FLOATS:
        yield case(*_inputs(draw, sizes=sizes, dtype=dtype), draw.mask(queries, keys))
    for shape in ((keys,), (queries, keys), (batch, 1, keys), (batch, queries, keys)):
        yield case(*_inputs(draw, batch, sizes=sizes), mask=draw.mask(*shape))
    yield case(*_inputs(draw, batch, heads, sizes=sizes), mask=draw.mask(batch, 1, 1, keys))


@part.group("queries with nothing to attend to", points=1)
def nothing_to_attend_to(draw):
    batch, *sizes = draw.sizes(5)
    mask = draw.mask(batch, *sizes[:2])
    mask[:, draw.integer(0, sizes[0] - 1)] = False
    mask[draw.integer(0, batch - 1)] = False
    for dtype in FLOATS:
        yield case(*_inputs(draw, batch, sizes=sizes, dtype=dtype), mask)


@part.group("equal sizes, a single key, a single query, a batch of one", points=1)
def edges(draw):
    (size,) = draw.sizes(1)
    yield case(*_inputs(draw, size, sizes=(size,) * 4), draw.mask(size, size))
    queries, width, value_width = draw.sizes(3)
    for pair in ((queries, 1), (1, queries), (1, 1)):
        yield case(*_inputs(draw, sizes=(*pair, width, value_width)))
    yield case(*_inputs(draw, 1, sizes=(1, queries, width, value_width)))


@part.group("large scores", points=1)
def large(draw):
    for factor in (1e2, 2e3):
        query, key, value = _inputs(draw, dtype=torch.float64)
        yield case(factor * query, key, value)
        yield case(query, -factor * key.abs(), value, draw.mask(len(query), len(key)))


def as_logarithm(answer):
    """What does not depend on the shift of a part's scores: output, and maximum + log(total)."""

    def called(query, key, value, mask=None):
        output, maximum, total = answer(query, key, value, mask)
        empty = total == 0
        logsumexp = maximum.masked_fill(empty, 0.0) + total.masked_fill(empty, 1.0).log()
        return output, logsumexp

    return called


@part.group("gradients", points=1)
def gradients(draw):
    batch, *sizes = draw.sizes(5)
    mask = draw.mask(batch, *sizes[:2])
    mask[:, draw.integer(0, sizes[0] - 1)] = False
    for dtype in FLOATS:
        yield case(*_inputs(draw, sizes=sizes, dtype=dtype), through=as_logarithm, gradients=True)
    yield case(*_inputs(draw, batch, sizes=sizes), mask, through=as_logarithm, gradients=True)


def scaled_scores(query, key, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores if mask is None else scores.masked_fill(~mask, -math.inf)


def shares(scores, maximum):
    """exp(score − maximum), and 0 where nothing is to be attended to."""
    return (scores - maximum.masked_fill(maximum == -math.inf, 0.0)[..., None]).exp()


def finish(exponentials, value, maximum):
    """The part: a weighted mean, or zeros where all weights are 0."""
    total = exponentials.sum(dim=-1)
    output = exponentials @ value / total.masked_fill(total == 0, 1.0)[..., None]
    return output, maximum, total


@part.accepted_alternative(
    "A softmax for the mean, and its logarithm's sum for the total: short, and two passes over the scores."
)
def by_softmax(query, key, value, mask=None):
    scores = scaled_scores(query, key, mask)
    maximum = scores.amax(dim=-1)
    empty = maximum == -math.inf
    weights = scores.masked_fill(empty[..., None], 0.0).softmax(dim=-1).masked_fill(empty[..., None], 0.0)
    lowest = maximum.masked_fill(empty, 0.0)[..., None]
    return weights @ value, maximum, (scores - lowest).exp().sum(dim=-1)


@part.accepted_alternative(
    "A column of ones beside the values: one product gives the sums and their total at once."
)
def a_column_of_ones(query, key, value, mask=None):
    scores = scaled_scores(query, key, mask)
    maximum = scores.max(dim=-1).values
    wider = torch.cat([value, torch.ones_like(value[..., :1])], dim=-1)
    sums = shares(scores, maximum) @ wider
    total = sums[..., -1]
    return sums[..., :-1] / torch.where(total > 0, total, 1.0)[..., None], maximum, total


@part.accepted_alternative
def by_einsum(query, key, value, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, -torch.inf)
    maximum = scores.amax(dim=-1, keepdim=True)
    exponentials = torch.exp(scores - torch.where(maximum.isinf(), 0.0, maximum))
    total = exponentials.sum(dim=-1)
    sums = torch.einsum("...qk,...kv->...qv", exponentials, value)
    return sums / total.clamp(min=torch.finfo(total.dtype).tiny)[..., None], maximum[..., 0], total


@part.accepted_alternative
def key_by_key(query, key, value, mask=None):
    scores = scaled_scores(query, key, mask)
    maximum = scores.amax(dim=-1)
    exponentials = shares(scores, maximum)
    total = sums = 0
    for index in range(key.shape[-2]):
        total = total + exponentials[..., index]
        sums = sums + exponentials[..., index, None] * value[..., index, None, :]
    return sums / total.masked_fill(total == 0, 1.0)[..., None], maximum, total


@part.accepted_alternative
def with_a_constant_maximum(query, key, value, mask=None):
    scores = scaled_scores(query, key, mask)
    maximum = scores.detach().amax(dim=-1)
    return [*finish(shares(scores, maximum), value, maximum)]
