"""The exercise `flash_attention`; mistakes and accepted alternatives are in files of their own."""

import torch

from attention_lab.authoring import FLOATS, FUSED_ATTENTION, SUMS_OF_PRODUCTS, Exercise, case
from nbjudge.torch.memory import multiplications_of, without_gradients

from . import memory

flash_attention = Exercise(
    "flash_attention",
    results=("output", "logsumexp"),
    axes=(("queries", "numbers of a value"), ("queries",)),
    not_allowed=(FUSED_ATTENTION,),
    tolerance=SUMS_OF_PRODUCTS,
    mistakes_from=(
        "flash_attention_mistakes",
        "flash_attention_mistakes_in_causal",
        "flash_attention_mistakes_in_memory",
    ),
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
