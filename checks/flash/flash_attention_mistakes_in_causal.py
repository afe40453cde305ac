"""What people get wrong in `flash_attention` where later keys are hidden."""

import torch

from .blocks import ahead, hidden, in_blocks
from .flash_attention import flash_attention


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
