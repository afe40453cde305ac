"""The mistakes in `flash_backward`: the derivative, and its blocks."""

import math

import torch

from .blocks import ahead, hidden, scores_of
from .flash_backward import backward, flash_backward


@flash_backward.mistake(
    "The gradients of query and key are too large by √d_k: the scores were divided by it, so what flows "
    "back to query and key is divided, too."
)
def scale_left_out(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    told = (query, key, value, output, logsumexp, grad_output, block_size, causal)
    return backward(*told, scaled=(False, False))


@flash_backward.mistake(
    "The gradient of key is too large by √d_k, that of query is right. Both come from the same scores: "
    "scale what flows back to the scores, once, before it goes on to either."
)
def key_not_scaled(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    return backward(
        query, key, value, output, logsumexp, grad_output, block_size, causal, scaled=(True, False)
    )


@flash_backward.mistake(
    "The gradient of query is too large by √d_k, that of key is right. Both come from the same scores: "
    "scale what flows back to the scores, once, before it goes on to either."
)
def query_not_scaled(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    return backward(
        query, key, value, output, logsumexp, grad_output, block_size, causal, scaled=(False, True)
    )


@flash_backward.mistake(
    "The gradients of query and key are too small by √d_k: the scale was applied twice on the way "
    "back. Apply it once."
)
def scaled_twice(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    told = (query, key, value, output, logsumexp, grad_output, block_size, causal)
    of_query, of_key, of_value = backward(*told)
    return of_query / math.sqrt(query.shape[-1]), of_key / math.sqrt(query.shape[-1]), of_value


@flash_backward.mistake(
    "The scores, computed again, are not scaled: the weights differ from those of the forward pass, and "
    "so do all gradients. Divide by √d_k before you subtract the logsumexp."
)
def scores_not_scaled(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    def plain(some_queries, some_keys):
        return some_queries @ some_keys.mT

    return backward(query, key, value, output, logsumexp, grad_output, block_size, causal, score=plain)


@flash_backward.mistake(
    "Nothing is subtracted in the rows: the gradient of a softmax is weights · (g − the row's weighted "
    "mean of g), and that mean is the sum of output · grad_output."
)
def row_sum_left_out(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    def nothing(output, grad_output):
        return torch.zeros_like(output[..., :1])

    return backward(query, key, value, output, logsumexp, grad_output, block_size, causal, rows_of=nothing)


@flash_backward.mistake(
    "What is subtracted in a row is the *mean* of output · grad_output. It is the sum over the numbers of"
    " the value."
)
def mean_for_the_row_sum(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    def mean(output, grad_output):
        return (output * grad_output).mean(dim=-1, keepdim=True)

    return backward(query, key, value, output, logsumexp, grad_output, block_size, causal, rows_of=mean)


@flash_backward.mistake("The row sum is added instead of subtracted: weights · (g − row sum), with a minus.")
def row_sum_added(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    def negative(output, grad_output):
        return -(output * grad_output).sum(dim=-1, keepdim=True)

    return backward(query, key, value, output, logsumexp, grad_output, block_size, causal, rows_of=negative)


@flash_backward.mistake(
    "What is subtracted in a row is the sum of grad_output alone. It is the sum of output · grad_output."
)
def without_the_output(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    def alone(output, grad_output):
        return grad_output.sum(dim=-1, keepdim=True)

    return backward(query, key, value, output, logsumexp, grad_output, block_size, causal, rows_of=alone)


@flash_backward.mistake(
    "The gradient that reaches the weights was sent on to query and key as it is: the softmax between has a "
    "gradient of its own, weights · (g − row sum)."
)
def softmax_left_out(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    scale = query.shape[-1] ** -0.5
    told = (query, key, value, output, logsumexp, grad_output, block_size, causal)
    of_weights = grad_output @ value.mT * scale
    return of_weights @ key, of_weights.mT @ query, backward(*told)[2]


@flash_backward.mistake(
    "The exponentials are of base 2, but `logsumexp` is a natural logarithm: `torch.exp`, not `2 **`."
)
def base_two(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    def by_two(scores, logsumexp):
        return (scores - logsumexp[..., None]).exp2()

    return backward(query, key, value, output, logsumexp, grad_output, block_size, causal, weights_of=by_two)


@flash_backward.mistake("The three gradients are in the wrong order: return those of query, key, value.")
def another_order(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    told = (query, key, value, output, logsumexp, grad_output, block_size, causal)
    of_query, of_key, of_value = backward(*told)
    return of_key, of_query, of_value


@flash_backward.mistake(
    "The numbers are right in float32, but float64 comes back as float32: a tensor was made without a "
    "dtype, or something casts. `torch.zeros_like` of the query takes its dtype."
)
def always_float32(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    told = (each.float() for each in (query, key, value, output, logsumexp, grad_output))
    return backward(*told, block_size, causal)


def _formula(clause, of_scores=None, of_value=None, scale=None, of_weights=None):
    """Add a cause: other formulas for the gradient of scores, of value, or of weights, or another scale."""

    def answer(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
        factor = query.shape[-1] ** -0.5 if scale is None else scale(query, value)
        scores = query @ key.mT * factor
        if causal:
            scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -math.inf)
        weights = (scores - logsumexp[..., None]).exp()
        back = grad_output @ value.mT if of_weights is None else of_weights(output, value)
        rows = (output * grad_output).sum(-1, True)
        grad_scores = (
            weights * (back - rows) if of_scores is None else of_scores(weights, back, output, grad_output)
        )
        of_values = (
            weights.mT @ grad_output
            if of_value is None
            else of_value(weights, grad_scores, back, output, grad_output)
        )
        return grad_scores @ key * factor, grad_scores.mT @ query * factor, of_values

    flash_backward.cause(clause, answer)


for _clause, _of_scores in {
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
}.items():
    _formula(_clause, _of_scores)
for _clause, _of_value in {
    "the gradient of value were made of output": lambda p, s, g, o, go: p.mT @ o,
    "the gradient of value were made of the weights' gradient": lambda p, s, g, o, go: g.mT @ go,
    "the gradient of value were made of the scores' gradient": lambda p, s, g, o, go: s.mT @ go,
}.items():
    _formula(_clause, of_value=_of_value)
_formula("the weights' gradient were made of output", of_weights=lambda output, value: output @ value.mT)
_formula("the scale were 1 everywhere", scale=lambda query, value: 1.0)
_formula("the scale were 1/d_k everywhere", scale=lambda query, value: 1 / query.shape[-1])
_formula("the scale were √d_k everywhere", scale=lambda query, value: query.shape[-1] ** 0.5)
_formula("the scale were made of the value's width", scale=lambda query, value: value.shape[-1] ** -0.5)
_formula("the scale were made of the number of queries", scale=lambda query, value: query.shape[-2] ** -0.5)


@flash_backward.mistake(
    "The weights of a block are a softmax of its own. They are shares of the total over *all* keys, and "
    "that is saved: exp(score − logsumexp)."
)
def a_softmax_in_each_block(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    def own(scores, logsumexp):
        return scores.softmax(dim=-1).nan_to_num(0.0)

    return backward(query, key, value, output, logsumexp, grad_output, block_size, causal, weights_of=own)


@flash_backward.mistake(
    "The weights are not normalised: exp(score) alone, or with the block's own maximum subtracted. "
    "Subtract the saved logsumexp, and the rows sum to 1 over all blocks."
)
def weights_not_normalised(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    def not_normalised(scores, logsumexp):
        lowest = scores.amax(dim=-1, keepdim=True)
        return (scores - lowest.masked_fill(lowest == -math.inf, 0.0)).exp()

    told = (query, key, value, output, logsumexp, grad_output, block_size, causal)
    return backward(*told, weights_of=not_normalised)


@flash_backward.mistake(
    "What is subtracted in a row was summed within the block. It is a sum over *all* keys, which no block"
    " knows: take the sum of output · grad_output, known before the first block."
)
def row_sum_of_the_block(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    def within(weights, of_weights, _):
        return (weights * of_weights).sum(dim=-1, keepdim=True)

    told = (query, key, value, output, logsumexp, grad_output, block_size, causal)
    return backward(*told, taken_off=within)


@flash_backward.mistake(
    "Later blocks are left out, but nothing is hidden within the block on the diagonal. Its queries send "
    "gradients to keys that come after them."
)
def diagonal_seen_whole(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    def behind_the_block(first_query, queries, first_key, keys):
        return (first_key >= first_query + queries) | torch.zeros(queries, keys, dtype=torch.bool)

    told = (query, key, value, output, logsumexp, grad_output, block_size, causal)
    return backward(*told, hides=behind_the_block)


@flash_backward.mistake(
    "The gradients of key and value are those of the last block of queries alone: each block wrote over "
    "what was there. Every query that sees a key adds to its gradient: `+=`."
)
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


@flash_backward.mistake(
    "The gradient of query is that of the last block of keys alone: each block wrote over what was there. "
    "Every key that a query sees adds to its gradient: `+=`."
)
def query_written_over(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    told = (query, key, value, output, logsumexp, grad_output, block_size, causal)
    first = (key.shape[-2] - 1) // block_size * block_size

    def from_there(first_query, queries, first_key, keys):
        return hidden(first_query, queries, first + first_key, keys)

    last = (query, key[..., first:, :], value[..., first:, :], *told[3:])
    return backward(*last, hides=from_there)[0], *backward(*told)[1:]


@flash_backward.mistake(
    "The last, shorter block of keys is left out: the number of blocks was rounded down. Its gradients "
    "are 0, and those of the queries lack its share. Count up to the end: `range(0, T_k, block_size)`."
)
def last_keys_left_out(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    whole = max(key.shape[-2] // block_size * block_size, min(block_size, key.shape[-2]))
    some = (query, key[..., :whole, :], value[..., :whole, :], output, logsumexp, grad_output)
    of_query, of_key, of_value = backward(*some, block_size, causal)
    rest = [torch.zeros_like(each[..., whole:, :]) for each in (key, value)]
    return of_query, torch.cat([of_key, rest[0]], dim=-2), torch.cat([of_value, rest[1]], dim=-2)


@flash_backward.mistake(
    "`causal` changes nothing here. What was hidden in the forward pass gets no gradient: hide the same "
    "scores when you compute them again."
)
def causal_left_out(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    return backward(query, key, value, output, logsumexp, grad_output, block_size)


@flash_backward.mistake(
    "Every block hides its own upper triangle, also those below the diagonal: positions were compared "
    "within the block. Compare positions in the *text*: first of the block + position in it."
)
def places_within_the_block(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    def own(first_query, queries, first_key, keys):
        return hidden(0, queries, 0, keys) if first_key <= first_query else torch.ones(queries, keys).bool()

    return backward(query, key, value, output, logsumexp, grad_output, block_size, causal, hides=own)


@flash_backward.mistake(
    "A query's own position is hidden in the backward pass, but was visible in the forward pass. Hide "
    "what is *later*: key > query, not key >= query."
)
def own_place_hidden(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    told = (query, key, value, output, logsumexp, grad_output, block_size, causal)
    return backward(*told, hides=lambda *block: ahead(*block) >= 0)


@flash_backward.mistake(
    "Somewhere the whole matrix is made: scores, weights, their gradient or the mask, T × T. Compute those "
    "of one block of queries and one of keys, use them, and go on."
)
def the_whole_matrix(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    whole = max(query.shape[-2], key.shape[-2])
    return backward(query, key, value, output, logsumexp, grad_output, whole, causal)


@flash_backward.mistake(
    "No tensor is large, but the blocks' weights (or gradients) are all kept until the end: together they"
    " are the matrix again. Add each block's share at once, and do not keep it."
)
def keeps_every_block(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    blocks = []

    def kept_scores(some_queries, some_keys):
        blocks.append(scores_of(some_queries, some_keys))
        return blocks[-1]

    told = (query, key, value, output, logsumexp, grad_output, block_size, causal)
    return backward(*told, score=kept_scores)


@flash_backward.mistake(
    "`block_size` was taken for the *number* of blocks: with 2, each block is half the text, and with 1 all "
    "of it. It is a length: how many queries and keys are in a block."
)
def a_number_of_blocks(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    block = math.ceil(max(query.shape[-2], key.shape[-2]) / block_size)
    return backward(query, key, value, output, logsumexp, grad_output, block, causal)


@flash_backward.mistake(
    "The result is right, but an argument was changed on the way: something was added into `grad_output` or "
    "`output`. Make tensors of your own, with `torch.zeros_like`."
)
def writes_into_the_gradient(query, key, value, output, logsumexp, grad_output, block_size, causal=False):
    told = (query, key, value, output, logsumexp, grad_output.clone(), block_size, causal)
    result = backward(*told)
    grad_output.mul_(output)
    return result
