"""The exercise `to_halves`, and the mistakes it can name."""

import torch

from attention_lab.authoring import FLOATS, Exercise, add_mistakes, case

to_halves = Exercise(
    "to_halves",
    results=("weight",),
    axes=(("rows", "inputs"),),
)
HEAD_SIZES = (26, 38, 44)
ODD_SIZES = (11, 13, 15, 17)


def _weight(draw, dtype=torch.float32, square=False):
    """The weight of several heads `(E, E_in)`, and how many they are."""
    heads, inputs = draw.sizes(2)
    width = heads * draw.shuffled(HEAD_SIZES)[0]
    return draw.normal(width, width if square else inputs, dtype=dtype), heads


@to_halves.group("one head", points=1)
def one_head(draw):
    for dtype in FLOATS:
        (inputs,) = draw.sizes(1)
        yield case(draw.normal(draw.shuffled(HEAD_SIZES)[0], inputs, dtype=dtype), 1)


@to_halves.group("several heads", points=1)
def several_heads(draw):
    for dtype in FLOATS:
        yield case(*_weight(draw, dtype))


@to_halves.group("equal sizes: square weights, as many heads as numbers per head", points=1)
def equal_sizes(draw):
    weight, heads = _weight(draw, square=True)
    yield case(weight, heads)
    yield case(draw.normal(14 * 14, draw.shuffled(ODD_SIZES)[0]), 14)


@to_halves.group("heads of a single pair, and of two", points=1)
def small_heads(draw):
    heads, inputs = draw.shuffled((7, 9))[0], draw.shuffled(ODD_SIZES)[0]
    yield case(draw.normal(4 * heads, inputs), heads)
    yield case(draw.normal(2 * heads, inputs), heads)


@to_halves.group("gradients", points=1)
def gradients(draw):
    for dtype in FLOATS:
        weight, heads = _weight(draw, dtype)
        yield case(weight, heads, gradients=True)


add_mistakes(
    to_halves,
    inverted=(
        "The permutation is the inverse of the right one: it converts halves to neighbours. In each head, "
        "the even rows come first, then the odd ones.",
        lambda weight, num_heads: weight.unflatten(0, (num_heads, 2, -1)).transpose(1, 2).flatten(0, 2),
    ),
    across_heads=(
        "The rows were sorted across all heads: the even rows of the whole weight came first, so heads are "
        "mixed. Cut the rows into heads, and sort within each.",
        lambda weight, num_heads: torch.cat([weight[0::2], weight[1::2]]),
    ),
    unchanged=(
        "The rows are in their old order: this is the weight that came in. Each head's even rows have to "
        "come first, then its odd ones.",
        lambda weight, num_heads: weight.clone(),
    ),
    odd_rows_first=(
        "The odd rows of each head come first, then the even ones: the two numbers of each pair are swapped, "
        "so the turn goes in the other direction. Even rows first.",
        lambda weight, num_heads: (
            weight.unflatten(0, (num_heads, -1, 2)).flip(2).transpose(1, 2).flatten(0, 2)
        ),
    ),
    inverted_across_heads=(
        "The inverse permutation was applied, and to all rows as one head. Put even rows first, then odd "
        "ones, within each head.",
        lambda weight, num_heads: weight.unflatten(0, (2, -1)).transpose(0, 1).flatten(0, 1),
    ),
    columns_instead_of_rows=(
        "The columns were reordered instead of the rows. In a weight (E, E_in) the rows belong to the "
        "outputs, which are cut into heads; the columns read the input, and its order stays.",
        lambda weight, num_heads: torch.cat([weight[:, 0::2], weight[:, 1::2]], dim=1),
    ),
    interleaved_heads=(
        "Heads have moved: the rows were cut into (D, H) instead of (H, D), so one head's rows come from all "
        "of them. Head 0 owns the first D rows.",
        lambda weight, num_heads: weight.unflatten(0, (-1, 2, num_heads)).permute(2, 1, 0, 3).flatten(0, 2),
    ),
    heads_for_head_size=(
        "The number of heads was taken for the size of each: the rows were cut into groups of `num_heads` or "
        "so. There are `num_heads` groups, of E / num_heads rows.",
        lambda weight, num_heads: torch.cat(
            [torch.cat([group[0::2], group[1::2]]) for group in weight.split(num_heads)]
        ),
    ),
)


@to_halves.accepted_alternative("Says what happens in words: of each head, the even rows, then the odd ones.")
def head_by_head(weight, num_heads):
    heads = weight.chunk(num_heads)
    return torch.cat([rows for head in heads for rows in (head[0::2], head[1::2])])


@to_halves.accepted_alternative("A list of row numbers: print it, and you see the permutation itself.")
def by_row_numbers(weight, num_heads):
    size = weight.shape[0] // num_heads
    order = [*range(0, size, 2), *range(1, size, 2)]
    return weight[[head * size + row for head in range(num_heads) for row in order]]


@to_halves.accepted_alternative
def into_a_new_tensor(weight, num_heads):
    size = weight.shape[0] // num_heads
    result = torch.empty_like(weight)
    for head in range(num_heads):
        own = weight[head * size : (head + 1) * size]
        result[head * size : head * size + size // 2] = own[0::2]
        result[head * size + size // 2 : (head + 1) * size] = own[1::2]
    return result
