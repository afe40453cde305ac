"""The mistakes that the grader can name in `GroupedQueryAttention`: heads, sizes, refusals, weights."""

import math

import torch
import torch.nn as nn

from attention_lab.authoring.mask_sentences import (
    EMPTY_ROW_IS_UNIFORM,
    FILL_TURNED_ROUND,
    FIXED_LOW_SCORE,
    HIDDEN_SCORES_ARE_ZERO,
)

from .grouped_query_attention import Right, grouped_query_attention


@grouped_query_attention.mistake(
    "The heads are shared in the wrong order: query head h uses key/value head h % H_kv, as `repeat` lays"
    " them out. It should be h // groups, neighbours together: repeat each head by itself "
    "(`repeat_interleave`)."
)
class RepeatsWholeRows(Right):
    def share(self, x):
        return x.repeat(1, self.num_heads // self.num_kv_heads, 1, 1)


@grouped_query_attention.mistake(
    "Keys and values are repeated in different orders, so a head takes its weights from one key/value "
    "head and its values from another. Query head h uses head h // groups of both."
)
class ValuesInAnotherOrder(Right):
    def forward(self, x, mask=None):
        query = self.split(self.query(x), self.num_heads)
        key = self.share(self.split(self.key(x), self.num_kv_heads))
        value = self.split(self.value(x), self.num_kv_heads)
        value = value.repeat(1, self.num_heads // self.num_kv_heads, 1, 1)
        outputs, weights = self.attend(query, key, value, mask)
        return self.finish(self.merge(outputs)), self.over_heads(weights)


@grouped_query_attention.mistake(
    "All query heads use the first key/value head; the others are made and never used. Query head h uses "
    "head h // groups."
)
class FirstHeadForAll(Right):
    def share(self, x):
        return x[:, :1].expand(-1, self.num_heads, -1, -1)


@grouped_query_attention.mistake(
    "`key` and `value` map E to E numbers, as in lesson 6 (or their head size is E / H_kv), so nothing is"
    " saved. They have H_kv heads of D numbers: map E to H_kv · D."
)
class KeysAsWideAsQueries(Right):
    def __init__(self, embed_dim, num_heads, num_kv_heads, bias=False):
        nn.Module.__init__(self)
        self.refuse(embed_dim, num_heads, num_kv_heads)
        self.num_heads = self.num_kv_heads = num_heads
        for name in ("query", "key", "value", "output"):
            self.add_module(name, nn.Linear(embed_dim, embed_dim, bias=bias))


@grouped_query_attention.mistake(
    "The heads are cut with a view alone: it gives the shape (B, H, T, D) and puts the first tokens whole"
    " into head 0. Cut into (heads, D) first, then swap T and the heads."
)
class SplitsWithoutTranspose(Right):
    def split(self, x, heads):
        return x.reshape(x.shape[0], heads, x.shape[1], -1)


@grouped_query_attention.mistake(
    "`weights` are right, `output` is not: the heads are merged without swapping T and H back. Swap "
    "first, then join the heads."
)
class MergesWithoutTranspose(Right):
    def merge(self, x):
        return x.reshape(x.shape[0], x.shape[2], -1)


@grouped_query_attention.mistake(
    "The merged heads are returned as they are: `self.output` is made and never used. Send them through it."
)
class ForgetsTheOutputProjection(Right):
    def finish(self, merged):
        return merged


@grouped_query_attention.mistake(
    "A number of query heads that is not divisible by the number of key/value heads is not refused. Where"
    " `num_heads % num_kv_heads` is not 0, raise a ValueError that names both."
)
class RefusesNoGroups(Right):
    def refuse(self, embed_dim, num_heads, num_kv_heads):
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} does not divide into {num_heads} heads")


@grouped_query_attention.mistake(
    "The number of key/value heads is compared with the width: a width that is divisible by both numbers "
    "of heads passes, although `num_heads` is not divisible by `num_kv_heads`. Test `num_heads % "
    "num_kv_heads`."
)
class RefusesByTheWidth(Right):
    def refuse(self, embed_dim, num_heads, num_kv_heads):
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} does not divide into {num_heads} heads")
        if embed_dim % num_kv_heads:
            raise ValueError(f"{num_heads} heads cannot share {num_kv_heads} keys and values evenly")


@grouped_query_attention.mistake(
    "A width that is not divisible by the number of heads is not refused. Where `embed_dim % num_heads` "
    "is not 0, raise a ValueError that names both."
)
class RefusesNoWidth(Right):
    def refuse(self, embed_dim, num_heads, num_kv_heads):
        if num_heads % num_kv_heads:
            raise ValueError(f"{num_heads} heads cannot share {num_kv_heads} keys and values evenly")


@grouped_query_attention.mistake(
    "`bias=True` changes nothing: the projections are made without one. Pass `bias` to all four."
)
class BiasIgnored(Right):
    def __init__(self, embed_dim, num_heads, num_kv_heads, bias=False):
        super().__init__(embed_dim, num_heads, num_kv_heads)


@grouped_query_attention.mistake(
    "The numbers are right, but keys and values are taken out of the graph before they are repeated, so "
    "`key` and `value` never learn. Leave out `.detach()` and `.data`."
)
class SharesDetached(Right):
    def share(self, x):
        return super().share(x.detach())


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
