"""The mistakes in a `RotaryAttention`: what is turned and how, and the cache."""

import torch
import torch.nn as nn

from attention_lab.authoring.causes import ATTENTION_CAUSES, add_causes
from attention_lab.authoring.mask_sentences import AFTER_THE_SOFTMAX, EMPTY_ROW_IS_UNIFORM

from .rotary_attention import Right, rotary_attention


@rotary_attention.mistake(
    "The values are turned as well. They carry what a token passes on, which should not depend on its "
    "position: turn queries and keys only."
)
class ValuesTurned(Right):
    def project(self, x, past):
        query, key, value = super().project(x, past)
        return query, key, self.turn(value, past)


@rotary_attention.mistake(
    "Nothing is turned: this is attention without positions. Turn queries and keys before the scores, and "
    "keep what `rotate` returns."
)
class NothingTurned(Right):
    def turn(self, x, first=0):
        return x


@rotary_attention.mistake(
    "The tokens were turned before the projections. A projection mixes the pairs, and the distance is lost: "
    "project first, then turn queries and keys."
)
class TokensTurned(Right):
    def project(self, x, past):
        turned = self.turn(x, past)
        return tuple(
            self.split(part(y)) for part, y in ((self.query, turned), (self.key, turned), (self.value, x))
        )


@rotary_attention.mistake(
    "The whole width was turned before it was cut into heads, so each head has other speeds. Cut first: "
    "every head has all D/2 speeds of its own."
)
class TurnedBeforeTheCut(Right):
    def project(self, x, past):
        query, key = (self.split(self.turn(part(x), past)) for part in (self.query, self.key))
        return query, key, self.split(self.value(x))


@rotary_attention.mistake(
    "Halves were turned, pairs (i, i + D/2). Turn neighbours, (2i, 2i+1). Use `rotate`, not `rotate_halves`."
)
class Halves(Right):
    def turn(self, x, first=0):
        angles = self.angles(x, first)
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1)


@rotary_attention.mistake(
    "Queries and keys turn in the wrong direction. Their scores stay right, but they do not fit a cache "
    "whose keys are turned in the right one: (a cos − b sin, a sin + b cos)."
)
class TheOtherWayRound(Right):
    def angles(self, x, first):
        return -super().angles(x, first)


@rotary_attention.mistake(
    "The turn follows the heads instead of the tokens: head h is turned by h steps. Put the heads before "
    "the tokens, `(B, H, T, D)`, so that the angles `(T, D/2)` line up with the tokens."
)
class ByTheHeads(Right):
    def turn(self, x, first=0):
        return super().turn(x.transpose(1, 2), first).transpose(1, 2)


@rotary_attention.mistake(
    "`base` changes nothing: the layer takes it and always turns with 10000. Pass it to the angles."
)
class BaseIgnored(Right):
    def __init__(self, embed_dim, num_heads, base=10000.0):
        super().__init__(embed_dim, num_heads)


@rotary_attention.mistake(
    "The scores are not scaled. Turning does not change their size: divide by √D, as before."
)
class NotScaled(Right):
    def scale(self, head_size):
        return 1.0


@rotary_attention.mistake("`mask` changes nothing: hide the scores where it is False, before the softmax.")
class MaskIgnored(Right):
    def weights(self, scores, mask):
        return scores.softmax(-1)


@rotary_attention.mistake(AFTER_THE_SOFTMAX.replace("the rows of `weights` sum", "the weights of a row sum"))
class MaskedAfterTheSoftmax(Right):
    def weights(self, scores, mask):
        weights = scores.softmax(-1)
        return weights if mask is None else weights.masked_fill(~mask.unsqueeze(-3), 0.0)


@rotary_attention.mistake(EMPTY_ROW_IS_UNIFORM.replace("Such a row of `weights`", "Its row of weights"))
class EmptyRowIsUniform(Right):
    def weights(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask.unsqueeze(-3), -1e9)).softmax(-1)


@rotary_attention.mistake(
    "A query with nothing to attend to gives NaN, the softmax of a row of minus infinities. Set the "
    "hidden weights to 0 after the softmax."
)
class EmptyRowIsNotANumber(Right):
    def weights(self, scores, mask):
        return (scores if mask is None else scores.masked_fill(~mask.unsqueeze(-3), -torch.inf)).softmax(-1)


@rotary_attention.mistake(
    "`output` is made and not used: the result is the heads side by side. Send them through it."
)
class OutputNotApplied(Right):
    def finish(self, merged):
        return merged


@rotary_attention.mistake(
    "A head of odd size is accepted when the layer is made. One number would have no partner: raise a "
    "ValueError that names the head size."
)
class OddHeadsAccepted(Right):
    def refuse(self, embed_dim, num_heads):
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} does not divide into {num_heads} heads")


@rotary_attention.mistake(
    "A width that is not divisible by the number of heads is accepted. Raise a ValueError with both "
    "numbers when the layer is made."
)
class AnyWidthAccepted(Right):
    def refuse(self, embed_dim, num_heads):
        if embed_dim % num_heads == 0:
            super().refuse(embed_dim, num_heads)


def _output_only(attend):
    return lambda self, q, k, v, mask: attend(q, k, v, None if mask is None else mask.unsqueeze(-3))[0]


def _angles(speeds=None, positions=None):
    """Angles with other speeds for `index` of `half` pairs, or other positions."""

    def angles(self, x, first):
        half = x.shape[-1] // 2
        index, places = (
            torch.arange(half, dtype=x.dtype),
            torch.arange(first, first + x.shape[-2], dtype=x.dtype),
        )
        exponents = index / half if speeds is None else speeds(index, half)
        return torch.outer(places if positions is None else positions(places), self.base**-exponents)

    return angles


def _turned(query, key):
    """The queries and keys turned by that many times their angles."""

    def project(self, x, past):
        projected = Right.project(self, x, past)
        own = [self.split(part(x)) for part in (self.query, self.key)]
        for place, times in enumerate((query, key)):
            own[place] = self.turn(own[place], past) if times > 0 else _back(self, own[place], past)
            own[place] = self.turn(own[place], past) if times > 1 else own[place]
        return (*own, projected[2])

    return project


def _back(self, x, past):
    return self.turn(x * x.new_tensor([1.0, -1.0]).repeat(x.shape[-1] // 2), past) * x.new_tensor(
        [1.0, -1.0]
    ).repeat(x.shape[-1] // 2)


def _with_base(change):
    def angles(self, x, first):
        given, self.base = self.base, change(self.base)
        found = Right.angles(self, x, first)
        self.base = given
        return found

    return angles


def _from_another_place(place):
    return lambda self, x, past: Right.project(self, x, place(self, x, past) if past else 0)


def _over_the_heads(self, scores, mask):
    if mask is None:
        return scores.softmax(1)
    mask = mask.unsqueeze(-3)
    return scores.masked_fill(~mask, -torch.inf).softmax(1).masked_fill(~mask, 0.0)


def _cached(order_of_keys, order_of_values):
    def extend(self, cache, key, value):
        if cache is None:
            return key, value
        return torch.cat([cache[0], key][::order_of_keys], 2), torch.cat(
            [cache[1], value][::order_of_values], 2
        )

    return extend


add_causes(
    rotary_attention,
    Right,
    {
        **{clause: {"attend": _output_only(attend)} for clause, attend in ATTENTION_CAUSES.items()},
        **{
            f"the angles were {words}": {
                "angles": lambda self, x, first, times=times: times * Right.angles(self, x, first)
            }
            for words, times in (("halved", 0.5), ("doubled", 2), ("in degrees", torch.pi / 180))
        },
        **{
            f"`base` were {words}": {"angles": _with_base(change)}
            for words, change in {
                "halved": lambda base: base / 2,
                "doubled": lambda base: base * 2,
                "a tenth of what is given": lambda base: base / 10,
                "ten times what is given": lambda base: base * 10,
            }.items()
        },
        **{
            f"the positions after a cache began at {words}": {"project": _from_another_place(place)}
            for words, place in {
                "T_past - 1": lambda layer, x, past: past - 1,
                "T_new": lambda layer, x, past: x.shape[1],
                "the number of texts": lambda layer, x, past: len(x),
                "the number of heads": lambda layer, x, past: layer.num_heads,
                "the head size": lambda layer, x, past: x.shape[-1] // layer.num_heads,
                "2, the length of the pair": lambda layer, x, past: 2,
            }.items()
        },
        "the keys began at position 0 after a cache, and the queries did not": {
            "project": lambda self, x, past: (
                Right.project(self, x, past)[0],
                *Right.project(self, x, 0)[1:],
            )
        },
        "the values were turned, and the keys were not": {
            "project": lambda self, x, past: (
                Right.project(self, x, past)[0],
                self.split(self.key(x)),
                self.turn(self.split(self.value(x)), past),
            )
        },
        "the tokens were turned before all three projections": {
            "project": lambda self, x, past: tuple(
                self.split(part(self.turn(x, past))) for part in (self.query, self.key, self.value)
            )
        },
        "the heads were merged without a transpose": {
            "attend": lambda self, *inputs: (
                lambda found: found.reshape(len(found), -1, *found.shape[1::2]).transpose(1, 2)
            )(Right.attend(self, *inputs))
        },
        "the softmax ran over the heads": {"weights": _over_the_heads},
        "the exponent were i/D, half of 2i/D": {"angles": _angles(lambda i, half: i / half / 2)},
        "the scores were divided by √E": {
            "scale": lambda self, head_size: (head_size * self.num_heads) ** 0.5
        },
        "the queries began at position 0 after a cache, and the keys did not": {
            "project": lambda self, x, past: (Right.project(self, x, 0)[0], *Right.project(self, x, past)[1:])
        },
        "the keys were not turned": {
            "project": lambda self, x, past: (
                Right.project(self, x, past)[0],
                self.split(self.key(x)),
                self.split(self.value(x)),
            )
        },
        "the queries were not turned": {
            "project": lambda self, x, past: (self.split(self.query(x)), *Right.project(self, x, past)[1:])
        },
        "the exponent were one pair off, 2(i + 1)/D": {"angles": _angles(lambda i, half: (i + 1) / half)},
        "the exponent were 2i/D without its minus": {"angles": _angles(lambda i, half: -i / half)},
        "the exponent were 4i/D, twice 2i/D": {"angles": _angles(lambda i, half: 2 * i / half)},
        "the last exponent were 1: D - 2 for D": {"angles": _angles(lambda i, half: i / max(half - 1, 1))},
        "the last pair turned fastest": {"angles": _angles(lambda i, half: i.flip(0) / half)},
        "all pairs turned at the speed 1": {"angles": _angles(lambda i, half: 0 * i)},
        "the exponent's D were the width of all heads": {
            "angles": lambda self, x, first: _angles(lambda i, half: i / half / self.num_heads)(
                self, x, first
            )
        },
        "the angles were taken for degrees": {
            "angles": lambda self, x, first: Right.angles(self, x, first).deg2rad()
        },
        "the angles were multiplied by 2π": {
            "angles": lambda self, x, first: Right.angles(self, x, first) * 2 * torch.pi
        },
        "the positions ran backwards": {"angles": _angles(positions=lambda places: places.flip(0))},
        "all tokens had the last position": {
            "angles": _angles(positions=lambda places: 0 * places + places[-1])
        },
        "positions were divided by the length": {
            "angles": _angles(positions=lambda places: places / len(places))
        },
        "queries turned the wrong way, and keys the right one": {"project": _turned(-1, 1)},
        "keys turned the wrong way, and queries the right one": {"project": _turned(1, -1)},
        "queries and keys were turned twice": {"project": _turned(2, 2)},
        "queries were turned twice": {"project": _turned(2, 1)},
        "the new keys came before the cached ones, the values behind": {"extend": _cached(-1, 1)},
        "the new values came before the cached ones, the keys behind": {"extend": _cached(1, -1)},
        "the heads were split with one view": {
            "split": lambda self, x: x.reshape(len(x), self.num_heads, x.shape[1], -1)
        },
        "the heads were split as (D, H)": {
            "split": lambda self, x: x.unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)
        },
        "the input were added to the output": {
            "forward": lambda self, x, *args, **kwargs: (lambda output, cache: (output + x, cache))(
                *Right.forward(self, x, *args, **kwargs)
            )
        },
    },
)


@rotary_attention.mistake(
    "After a cache the positions start at 0 again: each new piece is turned as if it were the first. "
    "Begin with the length of the cached keys."
)
class StartsAgain(Right):
    def project(self, x, past):
        return super().project(x, 0)


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
    "The four projections have a bias, which nn.Linear adds by default. These are made with `bias=False`."
)
class WithBias(Right):
    def __init__(self, embed_dim, num_heads, base=10000.0):
        super().__init__(embed_dim, num_heads, base)
        for name in ("query", "key", "value", "output"):
            self.add_module(name, nn.Linear(embed_dim, embed_dim))
