"""The mistakes that the grader can name in an `EfficientMultiHeadAttention`'s mask."""

import math

import torch

from attention_lab.authoring.mask_sentences import (
    AFTER_THE_SOFTMAX,
    EMPTY_ROW_IS_UNIFORM,
    FILL_TURNED_ROUND,
    FIXED_LOW_SCORE,
    MINUS_INFINITY_ADDED,
)

from .efficient_multi_head_attention import Right, efficient_multi_head_attention


@efficient_multi_head_attention.mistake(
    "A mask without a batch axis is right, but one with a batch axis meets the heads: shapes are aligned "
    "from the right, so its B is where H is. Give it an axis of size 1 for the heads, behind B."
)
class MaskMeetsTheHeads(Right):
    def lift(self, mask):
        return mask


@efficient_multi_head_attention.mistake(
    "A mask with a batch axis is right, but one without, (T_q, T_k), gets its new axis in the middle: you "
    "count from the front. Count from the end: the axis for the heads goes before the last two."
)
class AxisCountedFromTheFront(Right):
    def lift(self, mask):
        return mask.unsqueeze(1)


@efficient_multi_head_attention.mistake(
    "The mask is repeated in the wrong order: `repeat` puts whole copies of the batch one after another, "
    "so heads get the masks of other sentences. An axis of size 1 for the heads needs no copy at all."
)
class MaskRepeated(Right):
    def lift(self, mask):
        return (
            mask if mask.dim() == 2 else mask.repeat(self.num_heads, 1, 1).unflatten(0, (-1, self.num_heads))
        )


@efficient_multi_head_attention.mistake(
    "`mask` changes nothing: these are the weights of unmasked attention. Hide the scores before the "
    "softmax, and keep the tensor that `masked_fill` returns."
)
class MaskIgnored(Right):
    def lift(self, mask):
        return torch.ones_like(mask).unsqueeze(-3)


@efficient_multi_head_attention.mistake(
    "The meaning of True is inverted: the weights are where `mask` is False. Here True means “may "
    "attend”, so hide the False entries. In torch's nn.MultiheadAttention it is the other way round."
)
class TrueMeansHidden(Right):
    def lift(self, mask):
        return ~mask.unsqueeze(-3)


@efficient_multi_head_attention.mistake(AFTER_THE_SOFTMAX)
class MaskedAfterTheSoftmax(Right):
    def attend(self, query, key, value, mask):
        weights = self.softmax(query @ key.mT / self.scale(query.shape[-1]))
        weights = weights if mask is None else self.clear(weights, self.lift(mask))
        return weights @ value, weights


@efficient_multi_head_attention.mistake(
    "Right, except for a query with nothing to attend to: its row is NaN. A softmax over nothing but "
    "minus infinity is not defined; set hidden weights to 0 afterwards, as in lesson 3."
)
class EmptyRowIsNaN(Right):
    def clear(self, weights, mask):
        return weights


class _Filled(Right):
    fill, adds = -math.inf, False

    def attend(self, query, key, value, mask):
        scores = query @ key.mT / self.scale(query.shape[-1])
        if mask is None:
            return super().attend(query, key, value, None)
        hidden = ~self.lift(mask)
        filled = torch.zeros_like(scores).masked_fill(hidden, self.fill)
        weights = self.softmax(scores + filled if self.adds else scores.masked_fill(hidden, self.fill))
        weights = self.clear(weights, ~hidden)
        return weights @ value, weights


@efficient_multi_head_attention.mistake(FILL_TURNED_ROUND)
class FillTurnedRound(Right):
    def attend(self, query, key, value, mask):
        return super().attend(query, key, value, None if mask is None else ~mask)

    def clear(self, weights, mask):
        return weights.masked_fill(mask, 0.0)


@efficient_multi_head_attention.mistake(EMPTY_ROW_IS_UNIFORM)
class EmptyRowIsUniform(_Filled):
    fill = -1e9

    def clear(self, weights, mask):
        return weights


@efficient_multi_head_attention.mistake(FIXED_LOW_SCORE)
class FixedLowScore(_Filled):
    fill = -1e4


@efficient_multi_head_attention.mistake(MINUS_INFINITY_ADDED)
class MinusInfinityAdded(_Filled):
    adds = True

    def clear(self, weights, mask):
        return weights.nan_to_num()
