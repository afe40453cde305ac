"""The mistakes that the grader can name in `mean_pool`."""

import torch

from .mean_pool import mean_pool


def _pool(x, mask, count=None):
    """A correct answer; a mistake counts otherwise, or changes what comes in."""
    shown = mask.unsqueeze(-1).to(x.dtype)
    count = shown.sum(dim=1).clamp(min=1) if count is None else count
    return (x * shown).sum(dim=1) / count


@mean_pool.mistake(
    "Padding is in the mean: `mask` is not used, so a text's vector depends on the amount of its padding. "
    "Leave out the tokens where `mask` is False."
)
def ignores_the_mask(x, mask):
    return x.mean(dim=1)


@mean_pool.mistake(
    "The sum is right, but you divide it by T. Divide by the number of visible tokens; otherwise the vector "
    "of a padded text is too small."
)
def divided_by_the_length(x, mask):
    return _pool(x, mask, count=x.shape[1])


@mean_pool.mistake("This is the sum over the visible tokens. Divide it by their number, text by text.")
def sum_instead_of_mean(x, mask):
    return _pool(x, mask, count=1)


@mean_pool.mistake(
    "A text without any token gives NaN, because 0 is divided by 0. Its mean is defined as zeros: make sure "
    "that the divisor is never 0."
)
def nan_for_empty(x, mask):
    return _pool(x, mask, count=mask.sum(dim=1, keepdim=True))


@mean_pool.mistake(
    "The numbers are right, but the gradient of a text without any token is NaN: you compute 0 / 0 and "
    "replace the result, and the backward pass still goes through the division. Make the divisor 1 before"
    " you divide."
)
def nan_in_the_gradient(x, mask):
    means = _pool(x, mask, count=mask.sum(dim=1, keepdim=True))
    return torch.where(mask.any(dim=1, keepdim=True), means, torch.zeros_like(means))


@mean_pool.mistake(
    "The mask is inverted: this is the mean of the hidden tokens. True marks the tokens that belong in the "
    "mean."
)
def mask_inverted(x, mask):
    return _pool(x, ~mask)


@mean_pool.mistake(
    "This is the vector of the first token, [CLS]. Some encoders use it; this one was trained with the mean "
    "over all tokens of the text."
)
def first_token(x, mask):
    return x[:, 0]


@mean_pool.mistake(
    "All texts are divided by one number, the average count of the batch. Divide each text by its own count."
)
def one_count_for_all(x, mask):
    return _pool(x, mask, count=mask.sum() / len(mask))


@mean_pool.mistake(
    "The mean is taken over the batch, which mixes different texts. Sum over the axis of the tokens, the "
    "middle one."
)
def over_the_batch(x, mask):
    shown = mask.unsqueeze(-1).to(x.dtype)
    return (x * shown).sum(dim=0) / shown.sum(dim=0).clamp(min=1)


@mean_pool.mistake(
    "The count is right, but you add up the first tokens of each text. The mask may have holes or begin with "
    "False: add up the tokens where it is True."
)
def first_ones(x, mask):
    return _pool(x, torch.arange(x.shape[1]) < mask.sum(dim=1, keepdim=True))


@mean_pool.mistake(
    "The divisor is one too large: the count plus 1. Keep it from being 0 without changing the other counts."
)
def count_plus_one(x, mask):
    return _pool(x, mask, count=mask.sum(dim=1, keepdim=True) + 1)


@mean_pool.mistake("This is the maximum over the visible tokens, column by column. Return their mean.")
def max_pool(x, mask):
    return x.masked_fill(~mask.unsqueeze(-1), -torch.inf).amax(dim=1).masked_fill(~mask.any(1, True), 0.0)


@mean_pool.mistake(
    "The result is float32 although `x` is float64. Convert the mask to the dtype of `x`, not with .float()."
)
def always_float32(x, mask):
    return _pool(x.float(), mask)


@mean_pool.mistake(
    "Each row is also divided by its norm. That step belongs to the next exercise: `mean_pool` returns the "
    "plain mean."
)
def normalised_besides(x, mask):
    return torch.nn.functional.normalize(_pool(x, mask), dim=-1)


@mean_pool.mistake(
    "A batch of one text, or an embedding of one number, loses its axis. Take away the axis of the tokens "
    "alone, by its number."
)
def squeezed(x, mask):
    return _pool(x, mask).squeeze()
