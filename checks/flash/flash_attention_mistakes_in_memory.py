"""What people get wrong in `flash_attention` although every number is right: what is held at once."""

import math

import torch

from .blocks import hidden, in_blocks, plainly, scores_of
from .flash_attention import flash_attention


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
