"""What people get wrong in `flash_backward`: blocks, what is hidden, and what is held at once."""

import math

import torch

from .blocks import ahead, hidden, scores_of
from .flash_backward import backward, flash_backward


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
