"""The exercise `flash_attention`, and right answers written in other ways."""

import math

import torch

from attention_lab.authoring import FLOATS, FUSED_ATTENTION, SUMS_OF_PRODUCTS, Exercise, case
from nbjudge.torch.memory import multiplications_of, without_gradients

from . import memory
from .blocks import finish, hidden, in_blocks, scores_of, start_of

flash_attention = Exercise(
    "flash_attention",
    results=("output", "logsumexp"),
    axes=(("queries", "numbers of a value"), ("queries",)),
    not_allowed=(FUSED_ATTENTION,),
    tolerance=SUMS_OF_PRODUCTS,
)


def _inputs(draw, *leading, queries, keys=None, widths=None, dtype=torch.float32):
    """Query (..., T_q, d_k), key (..., T_k, d_k) and value (..., T_k, d_v)."""
    width, value_width = widths or draw.shuffled((7, 9))
    keys = queries if keys is None else keys
    return (
        draw.normal(*leading, queries, width, dtype=dtype),
        draw.normal(*leading, keys, width, dtype=dtype),
        draw.normal(*leading, keys, value_width, dtype=dtype),
    )


@flash_attention.group("blocks that divide the text", points=1)
def that_divide(draw):
    for dtype in FLOATS:
        block = draw.shuffled((11, 13, 17))[0]
        yield case(*_inputs(draw, queries=2 * block, keys=3 * block, dtype=dtype), block)


@flash_attention.group("a last block that is shorter", points=1)
def shorter(draw):
    for dtype in FLOATS:
        block, queries, keys = draw.shuffled(((11, 17, 26), (13, 34, 18), (11, 26, 36)))[0]
        yield case(*_inputs(draw, queries=queries, keys=keys, dtype=dtype), block, through=without_gradients)


@flash_attention.group("blocks of one, and larger than the text", points=1)
def extremes(draw):
    yield case(*_inputs(draw, queries=5, keys=7), 1)
    queries, keys, block = draw.shuffled((11, 13))[0], 15, 17
    for size in (block, keys):
        yield case(*_inputs(draw, queries=queries, keys=keys), size)
    yield case(*_inputs(draw, queries=1, keys=keys), 11)
    yield case(*_inputs(draw, queries=queries, keys=1), 18, causal=False)


@flash_attention.group("batches, and batches with heads", points=1)
def batches(draw):
    batch, heads = draw.shuffled(draw.batch_sizes)
    for dtype in FLOATS:
        yield case(*_inputs(draw, batch, queries=17, keys=15, dtype=dtype), 13)
    yield case(*_inputs(draw, batch, heads, queries=17), 13, causal=True)
    yield case(*_inputs(draw, 9, 9, queries=9, widths=(9, 9)), 7)
    yield case(*_inputs(draw, 1, queries=1, keys=13), 11)


@flash_attention.group("causal", points=2)
def causal(draw):
    for index, (length, block) in enumerate(draw.shuffled(((26, 11), (36, 13), (34, 15), (28, 11)))):
        yield case(*_inputs(draw, queries=length, dtype=FLOATS[index % 2]), block, causal=True)
    length = draw.shuffled((7, 9))[0]
    for block in (1, length, 2 * length):
        yield case(*_inputs(draw, queries=length), block, True, through=without_gradients)
    yield case(*_inputs(draw, queries=1), 11, True)


@flash_attention.group("large scores", points=1)
def large(draw):
    for factor in (1e2, 2e3):
        for hides in (False, True):
            query, key, value = _inputs(draw, queries=26, dtype=torch.float64)
            yield case(factor * query, key, value, 11, hides)
    query, key, value = _inputs(draw, queries=17, keys=26, dtype=torch.float64)
    yield case(query.abs(), -2e3 * key.abs(), value, 11)


@flash_attention.group("gradients", points=1)
def gradients(draw):
    for dtype in FLOATS:
        yield case(*_inputs(draw, queries=17, keys=13, dtype=dtype), 11, gradients=True)
        yield case(*_inputs(draw, 15, queries=17, dtype=dtype), 11, causal=True, gradients=True)


def _is_small(cases, values):
    """None, a mistake's name or a sentence: what is held at once, of all cases."""
    for drawn_case, told in zip(cases, values, strict=True):
        query, _, _, block_size = drawn_case.args
        length = query.shape[-2]
        sentence, where = memory.within("flash_attention", length, block_size, drawn_case.args[:3], told)
        if where in ("count", "largest") and drawn_case.kwargs:  # the cases before it have no mask
            # Of a short text it takes as many bytes as the scores of half the queries and half the keys.
            return "a_mask_of_all"
        if where == "count":
            return "a_number_of_blocks"
        if where == "largest":
            return "the_whole_matrix"
        if where == "most":
            return "keeps_every_block"
        if sentence:
            return sentence
    return None


@flash_attention.group("memory for a few blocks, not for the matrix", 2, verify=_is_small)
def memory_at_once(draw):
    for length, block, *widths, causal, measure in memory.sizes(draw):
        given = {"causal": True} if causal else {}
        yield case(*_inputs(draw, queries=length, widths=widths), block, **given, measure=measure)


def _leaves_out(cases, values):
    """None, a mistake's name or a sentence: how many scores were computed for a causal text."""
    for drawn_case, multiplications in zip(cases, values, strict=True):
        query, _, value, block_size = drawn_case.args
        length, widths = query.shape[-2], (query.shape[-1], value.shape[-1])
        ends = [min(first + block_size, length) for first in range(0, length, block_size)]
        needed = sum(end * (end - first) for first, end in zip([0, *ends], ends, strict=False))
        if not isinstance(multiplications, int):
            return "How many scores `flash_attention` computes could not be counted."
        # Each score takes d_k multiplications, and d_v where its weight meets the value.
        scores = multiplications / sum(widths)
        if scores > length * (length + 2 * block_size) / 2:
            if multiplications == sum(widths) * length**2:
                return "computes_hidden_blocks"
            if multiplications == (widths[0] + sum(widths)) * needed:
                return "every_score_twice"
            return (
                f"For {length} tokens in blocks of {block_size}, causal, {scores:,.0f} scores were "
                f"computed (computed twice counts twice); without the hidden blocks {needed:,} are enough."
            )
    return None


@flash_attention.group("no scores for hidden blocks", 1, verify=_leaves_out)
def hidden_blocks(draw):
    for length, block in ((31, 7), (38, 9)):
        yield case(*_inputs(draw, queries=length), block, causal=True, measure=multiplications_of)


@flash_attention.accepted_alternative(
    "All keys at once for a block of queries: no merging at all, and short. Memory grows with the text, as "
    "a row of blocks."
)
def a_row_of_blocks(query, key, value, block_size, causal=False):
    outputs, logarithms = [], []
    for first in range(0, query.shape[-2], block_size):
        block = query[..., first : first + block_size, :]
        seen = first + block.shape[-2] if causal else key.shape[-2]
        scores = scores_of(block, key[..., :seen, :])
        if causal:
            scores = scores.masked_fill(hidden(first, block.shape[-2], 0, seen), -math.inf)
        logarithms.append(scores.logsumexp(dim=-1))
        outputs.append((scores - logarithms[-1][..., None]).exp() @ value[..., :seen, :])
    return torch.cat(outputs, dim=-2), torch.cat(logarithms, dim=-1)


@flash_attention.accepted_alternative(
    "Keys outside, queries inside: each block of keys is fetched once, and the sums of all queries are "
    "kept. Ring attention does this between machines."
)
def keys_outside(query, key, value, block_size, causal=False):
    queries = range(0, query.shape[-2], block_size)
    states = [start_of(query[..., first : first + block_size, :], value) for first in queries]
    for first_key in range(0, key.shape[-2], block_size):
        some_keys = key[..., first_key : first_key + block_size, :]
        for index, first in enumerate(queries):
            if causal and first_key > min(first + block_size, query.shape[-2]) - 1:
                continue
            block = query[..., first : first + block_size, :]
            scores = scores_of(block, some_keys)
            if causal:
                over = hidden(first, block.shape[-2], first_key, scores.shape[-1])
                scores = torch.where(over, -math.inf, scores)
            states[index] = _added(states[index], scores, value[..., first_key : first_key + block_size, :])
    results = [finish(state) for state in states]
    return torch.cat([each for each, _ in results], dim=-2), torch.cat([each for _, each in results], dim=-1)


def _added(state, scores, value):
    """With a mean in the place of the sums: two parts that are merged."""
    sums, maximum, total = state
    largest = torch.maximum(maximum, scores.max(dim=-1).values)
    shift = torch.where(largest.isinf(), 0.0, largest)
    weights = torch.exp(scores - shift[..., None])
    old = torch.exp(maximum - shift)
    return old[..., None] * sums + weights @ value, largest, old * total + weights.sum(dim=-1)


@flash_attention.accepted_alternative
def by_logarithms(query, key, value, block_size, causal=False):
    def add(state, scores, some):
        mean, logarithm, _ = state
        own = scores.logsumexp(dim=-1)
        both = torch.logaddexp(logarithm, own)
        known = both.masked_fill(both == -math.inf, 0.0)
        old = (logarithm - known).exp()[..., None]
        return mean * old + (scores - known[..., None]).exp() @ some, both, both

    return in_blocks(query, key, value, block_size, causal, adds=add, ends=lambda state: state[:2])
