"""The mistakes that the grader can name in `EfficientMultiHeadAttention`."""

import math

import torch

from attention_lab.authoring import defaults

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
    "`weights` are right, `output` is not: the heads are merged as (D, H), so a token's row begins with the "
    "first number of each head. `self.output` expects all D numbers of head 0, then those of head 1: merge "
    "as (H, D)."
)
class MergesInterleaved(Right):
    def merge(self, x):
        return x.permute(0, 2, 3, 1).flatten(2)


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


@efficient_multi_head_attention.mistake(
    "Where only a query is given, keys and values are made from the query *after* its projection, so they "
    "are projected twice. Decide what `key` and `value` are before you assign any of the three names "
    "again."
)
class KeyIsTheProjectedQuery(Right):
    def forward(self, query, key=None, value=None, mask=None):
        projected = self.query(query)
        key, value = defaults(projected, key, value)
        heads = [self.split(x) for x in (projected, self.key(key), self.value(value))]
        outputs, weights = self.attend(*heads, mask)
        return self.finish(self.merge(outputs)), self.over_heads(weights)


@efficient_multi_head_attention.mistake(
    "What comes back has been through `self.output` twice. The merged heads are projected once, and returned."
)
class ProjectsTheOutputTwice(Right):
    def finish(self, merged):
        return self.output(self.output(merged))


@efficient_multi_head_attention.mistake(
    "`num_heads` was taken for the head size: E is cut into heads of `num_heads` numbers each. The axis H "
    "has to be `num_heads` long, and D is what is left of E for each of them."
)
class NumHeadsAsHeadSize(Right):
    def split(self, x):
        return x.unflatten(-1, (-1, self.num_heads)).transpose(1, 2)


@efficient_multi_head_attention.mistake(
    "Tokens and heads have not changed places: (B, T, H, D) goes into the attention, so the heads of a token "
    "attend to each other instead of tokens to tokens. `transpose` returns a new tensor that has to be kept."
)
class HeadsAttendToHeads(Right):
    def split(self, x):
        return x.unflatten(-1, (self.num_heads, -1))

    def merge(self, x):
        return x.flatten(2)
