"""The exercise `flash_backward`, and the mistakes it can name."""

import math
from functools import partial

import torch

from attention_lab.authoring import (
    AUTOMATIC_DIFFERENTIATION,
    FLOATS,
    FUSED_ATTENTION,
    SUMS_OF_PRODUCTS,
    Exercise,
    add_mistakes,
    case,
)
from nbjudge.authoring import DerivedArray

from . import memory
from .blocks import ahead, hidden, plainly, scores_of

AXES = (("queries", "numbers of a query"), ("keys", "numbers of a key"), ("keys", "numbers of a value"))


class FlashBackward(Exercise):
    def derived_arrays(self, index, numbers, expected, case):
        """What is subtracted in the rows, if the gradient of query is right but for that."""
        if index or case.measure is not None:
            return
        query, key, value, grad_output = (each.double() for each in case.args[:4])
        causal = case.args[5:] == (True,)
        output, logsumexp = plainly(query, key, value, causal)
        scores = scores_of(query, key)
        if causal:
            scores = scores.masked_fill(hidden(0, *scores.shape[-2:-1], 0, scores.shape[-1]), -math.inf)
        weights, scale = (scores - logsumexp[..., None]).exp(), query.shape[-1] ** -0.5
        whole = (weights * (grad_output @ value.mT)) @ key * scale
        of_rows = weights @ key * scale
        numbers = torch.from_numpy(numbers).double()
        own = ((whole - numbers) * of_rows).sum(-1, keepdim=True) / of_rows.square().sum(-1, keepdim=True)
        if torch.allclose(whole - own * of_rows, numbers, rtol=1e-3, atol=1e-4):
            right = (output * grad_output).sum(-1)
            yield DerivedArray(
                "what is subtracted in each row of the weights' gradient",
                own[..., 0].numpy(),
                right.numpy(),
                ("queries",),
                is_telling=True,
            )


flash_backward = FlashBackward(
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


def in_slices(length, block_size, late=0, early=0, stop=0):
    """Blocks as slices. Wrong ones begin late or end early; or the loop stops before the end."""
    for first in range(0, length - (length % block_size if stop is None else stop), block_size):
        yield slice(min(first + late, length), min(first + block_size - early, length))


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
    scaled=(1, 1),
    taken_off=lambda weights, of_weights, rows: rows,
    fill=-math.inf,
    cuts=(in_slices, in_slices),
):
    """The three gradients, correctly: a mistake changes one step.

    weights_of: the weights of a block again; rows_of: what is taken off in each row of a softmax's gradient.
    fill: the hidden scores in a block on the diagonal; cuts: the blocks of queries and of keys, as slices.
    scaled: how many times the gradients of query and of key are; taken_off: the rows as a block sees them.
    """
    gradients = [torch.zeros_like(each) for each in (query, key, value)]
    scale = query.shape[-1] ** -0.5
    rows = rows_of(output, grad_output)
    for some in cuts[0](query.shape[-2], block_size):
        first = some.start
        for keys in cuts[1](key.shape[-2], block_size):
            first_key = keys.start
            scores = score(query[..., some, :], key[..., keys, :])
            if causal:
                over = hides(first, some.stop - first, first_key, keys.stop - first_key)
                scores = scores.masked_fill(over, fill if first_key == first else -math.inf)
            weights = weights_of(scores, logsumexp[..., some])
            of_weights = grad_output[..., some, :] @ value[..., keys, :].mT
            of_scores = weights * (of_weights - taken_off(weights, of_weights, rows[..., some, :]))
            of_query, of_key = (of_scores * scale**times for times in scaled)
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


def softmax_left_out(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    scale = query.shape[-1] ** -0.5
    told = (query, key, value, output, logsumexp, grad_output, block_size, causal)
    of_weights = grad_output @ value.mT * scale
    return of_weights @ key, of_weights.mT @ query, backward(*told)[2]


add_mistakes(
    flash_backward,
    backward,
    scale_left_out=(
        "The gradients of query and key are too large by √d_k: the scores were divided by it, so what flows "
        "back to query and key is divided, too.",
        {"scaled": (0, 0)},
    ),
    key_not_scaled=(
        "The gradient of key is too large by √d_k, that of query is right. Both come from the same scores: "
        "scale what flows back to the scores, once, before it goes on to either.",
        {"scaled": (1, 0)},
    ),
    query_not_scaled=(
        "The gradient of query is too large by √d_k, that of key is right. Both come from the same scores: "
        "scale what flows back to the scores, once, before it goes on to either.",
        {"scaled": (0, 1)},
    ),
    scaled_twice=(
        "The gradients of query and key are too small by √d_k: the scale was applied twice on the way back. "
        "Apply it once.",
        {"scaled": (2, 2)},
    ),
    scores_not_scaled=(
        "The scores, computed again, are not scaled: the weights differ from those of the forward pass, and "
        "so do all gradients. Divide by √d_k before you subtract the logsumexp.",
        {"score": lambda query, key: query @ key.mT},
    ),
    row_sum_left_out=(
        "Nothing is subtracted in the rows: the gradient of a softmax is weights · (g − the row's weighted "
        "mean of g), and that mean is the sum of output · grad_output.",
        {"rows_of": lambda output, grad_output: torch.zeros_like(output[..., :1])},
    ),
    softmax_left_out=(
        "The gradient that reaches the weights was sent on to query and key as it is: the softmax between "
        "has a gradient of its own, weights · (g − row sum).",
        softmax_left_out,
    ),
)


def formula(
    query,
    key,
    value,
    output,
    logsumexp,
    grad_output,
    block_size,
    causal=False,
    *,
    of_scores=lambda p, g, o, go: p * (g - (o * go).sum(-1, True)),
    of_value=lambda p, s, g, o, go, scale: p.mT @ go,
    scale=lambda query, value: query.shape[-1] ** -0.5,
    of_weights=lambda output, grad_output, value: grad_output @ value.mT,
    in_rows=None,
    ends=lambda s, p, g: (s, s),
    fill=-math.inf,
):
    """The three gradients by the whole matrix: a cause has another formula or scale in one step.

    p: the weights, g: their gradient, s: that of the scores, o: output, go: grad_output.
    """
    factor = scale(query, value)
    scores = query @ key.mT * factor
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), fill)
    p = (scores - logsumexp[..., None]).exp()
    g = of_weights(output, grad_output, value)
    if in_rows is None:
        s = of_scores(p, g, output, grad_output)
    else:
        s = in_rows(p, g, (output * grad_output).sum(-1, True), factor, logsumexp[..., None])
    of_query, of_key = ends(s, p / factor, g / factor)
    of_values = of_value(p, s, g, output, grad_output, factor)
    return of_query @ key * factor, of_key.mT @ query * factor, of_values


def _formulas(step, changes):
    flash_backward.causes_in_steps(formula, {clause: {step: change} for clause, change in changes.items()})


_formulas(
    "of_scores",
    {
        "the row sums were those of output alone": lambda p, g, o, go: p * (g - o.sum(-1, True)),
        "the row sums were those of output · output": lambda p, g, o, go: p * (g - (o * o).sum(-1, True)),
        "the row sums were those of grad_output · grad_output": lambda p, g, o, go: (
            p * (g - (go * go).sum(-1, True))
        ),
        "the row sums were one number for all rows": lambda p, g, o, go: (
            p * (g - (o * go).sum(-1, True).mean(-2, True))
        ),
        "the row sums were subtracted outside the product with the weights": lambda p, g, o, go: (
            p * g - (o * go).sum(-1, True)
        ),
        "the weights were left out in front of (g - row sum)": lambda p, g, o, go: g - (o * go).sum(-1, True),
        "the softmax's gradient were that of a sigmoid, weights · (1 - weights)": lambda p, g, o, go: (
            p * (1 - p) * g
        ),
        "the row sums were multiplied by the weights once more": lambda p, g, o, go: (
            p * (g - p * (o * go).sum(-1, True))
        ),
        "the weights were squared": lambda p, g, o, go: p * p * (g - (o * go).sum(-1, True)),
        "the weights had been sent on, and not their gradient": lambda p, g, o, go: p,
    },
)
_formulas(
    "of_value",
    {
        "the gradient of value were made of output": lambda p, s, g, o, go, scale: p.mT @ o,
        "the gradient of value were made of the weights' gradient": lambda p, s, g, o, go, scale: g.mT @ go,
        "the gradient of value were made of the scores' gradient": lambda p, s, g, o, go, scale: s.mT @ go,
        "the gradient of value were made of the scaled scores' gradient": lambda p, s, g, o, go, scale: (
            s.mT @ go * scale
        ),
    },
)
_formulas(
    "of_weights",
    {"the weights' gradient were made of output": lambda output, grad_output, value: output @ value.mT},
)
_formulas(
    "in_rows",
    {
        "the row sums were divided by √d_k": lambda p, g, rows, scale, lse: p * (g - rows * scale),
        "the weights' gradient were divided by √d_k": lambda p, g, rows, scale, lse: p * (g * scale - rows),
        "the row sums alone were not divided by √d_k": lambda p, g, rows, scale, lse: p * (g - rows / scale),
        "the weights' gradient alone were not divided by √d_k": lambda p, g, rows, scale, lse: (
            p * (g / scale - rows)
        ),
        "the logsumexp were in the place of the row sums": lambda p, g, rows, scale, lse: p * (g - lse),
        "the row sums of all queries were added": lambda p, g, rows, scale, lse: p * (g - rows.sum(-2, True)),
        "1 were subtracted with the row sums": lambda p, g, rows, scale, lse: p * (g - rows - 1),
    },
)
_formulas(
    "ends",
    {
        "the gradient of query were made of the weights": lambda s, p, g: (p, s),
        "the gradient of key were made of the weights": lambda s, p, g: (s, p),
        "the gradient of query were made of the weights' gradient": lambda s, p, g: (g, s),
        "the gradient of key were made of the weights' gradient": lambda s, p, g: (s, g),
    },
)
_formulas("fill", {"hidden scores were 0, and not minus infinity": 0.0})
_formulas(
    "scale",
    {
        "the scale were made of the number of keys": lambda query, value: value.shape[-2] ** -0.5,
        "the scale were 1 everywhere": lambda query, value: 1.0,
        "the scale were 1/d_k everywhere": lambda query, value: 1 / query.shape[-1],
        "the scale were √d_k everywhere": lambda query, value: query.shape[-1] ** 0.5,
        "the scale were made of the value's width": lambda query, value: value.shape[-1] ** -0.5,
        "the scale were made of the number of queries": lambda query, value: query.shape[-2] ** -0.5,
    },
)


def _within_the_block(weights, of_weights, _):
    return (weights * of_weights).sum(dim=-1, keepdim=True)


def _not_normalised(scores, logsumexp):
    lowest = scores.amax(dim=-1, keepdim=True)
    return (scores - lowest.masked_fill(lowest == -math.inf, 0.0)).exp()


def _behind_the_block(first_query, queries, first_key, keys):
    return (first_key >= first_query + queries) | torch.zeros(queries, keys, dtype=torch.bool)


def _within_its_block(first_query, queries, first_key, keys):
    return hidden(0, queries, 0, keys) if first_key <= first_query else torch.ones(queries, keys).bool()


def written_over(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    told = (query, key, value, output, logsumexp, grad_output, block_size, causal)
    first = (query.shape[-2] - 1) // block_size * block_size
    last = [each[..., first:, :] for each in (query, output, grad_output)]

    def from_there(first_query, *block):
        return hidden(first + first_query, *block)

    _, of_key, of_value = backward(
        last[0], key, value, last[1], logsumexp[..., first:], last[2], block_size, causal, hides=from_there
    )
    return backward(*told)[0], of_key, of_value


def query_written_over(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    told = (query, key, value, output, logsumexp, grad_output, block_size, causal)
    first = (key.shape[-2] - 1) // block_size * block_size

    def from_there(first_query, queries, first_key, keys):
        return hidden(first_query, queries, first + first_key, keys)

    last = (query, key[..., first:, :], value[..., first:, :], *told[3:])
    return backward(*last, hides=from_there)[0], *backward(*told)[1:]


def last_keys_left_out(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    whole = max(key.shape[-2] // block_size * block_size, min(block_size, key.shape[-2]))
    some = (query, key[..., :whole, :], value[..., :whole, :], output, logsumexp, grad_output)
    of_query, of_key, of_value = backward(*some, block_size, causal)
    rest = [torch.zeros_like(each[..., whole:, :]) for each in (key, value)]
    return of_query, torch.cat([of_key, rest[0]], dim=-2), torch.cat([of_value, rest[1]], dim=-2)


def keeps_every_block(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    blocks = []

    def kept_scores(some_queries, some_keys):
        blocks.append(scores_of(some_queries, some_keys))
        return blocks[-1]

    told = (query, key, value, output, logsumexp, grad_output, block_size, causal)
    return backward(*told, score=kept_scores)


def the_whole_matrix(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    whole = max(query.shape[-2], key.shape[-2])
    return backward(query, key, value, output, logsumexp, grad_output, whole, causal)


def a_number_of_blocks(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    block = math.ceil(max(query.shape[-2], key.shape[-2]) / block_size)
    return backward(query, key, value, output, logsumexp, grad_output, block, causal)


add_mistakes(
    flash_backward,
    backward,
    a_softmax_in_each_block=(
        "The weights of a block are a softmax of its own. They are shares of the total over *all* keys, and "
        "that is saved: exp(score − logsumexp).",
        {"weights_of": lambda scores, logsumexp: scores.softmax(dim=-1).nan_to_num(0.0)},
    ),
    weights_not_normalised=(
        "The weights are not normalised: exp(score) alone, or with the block's own maximum subtracted. "
        "Subtract the saved logsumexp, and the rows sum to 1 over all blocks.",
        {"weights_of": _not_normalised},
    ),
    row_sum_of_the_block=(
        "What is subtracted in a row was summed within the block. It is a sum over *all* keys, which no "
        "block knows: take the sum of output · grad_output, known before the first block.",
        {"taken_off": _within_the_block},
    ),
    diagonal_seen_whole=(
        "Later blocks are left out, but nothing is hidden within the block on the diagonal. Its queries send "
        "gradients to keys that come after them.",
        {"hides": _behind_the_block},
    ),
    written_over=(
        "The gradients of key and value are those of the last block of queries alone: each block wrote over "
        "what was there. Every query that sees a key adds to its gradient: `+=`.",
        written_over,
    ),
    query_written_over=(
        "The gradient of query is that of the last block of keys alone: each block wrote over what was "
        "there. Every key that a query sees adds to its gradient: `+=`.",
        query_written_over,
    ),
    last_keys_left_out=(
        "The last, shorter block of keys is left out: the number of blocks was rounded down. Its gradients "
        "are 0, and those of the queries lack its share. Count up to the end: `range(0, T_k, block_size)`.",
        last_keys_left_out,
    ),
    causal_left_out=(
        "`causal` changes nothing here. What was hidden in the forward pass gets no gradient: hide the same "
        "scores when you compute them again.",
        {"hides": lambda first_query, queries, first_key, keys: torch.zeros(queries, keys).bool()},
    ),
    places_within_the_block=(
        "Every block hides its own upper triangle, also those below the diagonal: positions were compared "
        "within the block. Compare positions in the *text*: first of the block + position in it.",
        {"hides": _within_its_block},
    ),
    own_place_hidden=(
        "A query's own position is hidden in the backward pass, but was visible in the forward pass. Hide "
        "what is *later*: key > query, not key >= query.",
        {"hides": lambda *block: ahead(*block) >= 0},
    ),
    the_whole_matrix=(
        "Somewhere the whole matrix is made: scores, weights, their gradient or the mask, T × T. Compute "
        "those of one block of queries and one of keys, use them, and go on.",
        the_whole_matrix,
    ),
    keeps_every_block=(
        "No tensor is large, but the blocks' weights (or gradients) are all kept until the end: together "
        "they are the matrix again. Add each block's share at once, and do not keep it.",
        keeps_every_block,
    ),
    a_number_of_blocks=(
        "`block_size` was taken for the *number* of blocks: with 2, each block is half the text, and with 1 "
        "all of it. It is a length: how many queries and keys are in a block.",
        a_number_of_blocks,
    ),
    exponentials_too_large=(
        "Large scores give NaN: exp(score) and exp(logsumexp) are both infinite, and their quotient is not a "
        "number. Subtract before the exponential: exp(score − logsumexp).",
        {"weights_of": lambda scores, logsumexp: scores.exp() / logsumexp.exp()[..., None]},
    ),
)


def _first_rows(numbers, block_size):
    """The rows of the first block for every block."""
    length = numbers.shape[-2]
    return numbers[..., torch.arange(length) % block_size, :]


def _rows_of_the_first_block(*told):
    return backward(*told, rows_of=lambda o, go: _first_rows((o * go).sum(-1, keepdim=True), told[6]))


def _logsumexp_of_the_first_block(
    query, key, value, output, logsumexp, grad_output, block_size, causal=False
):
    first = _first_rows(logsumexp[..., None], block_size)[..., 0]
    return backward(query, key, value, output, first, grad_output, block_size, causal)


def _in_one_gradient(answer, *places):
    """Wrong in these gradients only."""

    def told(*args):
        return tuple(
            wrong if place in places else right
            for place, (wrong, right) in enumerate(zip(answer(*args), backward(*args), strict=True))
        )

    return told


def _first_keys_left_out(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    skipped = min(block_size, key.shape[-2] - 1)

    def from_there(first_query, queries, first_key, keys):
        return hidden(first_query, queries, skipped + first_key, keys)

    some = (query, key[..., skipped:, :], value[..., skipped:, :], output, logsumexp, grad_output)
    of_query, of_key, of_value = backward(*some, block_size, causal, hides=from_there)
    nothing = [torch.zeros_like(whole[..., :skipped, :]) for whole in (key, value)]
    return of_query, torch.cat([nothing[0], of_key], dim=-2), torch.cat([nothing[1], of_value], dim=-2)


def _everything_written_over(*args):
    return query_written_over(*args)[0], *written_over(*args)[1:]


for _clause, _answer in {
    "the row sums of the first block served all blocks": _rows_of_the_first_block,
    "the logsumexp of the first block served all blocks": _logsumexp_of_the_first_block,
    "only the last block of queries counted, in the gradient of key": _in_one_gradient(written_over, 1),
    "only the last block of queries counted, in the gradient of value": _in_one_gradient(written_over, 2),
    "each block wrote over what all three gradients held": _everything_written_over,
    "later keys were hidden without `causal`, too": lambda *told: backward(*told[:7], True),
    "the first block of keys were left out": _first_keys_left_out,
}.items():
    flash_backward.cause(_clause, _answer)
flash_backward.causes_in_steps(
    backward,
    {
        "hidden scores were 0 in the blocks on the diagonal": {"fill": 0.0},
        "earlier keys were hidden, and not later ones": {"hides": lambda *block: ahead(*block) < 0},
        "the visible keys were hidden, and the hidden ones seen": {
            "hides": lambda *block: ahead(*block) <= 0
        },
        "the row sums were those of |output · grad_output|": {
            "rows_of": lambda output, grad_output: (output * grad_output).abs().sum(dim=-1, keepdim=True)
        },
        "nothing were subtracted from the scores": {"weights_of": lambda scores, logsumexp: scores.exp()},
        "the logsumexp were added to the scores": {
            "weights_of": lambda scores, logsumexp: (scores + logsumexp[..., None]).exp()
        },
        "the exponentials were divided by the logsumexp": {
            "weights_of": lambda scores, logsumexp: scores.exp() / logsumexp[..., None]
        },
        "positions were compared within each block, and no block were hidden whole": {
            "hides": lambda *block: hidden(0, block[1], 0, block[3])
        },
        "the block on the diagonal were left out": {
            "hides": lambda *block: hidden(*block) | (block[2] >= block[0])
        },
        "only the block on the diagonal hid later keys": {
            "hides": lambda *block: hidden(*block) & (block[2] == block[0])
        },
        "a query saw one later key": {"hides": lambda *block: ahead(*block) > 1},
        "the row sums were means": {
            "rows_of": lambda output, grad_output: (output * grad_output).mean(dim=-1, keepdim=True)
        },
        "the row sums were added, and not subtracted": {
            "rows_of": lambda output, grad_output: -(output * grad_output).sum(dim=-1, keepdim=True)
        },
        "the row sums were those of grad_output alone": {
            "rows_of": lambda output, grad_output: grad_output.sum(dim=-1, keepdim=True)
        },
        "the exponentials were of base 2": {
            "weights_of": lambda scores, logsumexp: (scores - logsumexp[..., None]).exp2()
        },
    },
)
for _words, _change in {
    "began one place late": {"late": 1},
    "ended one place early": {"early": 1},
    "overlapped by one place": {"early": -1},
    "stopped one place before the end": {"stop": 1},
    "were whole ones only, without the last, shorter one": {"stop": None},
}.items():
    _cut = partial(in_slices, **_change)
    for _whose, _cuts in (
        ("queries", (_cut, in_slices)),
        ("keys", (in_slices, _cut)),
        ("both", (_cut, _cut)),
    ):
        flash_backward.causes_in_steps(backward, {f"the blocks of {_whose} {_words}": {"cuts": _cuts}})
