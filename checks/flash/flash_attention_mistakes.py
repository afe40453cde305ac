"""The mistakes in `flash_attention`: what goes from block to block, the causal blocks, and the memory."""

import math

import torch

from .blocks import add, ahead, finish, hidden, in_blocks, plainly, scores_of
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


@flash_attention.mistake("`causal` changes nothing: with it, a query sees no key after its own position.")
def causal_left_out(query, key, value, block_size, causal=False):
    return in_blocks(query, key, value, block_size)


@flash_attention.mistake(
    "Every block hides its own upper triangle, also those far below the diagonal: positions were compared"
    " within the block. Compare positions in the *text*: first of the block + position in it."
)
def places_within_the_block(query, key, value, block_size, causal=False):
    def own(first_query, queries, first_key, keys):
        return hidden(0, queries, 0, keys)

    return in_blocks(query, key, value, block_size, causal, hides=own)


@flash_attention.mistake(
    "Later blocks are left out, but nothing is hidden within the block on the diagonal. Its queries see "
    "keys that come after them."
)
def diagonal_seen_whole(query, key, value, block_size, causal=False):
    def nothing(_, queries, __, keys):
        return torch.zeros(queries, keys, dtype=torch.bool)

    return in_blocks(query, key, value, block_size, causal, hides=nothing)


@flash_attention.mistake(
    "A query does not see its own position. Hide what is *later*: key > query, not key >= query."
)
def own_place_hidden(query, key, value, block_size, causal=False):
    return in_blocks(query, key, value, block_size, causal, hides=lambda *block: ahead(*block) >= 0)


@flash_attention.mistake(
    "A query does not see its own position. Hide what is *later*: key > query, not key >= query. The "
    "first query then sees nothing, and its output is 0."
)
def own_place_hidden_by_parts(query, key, value, block_size, causal=False):
    def done(state):
        sums, maximum, total = state
        return sums / total.masked_fill(total == 0, 1.0)[..., None], maximum + total.log()

    def too_many(*block):
        return ahead(*block) >= 0

    return in_blocks(query, key, value, block_size, causal, hides=too_many, ends=done)


@flash_attention.mistake(
    "A query sees one key too many, the one right after it. Hide all keys with key > query."
)
def one_key_too_many(query, key, value, block_size, causal=False):
    def all_but_one(*block):
        return ahead(*block) > 1

    return in_blocks(query, key, value, block_size, causal, hides=all_but_one, seen=None)


@flash_attention.mistake(
    "The wrong side is hidden: each query sees only itself and what comes after it. Hide where key > query."
)
def the_wrong_side(query, key, value, block_size, causal=False):
    def earlier(*block):
        return ahead(*block) < 0

    return in_blocks(query, key, value, block_size, causal, hides=earlier, seen=None)


@flash_attention.mistake(
    "The block on the diagonal is left out with those after it: each query misses its own position and "
    "its neighbours. Leave out only blocks whose *first* key is after the *last* query."
)
def diagonal_left_out(query, key, value, block_size, causal=False):
    return in_blocks(query, key, value, block_size, causal, seen=lambda first_query, _: first_query)


@flash_attention.mistake(
    "NaN appears where a block is hidden from a query as a whole: its maximum is -inf, and -inf − (-inf) is "
    "not a number. Leave hidden blocks out, or subtract 0 in such rows."
)
def minus_infinity_from_itself(query, key, value, block_size, causal=False):
    def added(state, scores, some):
        own = scores.amax(dim=-1)
        exponentials = (scores - own[..., None]).exp()  # this block's own, before it is merged
        new = torch.maximum(state[1], own)
        old, factor = (state[1] - new).exp(), (own - new).exp()
        sums = state[0] * old[..., None] + exponentials @ some * factor[..., None]
        return sums, new, state[2] * old + exponentials.sum(dim=-1) * factor

    return in_blocks(query, key, value, block_size, causal, adds=added, seen=None)


@flash_attention.mistake(
    "Blocks that are hidden as a whole are computed all the same; nearly half of all blocks are. End the "
    "loop over keys at the last query of the block."
)
def computes_hidden_blocks(query, key, value, block_size, causal=False):
    return in_blocks(query, key, value, block_size, causal, seen=None)


@flash_attention.mistake(
    "Somewhere a tensor of T_q × T_k numbers is made: all the scores, or a mask for all of them. This "
    "function exists to avoid that. Take one block of queries and one of keys."
)
def the_whole_matrix(query, key, value, block_size, causal=False):
    return plainly(query, key, value, causal)


@flash_attention.mistake(
    "The scores go block by block, but the causal *mask* is made for the whole text: T × T again. Make it"
    " for a block, from the positions of its queries and keys."
)
def a_mask_of_all(query, key, value, block_size, causal=False):
    length = query.shape[-2] if causal else 1
    every = torch.ones(length, length, dtype=torch.bool).triu(1)

    def of_all(first_query, queries, first_key, keys):
        return every[first_query : first_query + queries, first_key : first_key + keys]

    return in_blocks(query, key, value, block_size, causal, hides=of_all)


@flash_attention.mistake(
    "No tensor is large, but the blocks' scores or weights are all kept (in a list, say) until the end: "
    "together they are the matrix again. Merge each block at once, and do not keep it."
)
def keeps_every_block(query, key, value, block_size, causal=False):
    blocks = []

    def kept_scores(some_queries, some_keys):
        blocks.append(scores_of(some_queries, some_keys))
        return blocks[-1]

    return in_blocks(query, key, value, block_size, causal, score=kept_scores)


@flash_attention.mistake(
    "`block_size` was taken for the *number* of blocks: with 2, each block is half the text, and with 1 all "
    "of it. It is a length: how many queries and keys are in a block, so that memory does not grow with "
    "the square of the text."
)
def a_number_of_blocks(query, key, value, block_size, causal=False):
    length = max(query.shape[-2], key.shape[-2])
    return in_blocks(query, key, value, math.ceil(length / block_size), causal)


@flash_attention.mistake(
    "Every score is computed twice: once for maximum or total, once for the weights. Keep both from block"
    " to block, and rescale: one pass over the keys."
)
def every_score_twice(query, key, value, block_size, causal=False):
    output, _ = in_blocks(query, key, value, block_size, causal)
    logarithms = []
    for first in range(0, query.shape[-2], block_size):
        block = query[..., first : first + block_size, :]
        seen = first + block.shape[-2] if causal else key.shape[-2]
        scores = scores_of(block, key[..., :seen, :])
        if causal:
            scores = scores.masked_fill(hidden(first, block.shape[-2], 0, seen), -math.inf)
        logarithms.append(scores.logsumexp(dim=-1))
    return output, torch.cat(logarithms, dim=-1)
