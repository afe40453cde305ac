"""The mistakes in a `RotaryAttention`: what is turned and how, and the cache."""

import torch

from attention_lab.authoring import add_mistakes
from attention_lab.authoring.causes import ATTENTION_CAUSES
from attention_lab.authoring.mask_sentences import (
    AFTER_THE_SOFTMAX,
    EMPTY_ROW_IS_UNIFORM,
    EXPONENTIALS_TOO_LARGE,
)

from .rotary_attention import Right, rotary_attention


def _output_only(attend):
    return lambda self, q, k, v, mask: attend(q, k, v, None if mask is None else mask.unsqueeze(-3))[0]


def _turned(query, key):
    """The queries and keys turned by that many times their angles."""

    def by(self, x, times, past):
        x = self.turn(x, past) if times > 0 else _back(self, x, past)
        return self.turn(x, past) if times > 1 else x

    return lambda self, q, k, value, past: (by(self, q, query, past), by(self, k, key, past), value)


def _back(self, x, past):
    signs = x.new_tensor([1.0, -1.0]).repeat(x.shape[-1] // 2)
    return self.turn(x * signs, past) * signs


def _with_base(change):
    def angles(self, x, first):
        given, self.base = self.base, change(self.base)
        found = Right.angles(self, x, first)
        self.base = given
        return found

    return angles


def _cached(order_of_keys, order_of_values):
    def extend(self, cache, key, value):
        if cache is None:
            return key, value
        return torch.cat([cache[0], key][::order_of_keys], 2), torch.cat(
            [cache[1], value][::order_of_values], 2
        )

    return extend


class StoredUnturned(Right):
    def forward(self, x, mask=None, cache=None):
        past = 0 if cache is None else cache[0].shape[2]
        query, key, value = (self.split(part(x)) for part in (self.query, self.key, self.value))
        key, value = cache = self.extend(cache, key, value)
        found = self.attend(self.turn(query, past), self.turn(key), value, mask)
        return self.output(found.transpose(1, 2).flatten(2)), cache


class WritesIntoTheList(Right):
    def forward(self, x, mask=None, cache=None):
        output, total = super().forward(x, mask, cache)
        if isinstance(cache, list):
            cache[0], cache[1] = total
        return output, total


add_mistakes(
    rotary_attention,
    Right,
    ValuesTurned=(
        "The values are turned as well. They carry what a token passes on, which should not depend on its "
        "position: turn queries and keys only.",
        {
            "turned": lambda self, query, key, value, past: tuple(
                self.turn(x, past) for x in (query, key, value)
            )
        },
    ),
    NothingTurned=(
        "Nothing is turned: this is attention without positions. Turn queries and keys before the scores, "
        "and keep what `rotate` returns.",
        {"turn": lambda self, x, first=0: x},
    ),
    TokensTurned=(
        "The tokens were turned before the projections. A projection mixes the pairs, and the distance is "
        "lost: project first, then turn queries and keys.",
        {
            "project": lambda self, x, past: tuple(
                self.split(part(y))
                for part, y in zip((self.query, self.key, self.value), (*[self.turn(x, past)] * 2, x))
            )
        },
    ),
    TurnedBeforeTheCut=(
        "The whole width was turned before it was cut into heads, so each head has other speeds. Cut first: "
        "every head has all D/2 speeds of its own.",
        {
            "project": lambda self, x, past: (
                *(self.split(self.turn(part(x), past)) for part in (self.query, self.key)),
                self.split(self.value(x)),
            )
        },
    ),
    Halves=(
        "Halves were turned, pairs (i, i + D/2). Turn neighbours, (2i, 2i+1). Use `rotate`, not "
        "`rotate_halves`.",
        {"pairs": lambda self, x: x.chunk(2, dim=-1), "join": lambda self, turned: torch.cat(turned, -1)},
    ),
    TheOtherWayRound=(
        "Queries and keys turn in the wrong direction. Their scores stay right, but they do not fit a cache "
        "whose keys are turned in the right one: (a cos − b sin, a sin + b cos).",
        {"angles": lambda self, x, first: -Right.angles(self, x, first)},
    ),
    ByTheHeads=(
        "The turn follows the heads instead of the tokens: head h is turned by h steps. Put the heads before "
        "the tokens, `(B, H, T, D)`, so that the angles `(T, D/2)` line up with the tokens.",
        {"turn": lambda self, x, first=0: Right.turn(self, x.transpose(1, 2), first).transpose(1, 2)},
    ),
    BaseIgnored=(
        "`base` changes nothing: the layer takes it and always turns with 10000. Pass it to the angles.",
        {"angles": _with_base(lambda base: 10000.0)},
    ),
    NotScaled=(
        "The scores are not scaled. Turning does not change their size: divide by √D, as before.",
        {"scale": lambda self, head_size: 1.0},
    ),
    MaskIgnored=(
        "`mask` changes nothing: hide the scores where it is False, before the softmax.",
        {"weights": lambda self, scores, mask: scores.softmax(-1)},
    ),
    MaskedAfterTheSoftmax=(
        AFTER_THE_SOFTMAX.replace("the rows of `weights` sum", "the weights of a row sum"),
        {"fill": lambda self, scores, hidden: scores},
    ),
    EmptyRowIsUniform=(
        EMPTY_ROW_IS_UNIFORM.replace("Such a row of `weights`", "Its row of weights"),
        {
            "fill": lambda self, scores, hidden: scores.masked_fill(hidden, -1e9),
            "clear": lambda self, weights, mask: weights,
        },
    ),
    EmptyRowIsNotANumber=(
        "A query with nothing to attend to gives NaN, the softmax of a row of minus infinities. Set the "
        "hidden weights to 0 after the softmax.",
        {"clear": lambda self, weights, mask: weights},
    ),
    ExponentialsTooLarge=(
        EXPONENTIALS_TOO_LARGE,
        {"softmax": lambda self, scores: scores.exp() / scores.exp().sum(-1, keepdim=True)},
    ),
    FlagsTimesInfinity=(
        "With a mask the output is NaN: the flags were multiplied by minus infinity, and 0 · (−∞) is not a "
        "number. Replace the hidden scores instead of adding to them.",
        {"fill": lambda self, scores, hidden: scores + hidden * -torch.inf},
    ),
    OutputNotApplied=(
        "`output` is made and not used: the result is the heads side by side. Send them through it.",
        {"finish": lambda self, merged: merged},
    ),
    OddHeadsAccepted=(
        "A head of odd size is accepted when the layer is made. One number would have no partner: raise a "
        "ValueError that names the head size.",
        {"refuse_odd": lambda self, embed_dim, num_heads: None},
    ),
    AnyWidthAccepted=(
        "A width that is not divisible by the number of heads is accepted. Raise a ValueError with both "
        "numbers when the layer is made.",
        {
            "refuse": lambda self, embed_dim, num_heads: None,
            "refuse_odd": lambda self, embed_dim, num_heads: (
                None if embed_dim % num_heads else Right.refuse_odd(self, embed_dim, num_heads)
            ),
        },
    ),
    StartsAgain=(
        "After a cache the positions start at 0 again: each new piece is turned as if it were the first. "
        "Begin with the length of the cached keys.",
        {"project": lambda self, x, past: Right.project(self, x, 0)},
    ),
    TurnedTwice=(
        "The cached keys are turned twice: they come turned already, and all keys are turned once more. Turn "
        "the new keys only, before they join the cache.",
        {
            "extend": lambda self, cache, *new: Right.extend(
                self, cache and (self.turn(cache[0]), cache[1]), *new
            )
        },
    ),
    StoredUnturned=(
        "The cache holds keys that are not turned, and all of them are turned at every call. It should hold "
        "turned keys: turn the new keys, then store them.",
        StoredUnturned,
    ),
    WritesIntoTheList=(
        "The numbers are right, but the list that was passed in as the cache was written into: it holds the "
        "longer keys and values now, and a second text that continues it sees too much. Return a new pair.",
        WritesIntoTheList,
    ),
    PositionsInHalfPrecision=(
        "Positions far from the beginning are rough: they were kept in half precision, which cannot hold "
        "every whole number above 256 (or 2048). Count them in float32 or in whole numbers.",
        {"positions": lambda self, x, first: torch.arange(first, first + x.shape[-2]).bfloat16().to(x.dtype)},
    ),
    SpeedsInHalfPrecision=(
        "The angles are rough, and more so far from the beginning: the speeds of the pairs were kept in half "
        "precision, as a model that is converted whole keeps them. Make them in float32.",
        {
            "angles": lambda self, x, first: torch.outer(
                self.positions(x, first),
                (self.base ** -self.exponents(x.shape[-1] // 2)).bfloat16().to(x.dtype),
            )
        },
    ),
    PositionsFromOne=(
        "Positions count from 1: every key in the cache is one step ahead, and does not fit keys that others "
        "have stored. The first token is turned by 0.",
        {"positions": lambda self, x, first: Right.positions(self, x, first + 1)},
    ),
    OneTooFar=(
        "The first position after a cache is off by one. With T_past keys in it, they are at 0 to T_past − "
        "1, so the next one is T_past.",
        {"project": lambda self, x, past: Right.project(self, x, past + 1 if past else 0)},
    ),
    OnePositionForAllNew=(
        "After a cache all new tokens get the same position. They follow each other: T_past, T_past + 1 and "
        "so on.",
        {
            "positions": lambda self, x, first: (
                x.new_full((x.shape[-2],), first) if first else Right.positions(self, x, first)
            )
        },
    ),
    CacheIgnored=(
        "`cache` changes nothing: the new tokens attend to each other only. Put the cached keys and values "
        "before the new ones.",
        {
            "forward": lambda self, x, mask=None, cache=None: Right.forward(
                self, x, None if mask is None else mask[..., -x.shape[1] :]
            )
        },
    ),
    NewOnesFirst=(
        "The new keys and values come before the cached ones. The past comes first, and the columns of a "
        "mask rely on that.",
        {"extend": _cached(-1, -1)},
    ),
    ReturnsNewOnesOnly=(
        "The cache that you return holds the new tokens only, so the next call does not see the past. Return "
        "past and new together.",
        {"returned_cache": lambda self, old, new, total: new},
    ),
    CacheNotExtended=(
        "The cache is returned unchanged: the new keys and values are missing. Return past and new together.",
        {"returned_cache": lambda self, old, new, total: total if old is None else old},
    ),
    ValuesFirst=(
        "Keys and values are swapped in the cache. The pair is (key, value), in this order.",
        {"returned_cache": lambda self, old, new, total: total[::-1]},
    ),
    WithBias=(
        "The four projections have a bias, which nn.Linear adds by default. These are made with "
        "`bias=False`.",
        {"biased": lambda self, bias: True},
    ),
)


rotary_attention.causes_in_steps(
    Right,
    {
        **{clause: {"attend": _output_only(attend)} for clause, attend in ATTENTION_CAUSES.items()},
        "the keys began at position 0 after a cache, and the queries did not": {
            "turned": lambda self, q, k, v, past: (self.turn(q, past), self.turn(k), v)
        },
        "the values were turned, and the keys were not": {
            "turned": lambda self, q, k, v, past: (self.turn(q, past), k, self.turn(v, past))
        },
        "the tokens were turned before all three projections": {
            "project": lambda self, x, past: tuple(
                self.split(part(self.turn(x, past))) for part in (self.query, self.key, self.value)
            )
        },
        "what the heads found were turned as well": {
            "merge": lambda self, x: Right.merge(self, self.turn(x))
        },
        "the heads were merged without a transpose": {
            "merge": lambda self, x: x.reshape(len(x), x.shape[2], -1)
        },
        "the softmax ran over the heads": {"softmax": lambda self, scores: scores.softmax(1)},
        "the scores were divided by √E": {
            "scale": lambda self, head_size: (head_size * self.num_heads) ** 0.5
        },
        "the queries began at position 0 after a cache, and the keys did not": {
            "turned": lambda self, q, k, v, past: (self.turn(q), self.turn(k, past), v)
        },
        "the keys were not turned": {"turned": lambda self, q, k, v, past: (self.turn(q, past), k, v)},
        "the queries were not turned": {"turned": lambda self, q, k, v, past: (q, self.turn(k, past), v)},
        "queries turned the wrong way, and keys the right one": {"turned": _turned(-1, 1)},
        "keys turned the wrong way, and queries the right one": {"turned": _turned(1, -1)},
        "queries and keys were turned twice": {"turned": _turned(2, 2)},
        "queries were turned twice": {"turned": _turned(2, 1)},
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
