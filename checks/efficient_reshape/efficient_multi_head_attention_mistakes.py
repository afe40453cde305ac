"""The mistakes that the grader can name in `EfficientMultiHeadAttention`."""

import math

import torch

from .efficient_multi_head_attention import Right, efficient_multi_head_attention


@efficient_multi_head_attention.mistake(
    "The heads are cut with a view alone: it gives the shape (B, H, T, D) and puts the first tokens whole "
    "into head 0, so a head attends over pieces of other tokens. Cut E into (H, D) first, then swap T and H."
)
class SplitsWithoutTranspose(Right):
    def split(self, x):
        return x.reshape(x.shape[0], self.num_heads, x.shape[1], -1)


@efficient_multi_head_attention.mistake(
    "Split and merge are both a view alone. They undo each other, which hides it, but in between head 0 "
    "holds the first tokens whole. Cut E into (H, D), then swap T and H; merge the other way round."
)
class NeverTransposes(Right):
    def split(self, x):
        return x.reshape(x.shape[0], self.num_heads, x.shape[1], -1)

    def merge(self, x):
        return x.reshape(x.shape[0], x.shape[2], -1)


@efficient_multi_head_attention.mistake(
    "`weights` are right, `output` is not: the heads are merged without swapping T and H back, so one head's "
    "numbers for several tokens end up in a row. Swap first, keep what `transpose` returns, then flatten."
)
class MergesWithoutTranspose(Right):
    def merge(self, x):
        return x.reshape(x.shape[0], x.shape[2], -1)


@efficient_multi_head_attention.mistake(
    "The heads are interleaved: head h gets every H-th number of a projected token. It should get D "
    "neighbours: cut E into (H, D), not into (D, H)."
)
class Interleaved(Right):
    def split(self, x):
        return x.unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)

    def merge(self, x):
        return x.permute(0, 2, 3, 1).flatten(2)


@efficient_multi_head_attention.mistake(
    "The scores are divided by the root of the whole width E. A head's dot product runs over D = E / H "
    "numbers, so it is the root of D that belongs there."
)
class ScaledByTheWholeWidth(Right):
    def scale(self, head_size):
        return math.sqrt(head_size * self.num_heads)


@efficient_multi_head_attention.mistake(
    "The scores are not scaled: the weights are far too sharp. Divide by the root of the head size before "
    "the mask and the softmax."
)
class Unscaled(Right):
    def scale(self, head_size):
        return 1.0


@efficient_multi_head_attention.mistake(
    "The merged heads are returned as they are: `self.output` is made and never used. Send them through it "
    "before you return."
)
class ForgetsTheOutputProjection(Right):
    def finish(self, merged):
        return merged


@efficient_multi_head_attention.mistake(
    "`weights` are those of head 0 only. As in lesson 5, their average over all heads was asked for."
)
class WeightsOfTheFirstHead(Right):
    def over_heads(self, weights):
        return weights[:, 0]


@efficient_multi_head_attention.mistake(
    "A mask that all sentences share is right, but one with a batch axis meets the heads: shapes are matched "
    "from the right, so its B stands where H does. Give it an axis of size 1 for the heads, behind B."
)
class MaskMeetsTheHeads(Right):
    def lift(self, mask):
        return mask


@efficient_multi_head_attention.mistake(
    "The mask was repeated in the wrong order: `repeat` puts whole copies of the batch one after another, so "
    "heads get other sentences' masks. An axis of size 1 for the heads does it without any copy."
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
    "The meaning of True is inverted: weight sits where `mask` is False. Here True means “may attend”, so "
    "the False entries are to be hidden; torch's nn.MultiheadAttention means the opposite."
)
class TrueMeansHidden(Right):
    def lift(self, mask):
        return ~mask.unsqueeze(-3)


@efficient_multi_head_attention.mistake(
    "Right, except for a query with nothing to attend to: its row is NaN. A softmax over nothing but minus "
    "infinity has no answer; set hidden weights to 0 afterwards, as in lesson 3."
)
class EmptyRowIsNaN(Right):
    def clear(self, weights, mask):
        return weights


@efficient_multi_head_attention.mistake(
    "The heads compete with each other: over the heads the weights sum to 1, over the keys they do not. With "
    "four axes, the keys are the last one, counted from the end."
)
class SoftmaxOverTheHeads(Right):
    def softmax(self, scores):
        return torch.softmax(scores, dim=1)


@efficient_multi_head_attention.mistake(
    "The keys are made by the query's projection, a slip of copy and paste: changing `self.key` changes "
    "nothing."
)
class KeyByTheQuerysProjection(Right):
    def project(self, query, key, value):
        return (self.query(query), self.query(key), self.value(value))


@efficient_multi_head_attention.mistake(
    "Without a value, the query was taken for it. Where `value` is not given it is the key, and where `key` "
    "is not given it is the query."
)
class ValueFallsBackOnTheQuery(Right):
    def forward(self, query, key=None, value=None, mask=None):
        return Right.forward(self, query, key, query if value is None else value, mask)
