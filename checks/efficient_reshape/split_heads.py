"""The exercise `split_heads`, and the mistakes it can name."""

import torch

from attention_lab.authoring import FLOATS, Exercise, SmallDraw, add_mistakes, case

split_heads = Exercise(
    "split_heads",
    results=("x split into heads",),
    axes=(("batch", "heads", "tokens", "head size"),),
    draw=SmallDraw,
)


def _numbered(*shape, dtype=torch.float32):
    """Numbers in ascending order: each tells its original position, so a difference can be traced by eye."""
    count = torch.Size(shape).numel()
    return torch.arange(count, dtype=dtype).view(shape)


@split_heads.group("one sentence", points=1)
def one_sentence(draw):
    heads, head_size, length = draw.heads(1)
    yield case(_numbered(1, length, heads * head_size), heads)
    yield case(draw.normal(1, length, heads * head_size, dtype=torch.float64), heads)


@split_heads.group("a batch of sentences", points=1)
def a_batch(draw):
    for _ in range(2):
        heads, head_size, batch, length = draw.heads(2)
        yield case(draw.normal(batch, length, heads * head_size), heads)


@split_heads.group("equal sizes: as many tokens, heads and numbers per head", points=1)
def equal_sizes(draw):
    other, _ = draw.heads()
    size = next(size for size in draw.sizes(2) if size != other)
    yield case(draw.normal(2, size, size * size), size)  # T = H = D
    yield case(draw.normal(other, size, other * size), other)  # B = H, T = D


@split_heads.group("one head, heads of one number, a single token", points=1)
def edges(draw):
    heads, head_size, batch, length = draw.heads(2)
    yield case(draw.normal(batch, length, head_size), 1)
    yield case(draw.normal(batch, length, head_size), head_size)
    yield case(draw.normal(batch, 1, heads * head_size), heads)


@split_heads.group("a width that is not divisible by the number of heads", points=1)
def refusals(draw):
    embed_dim, heads = draw.indivisible()
    batch, length, *_ = (size for size in draw.sizes(4) if size not in (embed_dim, heads))
    yield case(draw.normal(batch, length, embed_dim), heads, refuses=(embed_dim, heads))


@split_heads.group("gradients", points=1)
def gradients(draw):
    for dtype in FLOATS:
        heads, head_size, batch, length = draw.heads(2)
        x = draw.normal(batch, length, heads * head_size, dtype=dtype)
        yield case(x, heads, gradients=True)


def _size(x, num_heads):
    """(B, T, E, D) of an input whose E is divisible by H."""
    batch, length, embed_dim = x.shape
    if embed_dim % num_heads:
        raise ValueError(f"E = {embed_dim} does not divide into {num_heads} heads")
    return batch, length, embed_dim, embed_dim // num_heads


def _cut(x, num_heads, axes):
    """x with these axes, out of B, T, H and D, by one view."""
    batch, length, _, head_size = _size(x, num_heads)
    sizes = {"B": batch, "T": length, "H": num_heads, "D": head_size}
    return x.reshape([sizes[axis] for axis in axes])


def whole_token_for_every_head(x, num_heads):
    _size(x, num_heads)
    return x.unsqueeze(1).repeat(1, num_heads, 1, 1)


add_mistakes(
    split_heads,
    view_without_transpose=(
        "The shape (B, H, T, D) is right, the numbers are in the wrong positions: head 0 holds the first "
        "tokens whole instead of a part of every token. A view keeps the order of the numbers in memory: cut "
        "E into (H, D) first, then swap two axes.",
        lambda x, num_heads: _cut(x, num_heads, "BHTD"),
    ),
    interleaved=(
        "The heads are interleaved: head h got every H-th number of a token. Head 0 owns the first D "
        "numbers, head 1 the next D, so E has to be cut into (H, D), not into (D, H).",
        lambda x, num_heads: _cut(x, num_heads, "BTDH").permute(0, 3, 1, 2),
    ),
    transpose_missing=(
        "The result is (B, T, H, D): E is cut, but T and H are not swapped. `transpose` returns a new tensor "
        "and does not change the old one, so keep what it returns.",
        lambda x, num_heads: _cut(x, num_heads, "BTHD"),
    ),
    tokens_last=(
        "The result is (B, H, D, T): D and T are swapped as well. Swap only two axes, T and H.",
        lambda x, num_heads: _cut(x, num_heads, "BTHD").permute(0, 2, 3, 1),
    ),
    heads_before_the_batch=(
        "The heads are in front of the batch, (H, B, T, D). They belong behind it, (B, H, T, D): check along "
        "which axis you put the heads together.",
        lambda x, num_heads: _cut(x, num_heads, "BTHD").permute(2, 0, 1, 3),
    ),
    folded_into_the_batch=(
        "Batch and heads are folded into one axis, (B·H, T, D). Keep them apart: (B, H, T, D) has four axes.",
        lambda x, num_heads: _cut(x, num_heads, "BTHD").transpose(1, 2).flatten(0, 1),
    ),
    num_heads_as_head_size=(
        "`num_heads` was used as the head size: each head has `num_heads` numbers. The axis H must be "
        "`num_heads` long, and D is E / H.",
        lambda x, num_heads: _cut(x, num_heads, "BTDH").transpose(1, 2),
    ),
    whole_token_for_every_head=(
        "Every head got the whole token, all E numbers. It should get only D = E / H of them: head 0 the "
        "first D, head 1 the next D, and so on.",
        whole_token_for_every_head,
    ),
    leaves_the_refusal_to_view=(
        "Right where H divides E. Where it does not, the caller gets torch's own error about the view. Test "
        "this first and raise a ValueError that names `E` and `num_heads`.",
        lambda x, num_heads: x.view(*x.shape[:2], num_heads, x.shape[2] // num_heads).transpose(1, 2),
    ),
)


@split_heads.mistake(
    "Right where H divides E. Where it does not, the numbers behind the last head are silently lost. Test "
    "this first and raise a ValueError that names `E` and `num_heads`."
)
def cuts_off_the_rest(x, num_heads):
    head_size = x.shape[-1] // num_heads
    parts = [x[..., h * head_size : (h + 1) * head_size] for h in range(num_heads)]
    return torch.stack(parts, dim=1)


@split_heads.mistake(
    "Right where H divides E. Where it does not, an `assert` stops it, and Python removes asserts when it "
    "runs with -O. Instead, raise a ValueError that names `E` and `num_heads`."
)
def asserts(x, num_heads):
    assert x.shape[-1] % num_heads == 0
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


@split_heads.accepted_alternative(
    "unflatten cuts one axis into two and leaves the others alone, and movedim says which axis goes "
    "where. Both work with any number of axes in front."
)
def by_unflatten(x, num_heads):
    if x.shape[-1] % num_heads != 0:
        raise ValueError(f"{num_heads} heads cannot share a width of {x.shape[-1]}")
    return x.unflatten(-1, (num_heads, -1)).movedim(2, 1)


@split_heads.accepted_alternative(
    "Cuts each token into its heads and stacks them. You need not know anything about strides, and you "
    "can print every step. It copies the numbers."
)
def by_chunks(x, num_heads):
    if x.shape[-1] % num_heads != 0:
        raise ValueError(f"{num_heads} heads cannot share a width of {x.shape[-1]}")
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)
