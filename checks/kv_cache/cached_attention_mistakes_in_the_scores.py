"""The mistakes that the grader can name in `CachedAttention`: how scores are scaled and hidden."""

import math

import torch

from .cached_attention import Right, cached_attention


@cached_attention.mistake(
    "The scores are not scaled, so the weights are far too sharp. Divide by the root of the head size."
)
class Unscaled(Right):
    def scale(self, head_size):
        return 1.0


@cached_attention.mistake(
    "The scores are divided by the root of the whole width E. A head's dot product runs over D = E / H "
    "numbers: it is the root of D that belongs there."
)
class ScaledByTheWholeWidth(Right):
    def scale(self, head_size):
        return math.sqrt(head_size * self.num_heads)


@cached_attention.mistake(
    "The scores are divided by the head size D, so the weights are too even. It is the root of D that "
    "belongs there."
)
class ScaledByTheHeadSize(Right):
    def scale(self, head_size):
        return head_size


@cached_attention.mistake(
    "The softmax runs over the queries: each key divides its weight among them. Each query divides its "
    "weight among the keys, which are the last axis of the scores (B, H, T_new, T)."
)
class SoftmaxOverTheQueries(Right):
    def weigh(self, scores):
        return torch.softmax(scores.masked_fill(~self.mask(*scores.shape[-2:]), -math.inf), dim=-2)


@cached_attention.mistake(
    "The hidden scores are set to 0, which is a score like any other, so hidden keys take part in the "
    "softmax. Set the scores to -inf before it."
)
class HiddenScoresOfZero(Right):
    def weigh(self, scores):
        return torch.softmax(scores.masked_fill(~self.mask(*scores.shape[-2:]), 0.0), dim=-1)


@cached_attention.mistake(
    "Hidden scores are filled with a number that is not low enough: visible scores go down to -1e4 here, "
    "and hidden keys then get weight. Set hidden scores to -inf before the softmax."
)
class FilledTooHigh(Right):
    def weigh(self, scores):
        return torch.softmax(scores.masked_fill(~self.mask(*scores.shape[-2:]), -100.0), dim=-1)


@cached_attention.mistake(
    "Hidden scores are filled with -1e4, and a visible score may be as low, so hidden keys then get "
    "weight. Set hidden scores to -inf before the softmax."
)
class FilledWithMinusTenThousand(Right):
    def weigh(self, scores):
        return torch.softmax(scores.masked_fill(~self.mask(*scores.shape[-2:]), -1e4), dim=-1)


@cached_attention.mistake(
    "The weights are hidden after the softmax, so the rows no longer sum to 1. Hide the scores before it,"
    " with -inf."
)
class MasksAfterTheSoftmax(Right):
    def weigh(self, scores):
        return torch.softmax(scores, dim=-1).masked_fill(~self.mask(*scores.shape[-2:]), 0.0)
