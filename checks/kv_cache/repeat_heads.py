"""The exercise `repeat_heads`, and the mistakes it can name."""

import torch

from attention_lab.authoring import FLOATS, Exercise, LayerDraw, add_mistakes, case

repeat_heads = Exercise(
    "repeat_heads",
    results=("repeated heads",),
    axes=(("batch", "heads", "tokens", "head size"),),
    draw=LayerDraw,
)


@repeat_heads.group("several heads, each several times", points=2)
def several(draw):
    *shape, groups = draw.sizes(5)
    yield case(draw.normal(*shape), groups)
    yield case(draw.normal(*draw.sizes(4), dtype=torch.float64), 2)


@repeat_heads.group("equal sizes: as many heads as tokens, groups and sentences", points=1)
def equal_sizes(draw):
    size, other = draw.sizes(2)
    yield case(draw.normal(size, size, size, size), 2)
    yield case(draw.normal(4, 4, 4, 4), 4)
    yield case(draw.normal(2, other, other, 3), 3)


@repeat_heads.group("groups of one, and a single head", points=1)
def edges(draw):
    yield case(draw.normal(*draw.sizes(4)), 1)
    batch, length, head_size = draw.sizes(3)
    yield case(draw.normal(batch, 1, length, head_size), 3)
    yield case(draw.normal(1, length, 1, head_size), 2)


@repeat_heads.group("gradients, of other layouts too", points=1)
def gradients(draw):
    for dtype in FLOATS:
        yield case(draw.normal(*draw.sizes(4), dtype=dtype), 2, gradients=True)
    batch, heads, length, head_size, groups = draw.sizes(5)
    x = draw.normal(batch, length, heads, head_size)
    yield case(x.transpose(1, 2), groups, gradients=True)  # as split_heads leaves it, out of order in memory


add_mistakes(
    repeat_heads,
    whole_rows=(
        "The heads come as 0, 1, 2, …, 0, 1, 2, …: `repeat` (and `torch.cat` of copies) appends the whole "
        "row of heads to itself. Head h should be h // groups, so 0, 0, …, 1, 1, …: repeat each head by "
        "itself.",
        lambda x, groups: x.repeat(1, groups, 1, 1),
    ),
    the_batch=(
        "The sentences of the batch are repeated instead of the heads: the heads are the second axis.",
        lambda x, groups: x.repeat_interleave(groups, dim=0),
    ),
    the_tokens=(
        "The tokens are repeated instead of the heads: the heads are the second axis.",
        lambda x, groups: x.repeat_interleave(groups, dim=2),
    ),
    flattened=(
        "All axes are repeated into one long row: `repeat_interleave` flattens where no axis is named. Name "
        "the axis of the heads.",
        lambda x, groups: x.repeat_interleave(groups),
    ),
    multiplied=(
        "Each head is added to its copies or multiplied by their number: the shape is (B, H_kv, T, D) as "
        "before. Return each head `groups` times, unchanged.",
        lambda x, groups: x * groups,
    ),
    unchanged=(
        "`x` is returned unchanged: no head is repeated. The second axis of the result is `groups` times as "
        "long. Methods return a new tensor: keep what they return.",
        lambda x, groups: x.clone(),
    ),
    always_two=(
        "Only two copies of each head are made, whatever `groups` is. Use `groups` for the number of copies.",
        lambda x, groups: x.repeat_interleave(2, dim=1),
    ),
)


@repeat_heads.mistake(
    "The shape is right and the numbers are mixed up: the copies were laid beside the tokens, or behind "
    "the numbers of a head, and a view cut them again. Put the new axis right behind the heads before you "
    "join it."
)
def joined_at_the_wrong_place(x, groups):
    batch, heads, length, head_size = x.shape
    pile = x.unsqueeze(3).expand(batch, heads, length, groups, head_size)
    return pile.reshape(batch, heads * groups, length, head_size)


@repeat_heads.mistake(
    "The shape is right, and single numbers are repeated instead of heads: `repeat_interleave` flattens where"
    " no axis is named, and a reshape cut the row into heads. Name the axis of the heads."
)
def flattened_and_cut_again(x, groups):
    batch, heads, length, head_size = x.shape
    return x.repeat_interleave(groups).reshape(batch, heads * groups, length, head_size)


@repeat_heads.accepted_alternative(
    "A new axis after the heads, expanded without copying, then joined: this is `repeat_kv` of the Llama "
    "code in Hugging Face's transformers."
)
def by_expanding(x, groups):
    batch, heads, length, head_size = x.shape
    return x[:, :, None].expand(batch, heads, groups, length, head_size).flatten(1, 2)


@repeat_heads.accepted_alternative(
    "Says which head goes where: the rule h // groups, written as it is. It works for any other rule as well."
)
def by_index(x, groups):
    return x[:, torch.arange(x.shape[1] * groups) // groups]


@repeat_heads.accepted_alternative
def by_filling(x, groups):
    result = x.new_empty(x.shape[0], x.shape[1] * groups, *x.shape[2:])
    for copy in range(groups):
        result[:, copy::groups] = x
    return result
