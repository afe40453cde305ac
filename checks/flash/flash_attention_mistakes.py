"""What people get wrong in `flash_attention`: what is carried from block to block, and what is returned."""

import math

import torch

from .blocks import add, finish, in_blocks, plainly, scores_of
from .flash_attention import flash_attention


@flash_attention.mistake(
    "The scores are not scaled: each block's are query · key / √d_k, as in all lessons since the second."
)
def not_scaled(query, key, value, block_size, causal=False):
    return in_blocks(query, key, value, block_size, causal, score=lambda q, k: scores_of(q, k, 1.0))


@flash_attention.mistake(
    "The scores are divided by the root of the *block size*. It is d_k, the width of query and key, that "
    "makes them large."
)
def scaled_by_the_block(query, key, value, block_size, causal=False):
    def scaled(q, k):
        return scores_of(q, k, block_size**-0.5)

    return in_blocks(query, key, value, block_size, causal, score=scaled)


@flash_attention.mistake(
    "Each block has its own softmax, and the outputs are added. Weights must be shares of the total over "
    "*all* keys: keep maximum and total from block to block, or merge parts."
)
def a_softmax_in_each_block(query, key, value, block_size, causal=False):
    def added(state, scores, some):
        _, maximum, total = add(state, scores, some)
        return state[0] + scores.softmax(dim=-1).nan_to_num(0.0) @ some, maximum, total

    def done(state):
        return state[0], state[1] + state[2].log()

    return in_blocks(query, key, value, block_size, causal, adds=added, ends=done)


@flash_attention.mistake(
    "The blocks' outputs are averaged as if every block weighed the same. A block counts by its rescaled "
    "total: that is what `merge` is for."
)
def blocks_averaged(query, key, value, block_size, causal=False):
    def added(state, scores, some):
        count = (state[3] if len(state) > 3 else 0) + 1
        _, maximum, total = add(state[:3], scores, some)
        own = scores.softmax(dim=-1).nan_to_num(0.0) @ some
        return state[0] + (own - state[0]) / count, maximum, total, count

    def done(state):
        return state[0], state[1] + state[2].log()

    return in_blocks(query, key, value, block_size, causal, adds=added, ends=done)


def _add(state, scores, value, of_sums=True, of_total=True, keep=torch.maximum):
    sums, maximum, total = state
    new = keep(maximum, scores.amax(dim=-1))
    shift = new.masked_fill(new == -math.inf, 0.0)
    old = (maximum - shift).exp()
    exponentials = (scores - shift[..., None]).exp()
    sums = (sums * old[..., None] if of_sums else sums) + exponentials @ value
    return sums, new, (total * old if of_total else total) + exponentials.sum(dim=-1)


@flash_attention.mistake(
    "Where a later block has a larger score, the new maximum is used, but the old sums still belong to "
    "the old one. Multiply output *and* total by exp(old − new) first."
)
def nothing_rescaled(query, key, value, block_size, causal=False):
    def added(state, scores, some):
        return _add(state, scores, some, of_sums=False, of_total=False)

    return in_blocks(query, key, value, block_size, causal, adds=added)


@flash_attention.mistake(
    "The old total is rescaled to the new maximum, the old output is not. Both are sums of exp(score − "
    "maximum): what the total is multiplied by, the output is, too."
)
def output_not_rescaled(query, key, value, block_size, causal=False):
    def added(state, scores, some):
        return _add(state, scores, some, of_sums=False)

    return in_blocks(query, key, value, block_size, causal, adds=added)


@flash_attention.mistake(
    "The old output is rescaled to the new maximum, the old total is not. What the output is multiplied by, "
    "the total is, too."
)
def total_not_rescaled(query, key, value, block_size, causal=False):
    def added(state, scores, some):
        return _add(state, scores, some, of_total=False)

    return in_blocks(query, key, value, block_size, causal, adds=added)


@flash_attention.mistake(
    "The maximum is lost: each block replaces it by its own, even if an earlier block had a larger one. "
    "Scores far apart then overflow. Keep the larger of old and new."
)
def maximum_not_carried(query, key, value, block_size, causal=False):
    return in_blocks(
        query, key, value, block_size, causal, adds=lambda *told: _add(*told, keep=lambda _, new: new)
    )


@flash_attention.mistake(
    "The numbers are right as long as scores are small: nothing is subtracted before `exp`, which "
    "overflows at 88 (in float32; 709 in float64). Subtract the largest score so far."
)
def without_the_maximum(query, key, value, block_size, causal=False):
    def added(state, scores, some):
        exponentials = scores.exp()
        return state[0] + exponentials @ some, state[1].clamp(0, 0), state[2] + exponentials.sum(dim=-1)

    return in_blocks(query, key, value, block_size, causal, adds=added)


@flash_attention.mistake(
    "`output` is not divided by the total at the end: it is the sum of the values by exp(score − maximum), "
    "not their mean."
)
def not_divided(query, key, value, block_size, causal=False):
    return in_blocks(query, key, value, block_size, causal, ends=lambda state: (state[0], finish(state)[1]))


@flash_attention.mistake(
    "The last, shorter block of keys is left out: the number of blocks was rounded down. Count up to the "
    "end: `range(0, T_k, block_size)`, and let the slice be short."
)
def last_keys_left_out(query, key, value, block_size, causal=False):
    def whole(length):
        return max(length // block_size * block_size, min(block_size, length))

    return in_blocks(query, key, value, block_size, causal, length_of=whole)


@flash_attention.mistake(
    "The loop over keys ends at the number of queries. There can be more keys than queries, or fewer: it "
    "ends at the length of `key`."
)
def as_many_keys_as_queries(query, key, value, block_size, causal=False):
    length = query.shape[-2]
    return in_blocks(query, key[..., :length, :], value[..., :length, :], block_size, causal)


@flash_attention.mistake(
    "`logsumexp` is the logarithm of the total alone, which was summed after the maximum had been "
    "subtracted. Add the maximum again."
)
def logarithm_without_the_maximum(query, key, value, block_size, causal=False):
    def done(state):
        return finish(state)[0], state[2].log()

    return in_blocks(query, key, value, block_size, causal, ends=done)


@flash_attention.mistake(
    "`logsumexp` is in base 2, as inside some kernels. Return the natural logarithm: `torch.log`."
)
def base_two(query, key, value, block_size, causal=False):
    output, logsumexp = in_blocks(query, key, value, block_size, causal)
    return output, logsumexp / math.log(2)


@flash_attention.mistake(
    "The second result is the total (or the sum of all exp(score)). Return its logarithm: maximum + "
    "log(total)."
)
def total_for_the_logarithm(query, key, value, block_size, causal=False):
    def done(state):
        return finish(state)[0], state[2]

    return in_blocks(query, key, value, block_size, causal, ends=done)


@flash_attention.mistake(
    "The second result is the maximum. Add the logarithm of the total: maximum + log(total)."
)
def maximum_for_the_logarithm(query, key, value, block_size, causal=False):
    def done(state):
        return finish(state)[0], state[1]

    return in_blocks(query, key, value, block_size, causal, ends=done)


@flash_attention.mistake(
    "Each block of queries meets only the block of keys at the same position. It has to meet all of them "
    "(causal: all up to it): two loops."
)
def own_block_only(query, key, value, block_size, causal=False):
    blocks = zip(*(each.split(block_size, dim=-2) for each in (query, key, value)), strict=False)
    pairs = [plainly(*block, causal) for block in blocks]
    return torch.cat([each for each, _ in pairs], dim=-2), torch.cat([each for _, each in pairs], dim=-1)


@flash_attention.mistake(
    "`logsumexp` has an axis of size 1 too many: it is (..., T_q), a number for each query."
)
def an_axis_too_many(query, key, value, block_size, causal=False):
    output, logsumexp = in_blocks(query, key, value, block_size, causal)
    return output, logsumexp[..., None]


@flash_attention.mistake(
    "The numbers are right, but no gradient comes through: `no_grad`, `.data` or `.detach()` cut the "
    "results off. Memory is counted without gradients anyway; leave them on."
)
def without_gradients(query, key, value, block_size, causal=False):
    with torch.no_grad():
        return in_blocks(query, key, value, block_size, causal)


@flash_attention.mistake(
    "The numbers are right in float32, but float64 comes back as float32. Look for a cast, such as "
    "`.float()`, and remove it; if there is none, a tensor was made without a dtype: give it the "
    "query's."
)
def always_float32(query, key, value, block_size, causal=False):
    return in_blocks(query.float(), key.float(), value.float(), block_size, causal)
