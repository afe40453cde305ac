"""What the grader checks about `mean_pool`; its mistakes are in a file of their own."""

import torch

from attention_lab.authoring import FLOATS, Exercise, case

mean_pool = Exercise(
    "mean_pool",
    results=("means",),
    axes=(("texts", "embedding"),),
    mistakes_from=("mean_pool_mistakes",),
)


def _padded(draw, batch, length):
    """A mask (B, T) of texts padded on the right; one fills the row, none is empty."""
    lengths = draw.integers(1, length - 1, batch)
    lengths[draw.integer(0, batch - 1)] = length
    return torch.arange(length) < lengths[:, None]


@mean_pool.group("texts padded on the right", points=2)
def padded(draw):
    for dtype in FLOATS:
        batch, length, width = draw.sizes(3)
        yield case(draw.normal(batch, length, width, dtype=dtype) + 1, _padded(draw, batch, length))


@mean_pool.group("masks with holes", points=1)
def holes(draw):
    for dtype in FLOATS:
        batch, length, width = draw.sizes(3)
        mask = draw.mask(batch, length)
        mask[0, 0], mask[0, 1], mask[1, 0] = False, True, True
        yield case(draw.normal(batch, length, width, dtype=dtype), mask)


@mean_pool.group("equal sizes, one text, one token, one number, nothing hidden", points=1)
def edges(draw):
    size, batch, width = draw.sizes(3)
    yield case(draw.normal(size, size, size), draw.mask(size, size))
    yield case(draw.normal(batch, 1, width), torch.ones(batch, 1, dtype=torch.bool))
    yield case(draw.normal(batch, size, width), torch.ones(batch, size, dtype=torch.bool))
    yield case(draw.normal(1, size, width), draw.mask(1, size))
    yield case(draw.normal(batch, size, 1), draw.mask(batch, size))
    yield case(draw.normal(1, 1, width), torch.ones(1, 1, dtype=torch.bool))


def _with_an_empty_text(draw, dtype):
    batch, length, width = draw.sizes(3)
    mask = draw.mask(batch, length)
    mask[draw.integer(0, batch - 1)] = False
    return draw.normal(batch, length, width, dtype=dtype) + 1, mask


@mean_pool.group("a text without any token", points=1)
def empty(draw):
    for dtype in FLOATS:
        yield case(*_with_an_empty_text(draw, dtype))
    length, width = draw.sizes(2)
    yield case(draw.normal(1, length, width) + 1, torch.zeros(1, length, dtype=torch.bool))


@mean_pool.group("gradients, also of a text without any token", points=1)
def gradients(draw):
    for dtype in FLOATS:
        batch, length, width = draw.sizes(3)
        yield case(draw.normal(batch, length, width, dtype=dtype), draw.mask(batch, length), gradients=True)
        yield case(*_with_an_empty_text(draw, dtype), gradients=True)


@mean_pool.accepted_alternative(
    "One product does sum and mask together: the mask, divided by its row sums, is a row of attention "
    "weights that are equal on the visible tokens."
)
def as_uniform_attention(x, mask):
    weights = mask.to(x.dtype)
    weights = weights / weights.sum(dim=1, keepdim=True).clamp(min=1)
    return (weights.unsqueeze(1) @ x).squeeze(1)


@mean_pool.accepted_alternative
def by_einsum(x, mask):
    shown = mask.to(x)
    count = torch.clamp(shown.sum(1), min=1e-9)
    return torch.einsum("bte,bt->be", x, shown) / count[:, None]


@mean_pool.accepted_alternative(
    "A loop over the texts, each cut to its own tokens: slow for many, easy to check."
)
def text_by_text(x, mask):
    rows = []
    for tokens, shown in zip(x, mask):
        rows.append(tokens[shown].mean(dim=0) if shown.any() else torch.zeros_like(tokens[0]))
    return torch.stack(rows)


@mean_pool.accepted_alternative
def by_where(x, mask):
    shown = mask.unsqueeze(-1)
    total = torch.where(shown, x, torch.zeros_like(x)).sum(dim=1)
    count = shown.sum(dim=1)
    return total / torch.where(count == 0, torch.ones_like(count), count)


@mean_pool.accepted_alternative
def by_masked_fill(x, mask):
    total = x.masked_fill(~mask[..., None], 0).sum(-2)
    return total / mask.sum(-1, keepdim=True).clamp_min(1).to(x.dtype)
