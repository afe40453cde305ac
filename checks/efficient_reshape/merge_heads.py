"""The exercise `merge_heads`, and the mistakes it can name."""

import torch

from attention_lab.authoring import Exercise, SmallDraw, add_mistakes, case

merge_heads = Exercise(
    "merge_heads",
    results=("merged x",),
    axes=(("batch", "tokens", "embedding"),),
    draw=SmallDraw,
)


@merge_heads.group("a tensor of its own, such as attention returns", points=1)
def contiguous(draw):
    heads, head_size, batch, length = draw.heads(2)
    count = heads * length * head_size
    yield case(torch.arange(count, dtype=torch.float32).view(1, heads, length, head_size))
    yield case(draw.normal(batch, heads, length, head_size))
    yield case(draw.normal(batch, heads, length, head_size, dtype=torch.float64))


@merge_heads.group("a transposed view, such as split_heads returns", points=1)
def not_contiguous(draw):
    heads, head_size, batch, length = draw.heads(2)
    yield case(draw.normal(batch, length, heads, head_size).transpose(1, 2))
    yield case(draw.normal(batch, heads, head_size, length).transpose(2, 3))
    yield case(draw.normal(length, heads, batch, head_size, dtype=torch.float64).permute(2, 1, 0, 3))


@merge_heads.group("equal sizes: as many tokens, heads and numbers per head", points=1)
def equal_sizes(draw):
    (size,) = draw.sizes(1)
    yield case(draw.normal(2, size, size, size))  # H = T = D
    yield case(draw.normal(4, 4, size, size))  # B = H, T = D


@merge_heads.group("one head, heads of one number, a single token", points=1)
def edges(draw):
    heads, width, batch, length = draw.heads(2)
    yield case(draw.normal(batch, 1, length, width))
    yield case(draw.normal(batch, heads, length, 1))
    yield case(draw.normal(batch, heads, 1, width))


@merge_heads.group("gradients", points=1)
def gradients(draw):
    heads, head_size, batch, length = draw.heads(2)
    yield case(draw.normal(batch, heads, length, head_size), gradients=True)
    turned = draw.normal(batch, length, heads, head_size, dtype=torch.float64).transpose(1, 2)
    yield case(turned, gradients=True)


@merge_heads.mistake(
    "The shape (B, T, H·D) is right, but each row holds one head's numbers for several tokens. The heads "
    "must be beside their own token *before* they are joined: swap T and H back first, and keep what "
    "`transpose` returns."
)
def without_transposing_back(x):
    batch, heads, length, head_size = x.shape
    return x.reshape(batch, length, heads * head_size)


@merge_heads.mistake(
    "`view` fails: after a transpose the numbers are no longer in memory in the order in which you read "
    "them. Copy them into that order first, or use the method like `view` that copies where it must."
)
def view_after_transpose(x):
    batch, heads, length, head_size = x.shape
    return x.transpose(1, 2).view(batch, length, heads * head_size)


@merge_heads.mistake(
    "The heads are interleaved: a token's row begins with the first number of each head. It should hold "
    "all D numbers of head 0, then all of head 1: swap T and H, and leave D last."
)
def interleaved(x):
    batch, heads, length, head_size = x.shape
    return x.permute(0, 2, 3, 1).reshape(batch, length, head_size * heads)


def swaps_tokens_and_head_size(x):
    batch, heads, length, head_size = x.shape
    return x.transpose(-2, -1).reshape(batch, length, heads * head_size)


add_mistakes(
    merge_heads,
    not_flattened=(
        "The result is (B, T, H, D): T and H are swapped back, but the last two axes are not joined. H and D "
        "must become one axis of H·D.",
        lambda x: x.transpose(1, 2),
    ),
    averaged=(
        "The heads are averaged (or added) into (B, T, D). No number may be lost: put the heads side by "
        "side, (B, T, H·D).",
        lambda x: x.mean(dim=1),
    ),
    swaps_tokens_and_head_size=(
        "The wrong two axes are swapped: T and D changed places before the last axes were joined. Swap T and "
        "H.",
        swaps_tokens_and_head_size,
    ),
    along_time=(
        "The heads follow one another in time, (B, H·T, D), as if there were H times as many tokens. They "
        "belong side by side within each token, on the last axis.",
        lambda x: torch.cat(list(x.unbind(dim=1)), dim=1),
    ),
)


@merge_heads.mistake(
    "Batch and tokens are folded into one axis, (B·T, H·D). Only H and D become one axis: (B, T, H·D)."
)
def batch_folded_into_time(x):
    batch, heads, length, head_size = x.shape
    return x.transpose(1, 2).reshape(batch * length, heads * head_size)


@merge_heads.mistake(
    "`x` itself has changed: a method whose name ends in an underscore works in place, so the caller's "
    "tensor has swapped axes afterwards. Use the method without the underscore."
)
def transposes_in_place(x):
    batch, heads, length, head_size = x.shape
    return x.transpose_(1, 2).reshape(batch, length, heads * head_size)


@merge_heads.mistake(
    "The heads are in the opposite order: the row of a token begins with its last head. Head 0 comes "
    "first, as `split_heads` cut them."
)
def last_head_first(x):
    row = x[:, 0]
    for head in range(1, x.shape[1]):
        row = torch.cat([x[:, head], row], dim=-1)
    return row


@merge_heads.accepted_alternative(
    "The copy is explicit here. And if `view` fails somewhere, you know that an earlier step left memory "
    "in another order."
)
def by_contiguous_view(x):
    batch, heads, length, head_size = x.shape
    return x.transpose(1, 2).contiguous().view(batch, length, heads * head_size)


@merge_heads.accepted_alternative(
    "permute names the new order of all four axes at once, and flatten joins the last two. You need no size."
)
def by_permute(x):
    return x.permute(0, 2, 1, 3).flatten(-2)


@merge_heads.accepted_alternative
def by_concatenation(x):
    return torch.cat(list(x.unbind(dim=1)), dim=-1)
