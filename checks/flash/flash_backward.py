"""The exercise `flash_backward`, and right answers written in other ways."""

import math

import torch

from attention_lab.authoring import (
    AUTOMATIC_DIFFERENTIATION,
    FLOATS,
    FUSED_ATTENTION,
    SUMS_OF_PRODUCTS,
    Exercise,
    case,
)

from . import memory
from .blocks import hidden, plainly, scores_of

AXES = (("queries", "numbers of a query"), ("keys", "numbers of a key"), ("keys", "numbers of a value"))
flash_backward = Exercise(
    "flash_backward",
    results=("gradient of query", "gradient of key", "gradient of value"),
    axes=AXES,
    not_allowed=(FUSED_ATTENTION, AUTOMATIC_DIFFERENTIATION),
    tolerance=SUMS_OF_PRODUCTS,
)


def behind_a_forward_pass(answer):
    """Hands over the output and logsumexp that belong to the numbers."""

    def called(query, key, value, grad_output, block_size, causal=False):
        # Called without gradients: what a gradient is computed with needs none itself.
        with torch.no_grad():
            output, logsumexp = plainly(query, key, value, causal)
            return answer(query, key, value, output, logsumexp, grad_output, block_size, causal)

    return called


def _case(draw, *leading, queries, keys=None, block, causal=(), dtype=torch.float32, widths=None, large=1.0):
    """A case as the adapter takes it: without output and logsumexp."""
    width, value_width = widths or draw.shuffled((7, 9))
    keys = queries if keys is None else keys
    query = large * draw.normal(*leading, queries, width, dtype=dtype)
    key = draw.normal(*leading, keys, width, dtype=dtype)
    value = draw.normal(*leading, keys, value_width, dtype=dtype)
    grad_output = draw.normal(*leading, queries, value_width, dtype=dtype)
    return case(query, key, value, grad_output, block, *causal, through=behind_a_forward_pass)


@flash_backward.group("blocks that divide the text", points=1)
def that_divide(draw):
    for dtype in FLOATS:
        block = draw.shuffled((11, 13, 15))[0]
        yield _case(draw, queries=2 * block, keys=3 * block, block=block, dtype=dtype)


@flash_backward.group("a last block that is shorter", points=1)
def shorter(draw):
    for dtype in FLOATS:
        block, queries, keys = draw.shuffled(((11, 17, 26), (13, 34, 18), (11, 26, 36)))[0]
        yield _case(draw, queries=queries, keys=keys, block=block, dtype=dtype)


@flash_backward.group("blocks of one, and larger than the text", points=1)
def extremes(draw):
    yield _case(draw, queries=5, keys=7, block=1)
    queries, keys, block = draw.shuffled((11, 13))[0], 15, 17
    for size in (block, 2 * block):
        yield _case(draw, queries=queries, keys=keys, block=size)
    yield _case(draw, queries=1, keys=keys, block=11)
    yield _case(draw, queries=queries, keys=1, block=18)


@flash_backward.group("batches, and batches with heads", points=1)
def batches(draw):
    batch, heads = draw.shuffled(draw.batch_sizes)
    for dtype in FLOATS:
        yield _case(draw, batch, queries=17, keys=15, block=13, dtype=dtype)
    yield _case(draw, batch, heads, queries=17, block=13, causal=(True,))
    yield _case(draw, 9, 9, queries=9, block=7, widths=(9, 9))
    yield _case(draw, 1, queries=1, keys=13, block=11)


@flash_backward.group("causal", points=2)
def causal(draw):
    for index, (length, block) in enumerate(draw.shuffled(((26, 11), (36, 13), (34, 15), (28, 11)))):
        yield _case(draw, queries=length, block=block, causal=(True,), dtype=FLOATS[index % 2])
    length = draw.shuffled((7, 9))[0]
    for block in (1, length, 2 * length):
        yield _case(draw, queries=length, block=block, causal=(True,))


@flash_backward.group("large scores", points=1)
def large(draw):
    for factor in (1e2, 2e3):
        for hides in ((), (True,)):
            yield _case(draw, queries=26, block=11, causal=hides, dtype=torch.float64, large=factor)


def _is_small(cases, values):
    """None, a mistake's name or a sentence: what is held at once, of all cases."""
    for drawn_case, told in zip(cases, values, strict=True):
        query, *_, block_size = drawn_case.args
        sentence, where = memory.within("flash_backward", len(query), block_size, drawn_case.args[:6], told)
        if sentence and drawn_case.kwargs:  # a mask, for all is well without one
            return sentence
        if where == "count":
            return "a_number_of_blocks"
        if where == "largest":
            return "the_whole_matrix"
        if where == "most":
            return "keeps_every_block"
        if sentence:
            return sentence
    return None


@flash_backward.group("memory for a few blocks, not for the matrix", 2, verify=_is_small)
def memory_at_once(draw):
    for length, block, width, value_width, causal, measure in memory.sizes(draw):
        given = {"causal": True} if causal else {}
        query, key = draw.normal(length, width), draw.normal(length, width)
        value, grad_output = draw.normal(length, value_width), draw.normal(length, value_width)
        output, logsumexp = plainly(query, key, value, **given)
        yield case(query, key, value, output, logsumexp, grad_output, block, **given, measure=measure)


def backward(
    query,
    key,
    value,
    output,
    logsumexp,
    grad_output,
    block_size,
    causal=False,
    *,
    score=scores_of,
    hides=hidden,
    weights_of=lambda scores, logsumexp: (scores - logsumexp[..., None]).exp(),
    rows_of=lambda output, grad_output: (output * grad_output).sum(dim=-1, keepdim=True),
    scaled=(True, True),
    taken_off=lambda weights, of_weights, rows: rows,
):
    """The three gradients, correctly: a mistake changes one step.

    weights_of: the weights of a block again; rows_of: what is taken off in each row of a softmax's gradient.
    scaled: whether the gradients of query and of key are; taken_off: the rows as a block sees them.
    """
    gradients = [torch.zeros_like(each) for each in (query, key, value)]
    scale = query.shape[-1] ** -0.5
    rows = rows_of(output, grad_output)
    for first in range(0, query.shape[-2], block_size):
        some = slice(first, min(first + block_size, query.shape[-2]))
        for first_key in range(0, key.shape[-2], block_size):
            keys = slice(first_key, min(first_key + block_size, key.shape[-2]))
            scores = score(query[..., some, :], key[..., keys, :])
            if causal:
                over = hides(first, some.stop - first, first_key, keys.stop - first_key)
                scores = scores.masked_fill(over, -math.inf)
            weights = weights_of(scores, logsumexp[..., some])
            of_weights = grad_output[..., some, :] @ value[..., keys, :].mT
            of_scores = weights * (of_weights - taken_off(weights, of_weights, rows[..., some, :]))
            of_query, of_key = (of_scores * scale if each else of_scores for each in scaled)
            gradients[0][..., some, :] += of_query @ key[..., keys, :]
            gradients[1][..., keys, :] += of_key.mT @ query[..., some, :]
            gradients[2][..., keys, :] += weights.mT @ grad_output[..., some, :]
    return tuple(gradients)


@flash_backward.accepted_alternative(
    "All keys at once for a block of queries: one loop. Memory grows with the text, as a row of blocks."
)
def a_row_of_blocks(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    scale, of_queries = 1 / math.sqrt(query.shape[-1]), []
    of_key, of_value = torch.zeros_like(key), torch.zeros_like(value)
    for first in range(0, query.shape[-2], block_size):
        some = slice(first, first + block_size)
        scores = query[..., some, :] @ key.mT * scale
        if causal:
            scores = scores.masked_fill(hidden(first, scores.shape[-2], 0, scores.shape[-1]), -math.inf)
        weights = torch.exp(scores - logsumexp[..., some, None])
        of_weights = grad_output[..., some, :] @ value.mT
        rows = (grad_output[..., some, :] * output[..., some, :]).sum(dim=-1, keepdim=True)
        of_scores = weights * (of_weights - rows) * scale
        of_queries.append(of_scores @ key)
        of_key += of_scores.mT @ query[..., some, :]
        of_value += weights.mT @ grad_output[..., some, :]
    return torch.cat(of_queries, dim=-2), of_key, of_value


@flash_backward.accepted_alternative(
    "Keys outside, queries inside, as FlashAttention's own kernels have it: the gradients of a block of "
    "keys and values are done when its loop ends."
)
def keys_outside(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    of_query, of_keys, of_values = torch.zeros_like(query), [], []
    rows = torch.einsum("...qv,...qv->...q", output, grad_output)
    blocks = [slice(first, first + block_size) for first in range(0, query.shape[-2], block_size)]
    for first_key in range(0, key.shape[-2], block_size):
        some_keys = key[..., first_key : first_key + block_size, :] * query.shape[-1] ** -0.5
        some_values = value[..., first_key : first_key + block_size, :]
        of_key, of_value = torch.zeros_like(some_keys), torch.zeros_like(some_values)
        for some in blocks:
            scores = query[..., some, :] @ some_keys.mT
            weights = (scores - logsumexp[..., some, None]).exp()
            if causal:
                over = hidden(some.start, scores.shape[-2], first_key, scores.shape[-1])
                weights = torch.where(over, 0.0, weights.masked_fill(over, 0.0))
            of_scores = (grad_output[..., some, :] @ some_values.mT - rows[..., some, None]) * weights
            of_query[..., some, :] += of_scores @ some_keys
            of_key = of_key + of_scores.mT @ query[..., some, :]
            of_value = of_value + weights.mT @ grad_output[..., some, :]
        of_keys.append(of_key * query.shape[-1] ** -0.5)
        of_values.append(of_value)
    return of_query, torch.cat(of_keys, dim=-2), torch.cat(of_values, dim=-2)


@flash_backward.accepted_alternative
def without_the_output(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    def from_weights(output, grad_output):
        rows = []
        for first in range(0, query.shape[-2], block_size):
            some = slice(first, first + block_size)
            scores = scores_of(query[..., some, :], key)
            if causal:
                scores = scores.masked_fill(hidden(first, scores.shape[-2], 0, key.shape[-2]), -math.inf)
            weights = (scores - logsumexp[..., some, None]).exp()
            rows.append((weights * (grad_output[..., some, :] @ value.mT)).sum(dim=-1, keepdim=True))
        return torch.cat(rows, dim=-2)

    return backward(
        query, key, value, output, logsumexp, grad_output, block_size, causal, rows_of=from_weights
    )
