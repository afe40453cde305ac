"""The exercise `flash_attention`, and the mistakes it can name."""

import math

import torch

from attention_lab.authoring import FLOATS, FUSED_ATTENTION, SUMS_OF_PRODUCTS, Exercise, add_mistakes, case
from nbjudge.torch import multiplications_of, without_gradients

from . import memory
from .blocks import add, ahead, finish, hidden, in_blocks, plainly, scores_of, start_of

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


add_mistakes(
    flash_attention,
    in_blocks,
    not_scaled=(
        "The scores are not scaled: each block's are query · key / √d_k, as in all lessons since the second.",
        {"score": lambda q, k: scores_of(q, k, 1.0)},
    ),
    scaled_by_the_block=(
        "The scores are divided by the root of the *block size*. It is d_k, the width of query and key, that "
        "makes them large.",
        lambda query, key, value, block_size, causal=False: in_blocks(
            query, key, value, block_size, causal, score=lambda q, k: scores_of(q, k, block_size ** (-0.5))
        ),
    ),
)


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


def _from_zero(query, value):
    sums, _, total = start_of(query, value)
    return sums, torch.zeros_like(total), total


def without_the_maximum(query, key, value, block_size, causal=False):
    def added(state, scores, some):
        exponentials = scores.exp()
        return state[0] + exponentials @ some, state[1].clamp(0, 0), state[2] + exponentials.sum(dim=-1)

    return in_blocks(query, key, value, block_size, causal, adds=added)


add_mistakes(
    flash_attention,
    in_blocks,
    nothing_rescaled=(
        "Where a later block has a larger score, the new maximum is used, but the old sums still belong to "
        "the old one. Multiply output *and* total by exp(old − new) first.",
        {"adds": lambda state, scores, some: _add(state, scores, some, of_sums=False, of_total=False)},
    ),
    maximum_not_carried=(
        "The maximum is lost: each block replaces it by its own, even if an earlier block had a larger one. "
        "Scores far apart then overflow. Keep the larger of old and new.",
        {"adds": lambda *told: _add(*told, keep=lambda _, new: new)},
    ),
    without_the_maximum=(
        "The numbers are right as long as scores are small: nothing is subtracted before `exp`, which "
        "overflows at 88 (in float32; 709 in float64). Subtract the largest score so far.",
        without_the_maximum,
    ),
    last_keys_left_out=(
        "The last, shorter block of keys is left out: the number of blocks was rounded down. Count up to the "
        "end: `range(0, T_k, block_size)`, and let the slice be short.",
        {
            "length_of": lambda length, block_size: max(
                length // block_size * block_size, min(block_size, length)
            )
        },
    ),
    maximum_starts_at_zero=(
        "The running maximum starts at 0. Where all scores of a row are far below 0, every exponential is 0, "
        "and the row becomes 0/0. Start at -inf, or with the maximum of the first block.",
        {"starts": _from_zero},
    ),
)


@flash_attention.mistake(
    "The loop over keys ends at the number of queries. There can be more keys than queries, or fewer: it "
    "ends at the length of `key`."
)
def as_many_keys_as_queries(query, key, value, block_size, causal=False):
    length = query.shape[-2]
    return in_blocks(query, key[..., :length, :], value[..., :length, :], block_size, causal)


@flash_attention.mistake(
    "`logsumexp` is in base 2, as inside some kernels. Return the natural logarithm: `torch.log`."
)
def base_two(query, key, value, block_size, causal=False):
    output, logsumexp = in_blocks(query, key, value, block_size, causal)
    return output, logsumexp / math.log(2)


@flash_attention.mistake(
    "Each block of queries meets only the block of keys at the same position. It has to meet all of them "
    "(causal: all up to it): two loops."
)
def own_block_only(query, key, value, block_size, causal=False):
    blocks = zip(*(each.split(block_size, dim=-2) for each in (query, key, value)), strict=False)
    pairs = [plainly(*block, causal) for block in blocks]
    return torch.cat([each for each, _ in pairs], dim=-2), torch.cat([each for _, each in pairs], dim=-1)


def own_place_hidden_by_parts(query, key, value, block_size, causal=False):
    def done(state):
        sums, maximum, total = state
        return sums / total.masked_fill(total == 0, 1.0)[..., None], maximum + total.log()

    def too_many(*block):
        return ahead(*block) >= 0

    return in_blocks(query, key, value, block_size, causal, hides=too_many, ends=done)


def minus_infinity_from_itself(query, key, value, block_size, causal=False):
    def added(state, scores, some):
        own = scores.amax(dim=-1)
        exponentials = (scores - own[..., None]).exp()  # this block's own, before it is merged
        new = torch.maximum(state[1], own)
        old, factor = (state[1] - new).exp(), (own - new).exp()
        sums = state[0] * old[..., None] + exponentials @ some * factor[..., None]
        return sums, new, state[2] * old + exponentials.sum(dim=-1) * factor

    return in_blocks(query, key, value, block_size, causal, adds=added, seen=None)


def a_mask_of_all(query, key, value, block_size, causal=False):
    length = query.shape[-2] if causal else 1
    every = torch.ones(length, length, dtype=torch.bool).triu(1)

    def of_all(first_query, queries, first_key, keys):
        return every[first_query : first_query + queries, first_key : first_key + keys]

    return in_blocks(query, key, value, block_size, causal, hides=of_all)


def keeps_every_block(query, key, value, block_size, causal=False):
    blocks = []

    def kept_scores(some_queries, some_keys):
        blocks.append(scores_of(some_queries, some_keys))
        return blocks[-1]

    return in_blocks(query, key, value, block_size, causal, score=kept_scores)


add_mistakes(
    flash_attention,
    in_blocks,
    causal_left_out=(
        "`causal` changes nothing: with it, a query sees no key after its own position.",
        lambda query, key, value, block_size, causal=False: in_blocks(query, key, value, block_size),
    ),
    places_within_the_block=(
        "Every block hides its own upper triangle, also those far below the diagonal: positions were "
        "compared within the block. Compare positions in the *text*: first of the block + position in it.",
        {"hides": lambda first_query, queries, first_key, keys: hidden(0, queries, 0, keys)},
    ),
    keys_counted_within_the_block=(
        "The queries are counted in the text, and the keys from the start of their block: in later blocks "
        "they seem to be early ones, and are seen. Key position: first key of the block + position in it.",
        {"hides": lambda first_query, queries, first_key, keys: hidden(first_query, queries, 0, keys)},
    ),
    queries_counted_within_the_block=(
        "The keys are counted in the text, and the queries from the start of their block: later queries seem "
        "to be early ones, and see too little. Query position: first query of the block + position in it.",
        {"hides": lambda first_query, queries, first_key, keys: hidden(0, queries, first_key, keys)},
    ),
    diagonal_seen_whole=(
        "Later blocks are left out, but nothing is hidden within the block on the diagonal. Its queries see "
        "keys that come after them.",
        {"hides": lambda _, queries, __, keys: torch.zeros(queries, keys, dtype=torch.bool)},
    ),
    own_place_hidden=(
        "A query does not see its own position. Hide what is *later*: key > query, not key >= query.",
        {"hides": lambda *block: ahead(*block) >= 0},
    ),
    own_place_hidden_by_parts=(
        "A query does not see its own position. Hide what is *later*: key > query, not key >= query. The "
        "first query then sees nothing, and its output is 0.",
        own_place_hidden_by_parts,
    ),
    diagonal_left_out=(
        "The block on the diagonal is left out with those after it: each query misses its own position and "
        "its neighbours. Leave out only blocks whose *first* key is after the *last* query.",
        {"seen": lambda first_query, _: first_query},
    ),
    minus_infinity_from_itself=(
        "NaN appears where a block is hidden from a query as a whole: its maximum is -inf, and -inf − (-inf) "
        "is not a number. Leave hidden blocks out, or subtract 0 in such rows.",
        minus_infinity_from_itself,
    ),
    computes_hidden_blocks=(
        "Blocks that are hidden as a whole are computed all the same; nearly half of all blocks are. End the "
        "loop over keys at the last query of the block.",
        {"seen": None},
    ),
    the_whole_matrix=(
        "Somewhere a tensor of T_q × T_k numbers is made: all the scores, or a mask for all of them. This "
        "function exists to avoid that. Take one block of queries and one of keys.",
        lambda query, key, value, block_size, causal=False: plainly(query, key, value, causal),
    ),
    a_mask_of_all=(
        "The scores go block by block, but the causal *mask* is made for the whole text: T × T again. Make "
        "it for a block, from the positions of its queries and keys.",
        a_mask_of_all,
    ),
    keeps_every_block=(
        "No tensor is large, but the blocks' scores or weights are all kept (in a list, say) until the end: "
        "together they are the matrix again. Merge each block at once, and do not keep it.",
        keeps_every_block,
    ),
    a_number_of_blocks=(
        "`block_size` was taken for the *number* of blocks: with 2, each block is half the text, and with 1 "
        "all of it. It is a length: how many queries and keys are in a block, so that memory does not grow "
        "with the square of the text.",
        lambda query, key, value, block_size, causal=False: in_blocks(
            query, key, value, math.ceil(max(query.shape[-2], key.shape[-2]) / block_size), causal
        ),
    ),
)


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


flash_attention.causes_in_steps(
    in_blocks,
    {
        "the output were not divided by the total": {"ends": lambda state: (state[0], finish(state)[1])},
        "the logarithm of the total lacked the maximum": {
            "ends": lambda state: (finish(state)[0], state[2].log())
        },
        "the total were in the place of its logarithm": {"ends": lambda state: (finish(state)[0], state[2])},
        "the maximum were in the place of the logarithm": {
            "ends": lambda state: (finish(state)[0], state[1])
        },
        "the old output were not rescaled to a new maximum": {
            "adds": lambda state, scores, some: _add(state, scores, some, of_sums=False)
        },
        "the old total were not rescaled to a new maximum": {
            "adds": lambda state, scores, some: _add(state, scores, some, of_total=False)
        },
        "a query saw the key right behind it as well": {
            "hides": lambda *block: ahead(*block) > 1,
            "seen": None,
        },
        "a query saw only itself and what comes after it": {
            "hides": lambda *block: ahead(*block) < 0,
            "seen": None,
        },
    },
)
