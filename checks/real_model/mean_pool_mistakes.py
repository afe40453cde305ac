"""The mistakes that the grader can name in `mean_pool`."""

import torch

from .mean_pool import mean_pool


def _pool(x, mask, count=None):
    """A correct answer; a mistake counts otherwise, or changes what comes in."""
    shown = mask.unsqueeze(-1).to(x.dtype)
    count = shown.sum(dim=1).clamp(min=1) if count is None else count
    return (x * shown).sum(dim=1) / count


@mean_pool.mistake(
    "Padding is in the mean: `mask` is not used, so a text's vector depends on how far it is padded. Leave "
    "out the tokens where `mask` is False."
)
def ignores_the_mask(x, mask):
    return x.mean(dim=1)


@mean_pool.mistake(
    "The sum is right and is divided by T. Divide by the number of tokens that were added: a short text in a "
    "long batch comes out too small."
)
def divided_by_the_length(x, mask):
    return _pool(x, mask, count=x.shape[1])


@mean_pool.mistake("This is the sum over the tokens. Divide it by how many there are in each text.")
def sum_instead_of_mean(x, mask):
    return _pool(x, mask, count=1)


@mean_pool.mistake(
    "A text without any token gives NaN: 0 / 0. Its mean is defined as zeros; make sure that you never "
    "divide by 0."
)
def nan_for_empty(x, mask):
    return _pool(x, mask, count=mask.sum(dim=1, keepdim=True))


@mean_pool.mistake(
    "The numbers are right, and the gradient of a text without any token is NaN: 0 / 0 was computed and then "
    "replaced, but the backward pass still goes through it. Make the divisor 1 before you divide."
)
def nan_in_the_gradient(x, mask):
    means = _pool(x, mask, count=mask.sum(dim=1, keepdim=True))
    return torch.where(mask.any(dim=1, keepdim=True), means, torch.zeros_like(means))


@mean_pool.mistake(
    "The mask is read the wrong way round: this is the mean of the hidden tokens. True marks the tokens that "
    "count."
)
def mask_inverted(x, mask):
    return _pool(x, ~mask)


@mean_pool.mistake(
    "This is the first token, [CLS]. Some encoders are read there; this one was trained with the mean over "
    "all tokens of the text."
)
def first_token(x, mask):
    return x[:, 0]


@mean_pool.mistake(
    "One number divides all texts: the average count of the batch. Each text has a count of its own."
)
def one_count_for_all(x, mask):
    return _pool(x, mask, count=mask.sum() / len(mask))


@mean_pool.mistake(
    "The mean runs over the batch: mixed are the texts, not the tokens of one text. Sum over the axis of the "
    "tokens, the middle one."
)
def over_the_batch(x, mask):
    shown = mask.unsqueeze(-1).to(x.dtype)
    return (x * shown).sum(dim=0) / shown.sum(dim=0).clamp(min=1)


@mean_pool.mistake(
    "The number of visible tokens is right and the tokens are not: you take the first ones, and the mask may "
    "have holes or begin with False. Take those where it is True."
)
def first_ones(x, mask):
    return _pool(x, torch.arange(x.shape[1]) < mask.sum(dim=1, keepdim=True))


@mean_pool.mistake(
    "The divisor is one too large: the count plus 1. Keep it from being 0 without changing the other counts."
)
def count_plus_one(x, mask):
    return _pool(x, mask, count=mask.sum(dim=1, keepdim=True) + 1)


@mean_pool.mistake(
    "This is the largest number of each column over the visible tokens. The mean was asked for."
)
def max_pool(x, mask):
    return x.masked_fill(~mask.unsqueeze(-1), -torch.inf).amax(dim=1).masked_fill(~mask.any(1, True), 0.0)


@mean_pool.mistake(
    "For float64 the answer is float32: a mask converted with .float() forces it. Convert it to the dtype of "
    "`x`."
)
def always_float32(x, mask):
    return _pool(x.float(), mask)


@mean_pool.mistake(
    "Each row is divided by its length besides. That is the next exercise's step: `mean_pool` returns the "
    "plain mean."
)
def normalised_besides(x, mask):
    return torch.nn.functional.normalize(_pool(x, mask), dim=-1)
