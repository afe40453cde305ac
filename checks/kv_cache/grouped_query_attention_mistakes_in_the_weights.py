"""The mistakes that the grader can name in `GroupedQueryAttention`: scores, masks, the weights returned."""

import math

import torch

from attention_lab.authoring.mask_sentences import (
    EMPTY_ROW_IS_UNIFORM,
    FILL_TURNED_ROUND,
    FIXED_LOW_SCORE,
    HIDDEN_SCORES_ARE_ZERO,
)

from .grouped_query_attention import Right, grouped_query_attention


@grouped_query_attention.mistake(
    "`weights` are the sum over the heads, so their rows sum to H instead of 1. The average is wanted: "
    "`mean`."
)
class WeightsSummed(Right):
    def over_heads(self, weights):
        return weights.sum(dim=1)


@grouped_query_attention.mistake("`weights` are those of head 0 only. Return their average over all heads.")
class WeightsOfTheFirstHead(Right):
    def over_heads(self, weights):
        return weights[:, 0]


@grouped_query_attention.mistake(
    "`weights` are the average over one head of each group. Heads that share keys still have queries and "
    "weights of their own: average over all H heads."
)
class WeightsOfOneHeadAGroup(Right):
    def over_heads(self, weights):
        return weights[:, :: self.num_heads // self.num_kv_heads].mean(dim=1)


@grouped_query_attention.mistake(
    "You return the weights of all heads, (B, H, T, T). Return their average over the heads, (B, T, T)."
)
class WeightsOfAllHeads(Right):
    def over_heads(self, weights):
        return weights


@grouped_query_attention.mistake(
    "`weights` are the average over the first H_kv heads only. Each of the H query heads has weights of its "
    "own, also where heads share keys and values: average over all H."
)
class WeightsOfAsManyHeadsAsKeys(Right):
    def over_heads(self, weights):
        return weights[:, : self.num_kv_heads].mean(dim=1)


@grouped_query_attention.mistake(
    "The sum of the weights over the heads is divided by the number of key/value heads. It is the query "
    "heads that are averaged over: divide by `num_heads`."
)
class AveragedOverTheKeyHeads(Right):
    def over_heads(self, weights):
        return weights.sum(dim=1) / self.num_kv_heads


@grouped_query_attention.mistake(
    "The scores are not scaled, so the weights are far too sharp. Divide by the root of the head size."
)
class Unscaled(Right):
    def scale(self, head_size):
        return 1.0


@grouped_query_attention.mistake(
    "The scores are divided by the root of the whole width E. A head's dot product runs over D = E / H "
    "numbers: divide by the root of D."
)
class ScaledByTheWholeWidth(Right):
    def scale(self, head_size):
        return math.sqrt(head_size * self.num_heads)


@grouped_query_attention.mistake(
    "The scores are divided by the root of the keys' whole width, H_kv · D. A head's dot product runs "
    "over D numbers, however many heads share them: divide by the root of D."
)
class ScaledByTheKeysWidth(Right):
    def scale(self, head_size):
        return math.sqrt(head_size * self.num_kv_heads)


@grouped_query_attention.mistake(
    "The scores are divided by the root of E / H_kv, which is the width that a whole group of heads has "
    "together. A head's dot product runs over D = E / H numbers: divide by the root of D."
)
class ScaledByTheGroupsWidth(Right):
    def scale(self, head_size):
        return math.sqrt(head_size * self.num_heads // self.num_kv_heads)


@grouped_query_attention.mistake(
    "The scores are divided by the root of H / H_kv, the number of query heads for each key head. How large "
    "a dot product grows depends on how many products it sums, the head size D = E / H: divide by the root "
    "of D."
)
class ScaledByTheGroup(Right):
    def scale(self, head_size):
        return math.sqrt(self.num_heads // self.num_kv_heads)


@grouped_query_attention.mistake(
    "The scores are divided by the head size D, so the weights are too even. It is the root of D that "
    "belongs there."
)
class ScaledByTheHeadSize(Right):
    def scale(self, head_size):
        return head_size


@grouped_query_attention.mistake(
    "Nothing is hidden: a token sees those that come after it. This does not show when you generate one "
    "token at a time, but it does in a prompt. New token i may see the past and the new ones up to "
    "itself."
)
class NoMask(Right):
    def forward(self, x, mask=None):
        return super().forward(x, None)


@grouped_query_attention.mistake(
    "A mask of three axes meets the wrong axes of the scores: in (B, T, T) against (B, H, T, T), its "
    "texts line up with the heads. Add an axis for the heads in front of its last two."
)
class MaskNotLifted(Right):
    def lift(self, mask):
        return mask


@grouped_query_attention.mistake(
    "A query with nothing to attend to gets NaN: a softmax over nothing but -inf. Set the hidden weights "
    "to 0 after the softmax."
)
class NaNInEmptyRows(Right):
    def clear(self, weights, mask):
        return weights


class Filled(Right):
    """Hides with `number`; `clears` says whether hidden weights become 0 afterwards."""

    number, clears = 0.0, True

    def attend(self, query, key, value, mask):
        if mask is None:
            return super().attend(query, key, value, mask)
        scores = query @ key.transpose(-2, -1) / self.scale(query.shape[-1])
        weights = torch.softmax(scores.masked_fill(~self.lift(mask), self.number), dim=-1)
        weights = self.clear(weights, self.lift(mask)) if self.clears else weights
        return weights @ value, weights


@grouped_query_attention.mistake(
    "The hidden scores are set to 0, which is a score like any other, so hidden keys take part in the "
    "softmax. Set the scores to -inf before it."
)
class HiddenScoresOfZero(Filled):
    pass


@grouped_query_attention.mistake(HIDDEN_SCORES_ARE_ZERO)
class HiddenScoresOfZeroUncleared(Filled):
    clears = False


@grouped_query_attention.mistake(
    "Hidden scores are filled with a number that is not low enough: visible scores go down to -1e4 here, "
    "and hidden keys then take all the weight. Set hidden scores to -inf before the softmax."
)
class FilledTooHigh(Filled):
    number = -100.0


@grouped_query_attention.mistake(FIXED_LOW_SCORE)
class FilledWithMinusTenThousand(Filled):
    number = -1e4


@grouped_query_attention.mistake(FILL_TURNED_ROUND)
class FillTurnedRound(Right):
    def attend(self, query, key, value, mask):
        return super().attend(query, key, value, None if mask is None else ~mask)

    def clear(self, weights, mask):
        return weights.masked_fill(mask, 0.0)


@grouped_query_attention.mistake(EMPTY_ROW_IS_UNIFORM)
class FilledFarDownUncleared(Filled):
    number, clears = -1e9, False


@grouped_query_attention.mistake(
    "The weights are hidden after the softmax, so the rows do not sum to 1. Hide the scores before it, "
    "with -inf."
)
class MasksAfterTheSoftmax(Right):
    def attend(self, query, key, value, mask):
        _, weights = super().attend(query, key, value, None)
        if mask is not None:
            weights = weights.masked_fill(~self.lift(mask), 0.0)
        return weights @ value, weights
