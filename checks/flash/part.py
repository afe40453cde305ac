"""The exercise `part`, and the mistakes it can name."""

import math

import torch

from attention_lab.authoring import FLOATS, FUSED_ATTENTION, SUMS_OF_PRODUCTS, Exercise, add_mistakes, case
from attention_lab.authoring.mask_sentences import HIDDEN_SCORES_ARE_ZERO

part = Exercise(
    "part",
    results=("output", "maximum", "total"),
    axes=(("queries", "numbers of a value"), ("queries",), ("queries",)),
    not_allowed=(FUSED_ATTENTION,),
    tolerance=SUMS_OF_PRODUCTS,
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
    """Return what does not depend on the shift of a part's scores: output, and maximum + log(total)."""

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


def in_steps(
    query,
    key,
    value,
    mask=None,
    *,
    scored=scaled_scores,
    largest=lambda scores: scores.amax(dim=-1),
    exponentials=shares,
    finishes=finish,
    ends=lambda part, scores: part,
):
    """The part, correctly: a mistake changes one step."""
    scores = scored(query, key, mask)
    maximum = largest(scores)
    return ends(finishes(exponentials(scores, maximum), value, maximum), scores)


def unguarded(scores, maximum):
    """NaN where nothing is to be attended to."""
    return (scores - maximum[..., None]).exp()


def divided_by_any_total(exponentials, value, maximum):
    total = exponentials.sum(dim=-1)
    return exponentials @ value / total[..., None], maximum, total


def base_two_shares(scores, maximum):
    return torch.exp2(scores - maximum.masked_fill(maximum == -math.inf, 0.0)[..., None])


def over_the_queries(query, key, value, mask=None):
    scores = scaled_scores(query, key, mask)
    maximum = scores.amax(dim=-2)
    exponentials = (scores - maximum[..., None, :]).exp()
    total = exponentials.sum(dim=-2)
    return exponentials / total[..., None, :] @ value, maximum, total


def maximum_of_the_hidden(query, key, value, mask=None):
    maximum = scaled_scores(query, key).amax(dim=-1)
    return finish(shares(scaled_scores(query, key, mask), maximum), value, maximum)


def total_of_the_hidden_too(query, key, value, mask=None):
    maximum = scaled_scores(query, key, mask).amax(dim=-1)
    every = shares(scaled_scores(query, key), maximum)
    total = every.sum(dim=-1)
    seen = every if mask is None else every.masked_fill(~mask, 0.0)
    return seen @ value / total[..., None], maximum, total


def clears_not_a_number(exponentials, value, maximum):
    total = exponentials.sum(dim=-1)
    # Not a matrix product: whether its gradient multiplies NaN with 0 depends on the machine's library.
    sums = (exponentials[..., None] * value[..., None, :, :]).sum(dim=-2)
    return (sums / total[..., None]).nan_to_num(0.0), maximum, total.nan_to_num(0.0)


add_mistakes(
    part,
    in_steps,
    not_scaled=(
        "The scores are not scaled: a part is made of query · key / √d_k, and its maximum is the largest of "
        "these.",
        lambda query, key, value, mask=None: in_steps(query * query.shape[-1] ** 0.5, key, value, mask),
    ),
    scaled_without_the_root=(
        "The scores are divided by d_k. It is its square root: √d_k.",
        lambda query, key, value, mask=None: in_steps(query / query.shape[-1] ** 0.5, key, value, mask),
    ),
    scaled_by_the_values=(
        "The scores are scaled by the width of the *values*. It is d_k, the width of query and key, that "
        "makes scores large: `query.shape[-1]`.",
        lambda query, key, value, mask=None: in_steps(
            query * math.sqrt(query.shape[-1] / value.shape[-1]), key, value, mask
        ),
    ),
    a_sum_for_the_mean=(
        "`output` is the weighted *sum* of the values, not the weighted mean. Divide it by the total, row by "
        "row.",
        {"ends": lambda part, scores: (part[0] * part[2][..., None], *part[1:])},
    ),
    total_of_the_weights=(
        "`total` is 1 everywhere: it was summed after the softmax. It is the sum of exp(score − maximum), "
        "which the softmax divides by and `merge` weighs parts by.",
        {"ends": lambda part, scores: (*part[:2], (part[2] > 0).to(part[2].dtype))},
    ),
    total_without_the_maximum=(
        "`total` is the sum of exp(score), without subtracting the maximum. It belongs to the maximum that "
        "is returned beside it, and it overflows for large scores: sum exp(score − maximum).",
        {"ends": lambda part, scores: (*part[:2], scores.exp().sum(dim=-1))},
    ),
    logarithm_for_the_total=(
        "`total` is the logarithm of the sum. Return the sum itself; only `flash_attention` returns a "
        "logarithm.",
        {"ends": lambda part, scores: (*part[:2], part[2].log())},
    ),
    logsumexp_for_the_maximum=(
        "`maximum` is the log of the sum of all exp(score). It should be the largest score; with your "
        "maximum the total would be 1.",
        {"ends": lambda part, scores: (part[0], part[1] + part[2].log(), part[2])},
    ),
    one_maximum_for_all=(
        "One maximum was subtracted for all queries. Each query has its own: the largest score over the "
        "keys, the last axis.",
        {"largest": lambda scores: scores.max().expand(scores.shape[:-1]).clone()},
    ),
    over_the_queries=(
        "Maximum and total run over the queries, with one number for each key. They belong to a query: over "
        "the keys, the last axis.",
        over_the_queries,
    ),
    base_two=(
        "The exponentials are of base 2, as in some kernels, but the total has base e: `torch.exp`.",
        {"exponentials": base_two_shares},
    ),
    mask_turned_round=(
        "The mask is inverted: True means that a query may attend. Hide where it is False: `~mask`.",
        {"scored": lambda query, key, mask: scaled_scores(query, key, None if mask is None else ~mask)},
    ),
    mask_left_out=(
        "The mask changes nothing: every query sees every key. Set hidden scores to -inf.",
        {"scored": lambda query, key, mask: scaled_scores(query, key)},
    ),
    hidden_scores_are_zero=(
        HIDDEN_SCORES_ARE_ZERO,
        {"scored": lambda query, key, mask: scaled_scores(query, key) * (1.0 if mask is None else mask)},
    ),
    maximum_of_the_hidden=(
        "The maximum was taken over hidden scores as well. The mean hardly shows it, but maximum and total "
        "are those of the visible keys: hide first, then take the maximum.",
        maximum_of_the_hidden,
    ),
    total_of_the_hidden_too=(
        "Hidden keys are missing in `output`, but not in `total`: they were cleared after the sum was taken. "
        "Clear them before, or the mean is divided by too much.",
        total_of_the_hidden_too,
    ),
    minus_infinity_from_itself=(
        "A query with nothing to attend to becomes NaN: its maximum is -inf, and -inf − (-inf) is not a "
        "number. Subtract 0 in such a row instead, and divide by 1 where the total is 0.",
        {"exponentials": unguarded},
    ),
    zero_by_zero=(
        "`output` is NaN for a query with nothing to attend to: maximum and total are right, but 0 was "
        "divided by 0. Divide by 1 where the total is 0.",
        {"finishes": divided_by_any_total},
    ),
    a_fixed_low_score=(
        "A query with nothing to attend to has a fixed low number, -1e9 or the smallest float, as its "
        "maximum, and counts its hidden keys. Its part is (0, -inf, 0): hide with -inf, and make sure that "
        "no NaN results.",
        {"scored": lambda query, key, mask: scaled_scores(query, key, mask).nan_to_num(neginf=-1e9)},
    ),
    repaired_afterwards=(
        "The results are right, but a gradient is NaN where a query has nothing to attend to: NaN was "
        "computed there and replaced afterwards, and the backward pass still goes through it. Never compute "
        "it: subtract 0 in such a row.",
        {"exponentials": unguarded, "finishes": clears_not_a_number},
    ),
)
