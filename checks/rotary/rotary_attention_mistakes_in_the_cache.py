"""The mistakes that the grader can name in a `RotaryAttention`'s cache, and in its parameters."""

import torch
import torch.nn as nn

from .rotary_attention import Right, rotary_attention


@rotary_attention.mistake(
    "After a cache the positions start at 0 again: each new piece is turned as if it were the first. "
    "Begin with the length of the cached keys."
)
class StartsAgain(Right):
    def project(self, x, past):
        return super().project(x, 0)


@rotary_attention.mistake(
    "After a cache the keys are turned by the right positions, but the queries start at 0 again. Both "
    "have the same positions: turn them by the same angles."
)
class QueriesStartAgain(Right):
    def project(self, x, past):
        return super().project(x, 0)[0], *super().project(x, past)[1:]


@rotary_attention.mistake(
    "The cached keys are turned twice: they come turned already, and all keys are turned once more. Turn "
    "the new keys only, before they join the cache."
)
class TurnedTwice(Right):
    def extend(self, cache, key, value):
        if cache is None:
            return key, value
        return torch.cat([self.turn(cache[0]), key], 2), torch.cat([cache[1], value], 2)


@rotary_attention.mistake(
    "The cache holds keys that are not turned, and all of them are turned at every call. It should hold "
    "turned keys: turn the new keys, then store them."
)
class StoredUnturned(Right):
    def forward(self, x, mask=None, cache=None):
        past = 0 if cache is None else cache[0].shape[2]
        query, key, value = (self.split(part(x)) for part in (self.query, self.key, self.value))
        key, value = cache = self.extend(cache, key, value)
        found = self.attend(self.turn(query, past), self.turn(key), value, mask)
        return self.output(found.transpose(1, 2).flatten(2)), cache


@rotary_attention.mistake(
    "The numbers are right, but the list that was passed in as the cache was written into: it holds the "
    "longer keys and values now, and a second text that continues it sees too much. Return a new pair."
)
class WritesIntoTheList(Right):
    def forward(self, x, mask=None, cache=None):
        output, total = super().forward(x, mask, cache)
        if isinstance(cache, list):
            cache[0], cache[1] = total
        return output, total


@rotary_attention.mistake(
    "Positions far from the beginning are rough: they were kept in half precision, which cannot hold "
    "every whole number above 256 (or 2048). Count them in float32 or in whole numbers."
)
class PositionsInHalfPrecision(Right):
    def angles(self, x, first):
        width = x.shape[-1]
        rates = self.base ** (-torch.arange(0, width, 2, dtype=x.dtype) / width)
        return torch.outer(torch.arange(first, first + x.shape[-2]).bfloat16().to(x.dtype), rates)


@rotary_attention.mistake(
    "Positions count from 1: every key in the cache is one step ahead, and does not fit keys that others "
    "have stored. The first token is turned by 0."
)
class PositionsFromOne(Right):
    def angles(self, x, first):
        return super().angles(x, first + 1)


@rotary_attention.mistake(
    "The first position after a cache is off by one. With T_past keys in it, they are at 0 to T_past − 1,"
    " so the next one is T_past."
)
class OneTooFar(Right):
    def project(self, x, past):
        return super().project(x, past + 1 if past else 0)


@rotary_attention.mistake(
    "After a cache all new tokens get the same position. They follow each other: T_past, T_past + 1 and "
    "so on."
)
class OnePositionForAllNew(Right):
    def angles(self, x, first):
        angles = super().angles(x, first)
        return angles[:1].expand_as(angles) if first else angles


@rotary_attention.mistake(
    "`cache` changes nothing: the new tokens attend to each other only. Put the cached keys and values "
    "before the new ones."
)
class CacheIgnored(Right):
    def forward(self, x, mask=None, cache=None):
        return super().forward(x, None if mask is None else mask[..., -x.shape[1] :])


@rotary_attention.mistake(
    "The new keys and values come before the cached ones. The past comes first, and the columns of a mask"
    " rely on that."
)
class NewOnesFirst(Right):
    def extend(self, cache, key, value):
        if cache is None:
            return key, value
        return torch.cat([key, cache[0]], 2), torch.cat([value, cache[1]], 2)


@rotary_attention.mistake(
    "The cache that you return holds the new tokens only, so the next call does not see the past. Return "
    "past and new together."
)
class ReturnsNewOnesOnly(Right):
    def forward(self, x, mask=None, cache=None):
        output, (key, value) = super().forward(x, mask, cache)
        return output, (key[:, :, -x.shape[1] :], value[:, :, -x.shape[1] :])


@rotary_attention.mistake(
    "The cache is returned unchanged: the new keys and values are missing. Return past and new together."
)
class CacheNotExtended(Right):
    def forward(self, x, mask=None, cache=None):
        output, extended = super().forward(x, mask, cache)
        return output, extended if cache is None else cache


@rotary_attention.mistake(
    "Keys and values are swapped in the cache. The pair is (key, value), in this order."
)
class ValuesFirst(Right):
    def forward(self, x, mask=None, cache=None):
        output, (key, value) = super().forward(x, mask, cache)
        return output, (value, key)


@rotary_attention.mistake(
    "You return only the output. Return two things: the output, and the cache for the next call."
)
class NoCache(Right):
    def forward(self, x, mask=None, cache=None):
        return super().forward(x, mask, cache)[0]


@rotary_attention.mistake(
    "The four projections have a bias, which nn.Linear adds by default. These are made with `bias=False`."
)
class WithBias(Right):
    def __init__(self, embed_dim, num_heads, base=10000.0):
        super().__init__(embed_dim, num_heads, base)
        for name in ("query", "key", "value", "output"):
            self.add_module(name, nn.Linear(embed_dim, embed_dim))


@rotary_attention.mistake(
    "The speeds are in the `state_dict`, where only the four projections belong: they are computed, not "
    "learned. Register them with `persistent=False`, or compute them when called."
)
class SpeedsInTheState(Right):
    def __init__(self, embed_dim, num_heads, base=10000.0):
        super().__init__(embed_dim, num_heads, base)
        self.register_buffer("speeds", torch.ones(embed_dim // num_heads // 2))
