"""The mistakes that the grader can name in `CachedAttention`: what a token sees."""

import math

import torch
import torch.nn as nn

from .cached_attention import Right, cached_attention


@cached_attention.mistake(
    "Right without a cache; after one, the mask starts at the wrong position: new token i sees the first "
    "i + 1 keys, as if there were no past. It may see all of the past and the new ones up to itself: "
    "shift the diagonal by T_past."
)
class NoOffset(Right):
    def mask(self, new, total):
        return torch.ones(new, total, dtype=torch.bool).tril()


@cached_attention.mistake(
    "Nothing is hidden: a token sees those that come after it. This does not show when you generate one "
    "token at a time, but it does in a prompt. New token i may see the past and the new ones up to "
    "itself."
)
class NoMask(Right):
    def mask(self, new, total):
        return torch.ones(new, total, dtype=torch.bool)


@cached_attention.mistake(
    "Right without a cache; with one, nothing is hidden among the new tokens. That is harmless for one "
    "new token, and wrong for several: token i may not see the new ones after it."
)
class NoMaskBehindACache(Right):
    def mask(self, new, total):
        mask = torch.ones(new, total, dtype=torch.bool)
        return mask.tril() if new == total else mask


@cached_attention.mistake(
    "The mask's border is one position too far to the right: each new token also sees the one after it. "
    "It should see all of the past, the new ones before it, and itself."
)
class OneTooFar(Right):
    def mask(self, new, total):
        return torch.ones(new, total, dtype=torch.bool).tril(diagonal=total - new + 1)


@cached_attention.mistake(
    "A token does not see itself when there is a past: the mask is shifted one too little. New token i "
    "may see the past and the new ones up to and including itself."
)
class NotItself(Right):
    def mask(self, new, total):
        return torch.ones(new, total, dtype=torch.bool).tril(diagonal=total - new - (total > new))


@cached_attention.mistake(
    "After a cache the new tokens see the past and themselves only, not the new ones before them. These "
    "come earlier too: new token i may see new tokens 0 to i."
)
class NoNewTokensBefore(Right):
    def mask(self, new, total):
        past = total - new
        own = torch.eye(new, dtype=torch.bool) if past else torch.ones(new, new, dtype=torch.bool).tril()
        return torch.cat([torch.ones(new, past, dtype=torch.bool), own], dim=1)


@cached_attention.mistake(
    "The past is hidden: new tokens see only each other. Everything in the cache comes before them, so "
    "each may see all of it."
)
class SeesNoPast(Right):
    def mask(self, new, total):
        past = total - new
        hidden = torch.zeros(new, past, dtype=torch.bool)
        return torch.cat([hidden, torch.ones(new, new, dtype=torch.bool).tril()], dim=1)


class PastFromAnAxis(Right):
    """The mask is shifted by the length of another axis of the cache."""

    axis = 1

    def weigh(self, scores):
        new, total = scores.shape[-2:]
        past = self.lengths[self.axis] if total > new else 0
        mask = torch.ones(new, total, dtype=torch.bool).tril(diagonal=past)
        return torch.softmax(scores.masked_fill(~mask, -math.inf), dim=-1)

    def attend(self, query, key, value):
        self.lengths = key.shape
        return super().attend(query, key, value)


@cached_attention.mistake(
    "The number of past tokens is read from the wrong axis: the mask is shifted by the number of heads. A "
    "cached key is (B, H, T_past, D), so the tokens are its third axis."
)
class PastFromTheHeads(PastFromAnAxis):
    axis = 1


@cached_attention.mistake(
    "The number of past tokens is read from the wrong axis: the mask is shifted by the number of sentences. "
    "A cached key is (B, H, T_past, D), so the tokens are its third axis."
)
class PastFromTheBatch(PastFromAnAxis):
    axis = 0


@cached_attention.mistake(
    "The number of past tokens is read from the wrong axis: the mask is shifted by the head size. A cached "
    "key is (B, H, T_past, D), so the tokens are its third axis."
)
class PastFromTheHeadSize(PastFromAnAxis):
    axis = 3


@cached_attention.mistake(
    "The number of past tokens is read as the length of the cache, which is a pair: it is always 2. Take the "
    "size of the cached keys, (B, H, T_past, D), along axis 2, counted from 0."
)
class PastFromThePair(PastFromAnAxis):
    def attend(self, query, key, value):
        self.lengths = {self.axis: 2}
        return Right.attend(self, query, key, value)


@cached_attention.mistake(
    "The mask is inverted: a token sees what comes after it, and nothing before. True means may attend: "
    "on the diagonal and to its left."
)
class MaskTurnedRound(Right):
    def mask(self, new, total):
        return torch.ones(new, total, dtype=torch.bool).triu(diagonal=total - new)


@cached_attention.mistake(
    "The merged heads are returned as they are: `self.output` is made and never used. Send them through "
    "it before you return."
)
class ForgetsTheOutputProjection(Right):
    def finish(self, merged):
        return merged


@cached_attention.mistake(
    "The heads are cut with a view alone: it gives the shape (B, H, T, D) and puts the first tokens whole"
    " into head 0. Cut E into (H, D) first, then swap T and H."
)
class SplitsWithoutTranspose(Right):
    def split(self, x):
        return x.reshape(x.shape[0], self.num_heads, x.shape[1], -1)


@cached_attention.mistake(
    "The cache is right, the output is not: the heads are merged without swapping T and H back. Swap "
    "first, then join the heads."
)
class MergesWithoutTranspose(Right):
    def merge(self, x):
        return x.reshape(x.shape[0], x.shape[2], -1)


@cached_attention.mistake(
    "Right where E is divisible by the number of heads, but another E is not refused. Test it in "
    "`__init__` and raise a ValueError that names `embed_dim` and `num_heads`."
)
class RefusesNothing(Right):
    def __init__(self, embed_dim, num_heads, bias=False):
        nn.Module.__init__(self)
        self.num_heads = num_heads
        for name in ("query", "key", "value", "output"):
            self.add_module(name, nn.Linear(embed_dim, embed_dim, bias=bias))


@cached_attention.mistake(
    "`bias=True` changes nothing: the projections are made without one. Pass `bias` to all four."
)
class BiasIgnored(Right):
    def __init__(self, embed_dim, num_heads, bias=False):
        super().__init__(embed_dim, num_heads)


@cached_attention.mistake(
    "`nn.Linear` makes a bias by default, so the projections have one. Pass `bias` to all "
    "four, False by default."
)
class BiasAlways(Right):
    def __init__(self, embed_dim, num_heads, bias=True):
        super().__init__(embed_dim, num_heads, bias=True)


@cached_attention.mistake(
    "A mask or table is in the `state_dict`, so weights from elsewhere do not fit. It belongs to no "
    "checkpoint: make it in `forward`, or register it with `persistent=False`."
)
class MaskInTheState(Right):
    def __init__(self, embed_dim, num_heads, bias=False):
        super().__init__(embed_dim, num_heads, bias)
        self.register_buffer("hidden", torch.ones(256, 256, dtype=torch.bool).triu(1))
