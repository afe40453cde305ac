"""The exercise `stack_heads`, and the mistakes it can name."""

import torch

from attention_lab.authoring import FLOATS, Exercise, SmallDraw, case

stack_heads = Exercise(
    "stack_heads",
    results=("stacked weight",),
    axes=(("heads times head size", "embedding"),),
    draw=SmallDraw,
)


def _heads(draw, count, head_size, embed_dim, dtype=torch.float32):
    return [draw.normal(head_size, embed_dim, dtype=dtype) for _ in range(count)]


@stack_heads.group("heads of any size", points=1)
def any_size(draw):
    for dtype in FLOATS:
        heads, head_size, embed_dim = draw.heads(1)
        yield case(_heads(draw, heads, head_size, embed_dim, dtype))


@stack_heads.group("heads as wide as the embedding together, H · D = E", points=1)
def shared_out(draw):
    heads, head_size = draw.heads()
    yield case(_heads(draw, heads, head_size, heads * head_size))


@stack_heads.group("equal sizes, and a single head", points=1)
def equal_sizes(draw):
    size, embed_dim = draw.sizes(2)
    yield case(_heads(draw, size, size, size))
    yield case(_heads(draw, 4, 4, embed_dim))
    yield case(_heads(draw, 1, size, embed_dim))


@stack_heads.group("gradients reach every head", points=1)
def gradients(draw):
    for dtype in FLOATS:
        heads, head_size, embed_dim = draw.heads(1)
        yield case(_heads(draw, heads, head_size, embed_dim, dtype), gradients=True)


@stack_heads.mistake(
    "The heads are beside each other, (D, H·E). A Linear keeps its weight as (out, in): all heads read "
    "the same E inputs, and each head adds outputs. Stack along the first axis."
)
def along_the_inputs(head_weights):
    return torch.cat(list(head_weights), dim=1)


@stack_heads.mistake(
    "The result has three axes, (H, D, E). It should be one weight, (H·D, E): join the axis of the heads "
    "and the axis of their rows."
)
def in_a_pile(head_weights):
    return torch.stack(list(head_weights))


@stack_heads.mistake(
    "The stacked weight is transposed, (E, H·D). A Linear stores its weight as (out, in), so the stacked "
    "rows come first and E is last."
)
def transposed(head_weights):
    return torch.cat(list(head_weights), dim=0).T


@stack_heads.mistake(
    "The heads are averaged (or added) into a single (D, E). Each head keeps its own D rows: (H·D, E)."
)
def averaged(head_weights):
    return sum(head_weights) / len(head_weights)


@stack_heads.mistake(
    "The rows are interleaved: the first rows of all heads, then all second rows. (A view after putting "
    "the weights side by side does this, too.) All rows of head 0 come first, then all of head 1, or "
    "`split_heads` cuts between the wrong numbers."
)
def interleaved(head_weights):
    pile = torch.stack(list(head_weights), dim=1)
    return pile.reshape(-1, pile.shape[-1])


@stack_heads.mistake(
    "The heads are blocks along the diagonal, with zeros elsewhere. That would give each head inputs of "
    "its own; here every head reads all of the same E inputs, and the result is (H·D, E)."
)
def along_the_diagonal(head_weights):
    return torch.block_diag(*head_weights)


@stack_heads.mistake(
    "The heads are in the opposite order: the last one is on top. Each further head goes below those that "
    "are there already."
)
def last_head_on_top(head_weights):
    stacked = head_weights[0]
    for weight in head_weights[1:]:
        stacked = torch.cat([weight, stacked], dim=0)
    return stacked


@stack_heads.mistake(
    "Only the first two heads are in the result: it has 2·D rows for any number of heads. The list may "
    "have any length."
)
def two_heads_only(head_weights):
    return torch.cat(head_weights[:2], dim=0)


@stack_heads.mistake(
    "The numbers are right, but no gradient reaches the small weights: `.data`, `.detach()`, a list of "
    "numbers or a new Parameter took them out of the graph. Stack the tensors themselves."
)
def detached(head_weights):
    return torch.cat([weight.detach() for weight in head_weights], dim=0)


@stack_heads.accepted_alternative(
    "vstack says in its name which way they are put together: on top of each other."
)
def by_vstack(head_weights):
    return torch.vstack(list(head_weights))


@stack_heads.accepted_alternative
def by_a_pile_and_a_flatten(head_weights):
    return torch.stack(list(head_weights)).flatten(0, 1)


@stack_heads.accepted_alternative
def row_by_row(head_weights):
    return torch.stack([row for weight in head_weights for row in weight])


@stack_heads.accepted_alternative
def by_growing(head_weights):
    stacked = head_weights[0].new_empty(0, head_weights[0].shape[1])
    for weight in head_weights:
        stacked = torch.cat([stacked, weight])
    return stacked


@stack_heads.accepted_alternative(
    "The whole matrix is made first and filled block by block: one allocation, and the row numbers say "
    "which head is where. More to write, and more to get wrong."
)
def by_filling(head_weights):
    size, embed_dim = head_weights[0].shape
    stacked = head_weights[0].new_zeros(len(head_weights) * size, embed_dim)
    for head, weight in enumerate(head_weights):
        stacked[head * size : (head + 1) * size] = weight
    return stacked
