"""The exercise `mean_pool`, and the mistakes it can name."""

import torch

from attention_lab.authoring import FLOATS, Exercise, add_mistakes, case

mean_pool = Exercise(
    "mean_pool",
    results=("means",),
    axes=(("texts", "embedding"),),
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


@mean_pool.accepted_alternative(
    "A loop over the texts, each cut to its own tokens: slow for many, easy to check."
)
def text_by_text(x, mask):
    rows = []
    for tokens, shown in zip(x, mask):
        rows.append(tokens[shown].mean(dim=0) if shown.any() else torch.zeros_like(tokens[0]))
    return torch.stack(rows)


def _pool(x, mask, count=None):
    """A correct answer; a mistake counts otherwise, or changes what comes in."""
    shown = mask.unsqueeze(-1).to(x.dtype)
    count = shown.sum(dim=1).clamp(min=1) if count is None else count
    return (x * shown).sum(dim=1) / count


def nan_in_the_gradient(x, mask):
    means = _pool(x, mask, count=mask.sum(dim=1, keepdim=True))
    return torch.where(mask.any(dim=1, keepdim=True), means, torch.zeros_like(means))


def over_the_batch(x, mask):
    shown = mask.unsqueeze(-1).to(x.dtype)
    return (x * shown).sum(dim=0) / shown.sum(dim=0).clamp(min=1)


add_mistakes(
    mean_pool,
    ignores_the_mask=(
        "Padding is in the mean: `mask` is not used, so a text's vector depends on the amount of its "
        "padding. Leave out the tokens where `mask` is False.",
        lambda x, mask: x.mean(dim=1),
    ),
    divided_by_the_length=(
        "The sum is right, but you divide it by T. Divide by the number of visible tokens; otherwise the "
        "vector of a padded text is too small.",
        lambda x, mask: _pool(x, mask, count=x.shape[1]),
    ),
    nan_for_empty=(
        "A text without any token gives NaN, because 0 is divided by 0. Its mean is defined as zeros: make "
        "sure that the divisor is never 0.",
        lambda x, mask: _pool(x, mask, count=mask.sum(dim=1, keepdim=True)),
    ),
    nan_in_the_gradient=(
        "The numbers are right, but the gradient of a text without any token is NaN: you compute 0 / 0 and "
        "replace the result, and the backward pass still goes through the division. Make the divisor 1 "
        "before you divide.",
        nan_in_the_gradient,
    ),
    mask_inverted=(
        "The mask is inverted: this is the mean of the hidden tokens. True marks the tokens that belong in "
        "the mean.",
        lambda x, mask: _pool(x, ~mask),
    ),
    over_the_batch=(
        "The mean is taken over the batch, which mixes different texts. Sum over the axis of the tokens, the "
        "middle one.",
        over_the_batch,
    ),
    first_ones=(
        "The count is right, but you add up the first tokens of each text. The mask may have holes or begin "
        "with False: add up the tokens where it is True.",
        lambda x, mask: _pool(x, torch.arange(x.shape[1]) < mask.sum(dim=1, keepdim=True)),
    ),
)


for _clause, _answer in {
    "the sum were not divided": lambda x, mask: _pool(x, mask, count=1),
    "the count were one larger": lambda x, mask: _pool(x, mask, count=mask.sum(dim=1, keepdim=True) + 1),
    "the maximum were in the place of the mean": lambda x, mask: (
        x.masked_fill(~mask.unsqueeze(-1), -torch.inf).amax(dim=1).masked_fill(~mask.any(1, True), 0.0)
    ),
    "the first token were in the place of the mean": lambda x, mask: x[:, 0],
    "all texts were divided by the mean count of the batch": lambda x, mask: _pool(
        x, mask, count=mask.sum() / len(mask)
    ),
    "each row were divided by its norm": lambda x, mask: torch.nn.functional.normalize(
        _pool(x, mask), dim=-1
    ),
}.items():
    mean_pool.cause(_clause, _answer)
