"""The mistakes in a `GroupedRotaryAttention`: heads, turns, mask and cache."""

import math

import torch

from attention_lab.authoring import add_mistakes
from attention_lab.authoring.causes import add_causes

from .grouped_rotary_attention import grouped_rotary_attention
from .layers import Attention


def _lower(new, total, diagonal=0):
    return torch.ones(new, total, dtype=torch.bool).tril(diagonal)


def _whole_rows(self, x):
    return x.repeat(1, self.num_heads // self.num_kv_heads, 1, 1)


def _from_another_place(place):
    return {"project": lambda self, x, past: Attention.project(self, x, place(self, x, past))}


class StoredUnturned(Attention):
    def forward(self, x, cache=None):
        past = 0 if cache is None else cache[0].shape[2]
        query = self.turn(self.split(self.query(x), self.num_heads), past)
        new = (self.split(part(x), self.num_kv_heads) for part in (self.key, self.value))
        key, value = cache = self.extend(cache, *new)
        found = self.attend(query, self.share(self.turn(key)), self.share(value))
        return self.output(self.merge(found)), cache


class TokensTurned(Attention):
    def project(self, x, past):
        turned = self.turn(x, past)
        query, key = (
            self.split(self.query(turned), self.num_heads),
            self.split(self.key(turned), self.num_kv_heads),
        )
        return query, key, self.split(self.value(x), self.num_kv_heads)


class TurnedBeforeTheCut(Attention):
    def project(self, x, past):
        query = self.split(self.turn(self.query(x), past), self.num_heads)
        key = self.split(self.turn(self.key(x), past), self.num_kv_heads)
        return query, key, self.split(self.value(x), self.num_kv_heads)


add_mistakes(
    grouped_rotary_attention,
    Attention,
    RepeatsWholeRows=(
        "The heads are shared in the wrong order: query head h uses key/value head h % H_kv, as `repeat` "
        "lays them out. It should be h // G, neighbours together: repeat each head by itself "
        "(`repeat_interleave`).",
        {"share": _whole_rows},
    ),
    ValuesInAnotherOrder=(
        "Keys and values are repeated in different orders, so a head takes its weights from one key/value "
        "head and its values from another. Query head h uses head h // G of both.",
        {"share_values": _whole_rows},
    ),
    FirstHeadForAll=(
        "All query heads use the first key/value head. Query head h uses head h // G.",
        {"share": lambda self, x: x[:, :1].expand(-1, self.num_heads, -1, -1)},
    ),
    KeysAsWideAsQueries=(
        "`key` and `value` map E to E numbers, so nothing is saved. They have H_kv heads of D numbers: map "
        "E to H_kv · D.",
        {"kv_width": lambda self, embed_dim, num_heads, num_kv_heads: embed_dim},
    ),
    WithBias=(
        "The projections have a bias, which nn.Linear adds by default. All four are made with `bias=False`.",
        {"with_bias": True},
    ),
    SplitsWithoutTranspose=(
        "The heads are cut with a view alone: it gives the shape (B, H, T, D) and puts the first tokens "
        "whole into head 0. Cut into (heads, D) first, then swap T and the heads.",
        {"split": lambda self, x, heads: x.reshape(x.shape[0], heads, x.shape[1], -1)},
    ),
    MergesWithoutTranspose=(
        "The heads are merged without swapping T and H back, so tokens are mixed. Swap first, then join the "
        "heads.",
        {"merge": lambda self, x: x.reshape(x.shape[0], x.shape[2], -1)},
    ),
    ForgetsTheOutputProjection=(
        "The merged heads are returned as they are: `output` is made and never used. Send them through it.",
        {"finish": lambda self, merged: merged},
    ),
    RefusesNoGroups=(
        "A number of query heads that is not divisible by the number of key/value heads is not refused. "
        "Raise a ValueError that names both when the layer is made.",
        {"refuse_groups": lambda self, num_heads, num_kv_heads: None},
    ),
    RefusesNoWidth=(
        "A width that is not divisible by the number of heads is not refused. Raise a ValueError that names "
        "both when the layer is made.",
        {
            "refuse": lambda self, embed_dim, num_heads: None,
            "refuse_odd": lambda self, embed_dim, num_heads: (
                None if embed_dim % num_heads else Attention.refuse_odd(self, embed_dim, num_heads)
            ),
        },
    ),
    OddHeadsAccepted=(
        "A head of odd size is accepted when the layer is made. One number would have no partner: raise a "
        "ValueError that names the head size.",
        {"refuse_odd": lambda self, embed_dim, num_heads: None},
    ),
    RefusesNothing=(
        "Nothing is refused when the layer is made. Raise a ValueError with the numbers for a width that "
        "the heads do not divide, for heads that the key/value heads do not divide, and for a head of odd "
        "size.",
        {
            "refuse": lambda self, embed_dim, num_heads: None,
            "refuse_odd": lambda self, embed_dim, num_heads: None,
            "refuse_groups": lambda self, num_heads, num_kv_heads: None,
        },
    ),
    NotScaled=(
        "The scores are not scaled, so the weights are far too sharp. Divide by √D, the root of the head "
        "size.",
        {"scale": lambda self, head_size: 1.0},
    ),
    ScaledByTheWidth=(
        "The scores are divided by √E. Each is a sum of D products, of one head: divide by √D.",
        {"scale": lambda self, head_size: math.sqrt(head_size * self.num_heads)},
    ),
    ScaledByTheKeyWidth=(
        "The scores are divided by the root of H_kv · D, the width of all keys. Each is a sum of D "
        "products, of one head: divide by √D.",
        {"scale": lambda self, head_size: math.sqrt(head_size * self.num_kv_heads)},
    ),
    NoMask=(
        "Nothing is hidden: a token sees those that come after it. This does not show when you generate one "
        "token at a time, but it does in a prompt. New token i may see the past and the new ones up to "
        "itself.",
        {"mask": lambda self, new, total: torch.ones(new, total, dtype=torch.bool)},
    ),
    NoMaskBehindACache=(
        "Right without a cache; with one, nothing is hidden among the new tokens. That is harmless for one "
        "new token, and wrong for several: token i may not see the new ones after it.",
        {"mask": lambda self, new, total: _lower(new, total, 0 if new == total else total)},
    ),
    NoOffset=(
        "Right without a cache; after one, the mask starts at the wrong position: new token i sees the "
        "first i + 1 keys, as if there were no past. Shift the diagonal by T_past.",
        {"mask": lambda self, new, total: _lower(new, total)},
    ),
    OneAhead=(
        "The mask is one position ahead: each token also sees the one after it, which it is supposed to "
        "predict. New token i may see the past and the new ones up to itself.",
        {"mask": lambda self, new, total: _lower(new, total, total - new + 1)},
    ),
    OneAheadBehindACache=(
        "Right without a cache; after one, each new token also sees the one after it. The diagonal begins "
        "at column T_past, and not one further.",
        {"mask": lambda self, new, total: _lower(new, total, total - new + (total > new))},
    ),
    NotItself=(
        "A token does not see itself, and the first one sees nothing, which gives NaN. The diagonal of the "
        "mask is visible.",
        {"mask": lambda self, new, total: _lower(new, total, total - new - 1)},
    ),
    SeesNoPast=(
        "The past is hidden: new tokens see only each other. Everything in the cache comes before them, so "
        "each may see all of it.",
        {
            "mask": lambda self, new, total: (
                _lower(new, total, total - new) & (torch.arange(total) >= total - new)
            )
        },
    ),
    MaskTurnedRound=(
        "The mask is inverted: a token sees what comes after it, and nothing before. Visible are the "
        "diagonal and what is left of it.",
        {"mask": lambda self, new, total: torch.ones(new, total, dtype=torch.bool).triu(total - new)},
    ),
    HiddenScoresOfZero=(
        "Hidden scores are set to 0, which is a score like any other, so hidden keys take part in the "
        "softmax. Set the scores to -inf before it.",
        {"fill": lambda self, scores, hidden: scores.masked_fill(hidden, 0.0)},
    ),
    MasksAfterTheSoftmax=(
        "The weights are hidden after the softmax, so the rows no longer sum to 1. Hide the scores before "
        "it, with -inf.",
        {"weights": lambda self, scores: self.softmax(scores) * self.mask(*scores.shape[-2:])},
    ),
    FilledTooHigh=(
        "Hidden scores are filled with a number that is not low enough: visible scores go down to -1e4 "
        "here, and hidden keys then take all the weight. Set them to -inf.",
        {"fill": lambda self, scores, hidden: scores.masked_fill(hidden, -100.0)},
    ),
    ExponentialsTooLarge=(
        "Large scores give NaN: their exponentials are infinite, and infinity divided by infinity is no "
        "number. Use a softmax that subtracts each row's largest score first.",
        {"softmax": lambda self, scores: scores.exp() / scores.exp().sum(-1, keepdim=True)},
    ),
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
    KeysNotTurned=(
        "Only the queries are turned, so a score depends on the query's own position and not on the "
        "distance. Turn the keys as well.",
        {"turned": lambda self, query, key, value, past: (self.turn(query, past), key, value)},
    ),
    QueriesNotTurned=(
        "Only the keys are turned, so a score depends on the key's own position and not on the distance. "
        "Turn the queries as well.",
        {"turned": lambda self, query, key, value, past: (query, self.turn(key, past), value)},
    ),
    TokensTurned=(
        "The tokens were turned before the projections. A projection mixes the pairs, and the distance is "
        "lost: project first, then turn queries and keys.",
        {"project": TokensTurned.project},
    ),
    TurnedBeforeTheCut=(
        "The whole width was turned before it was cut into heads, so each head has other speeds. Cut first: "
        "every head has all D/2 speeds of its own.",
        {"project": TurnedBeforeTheCut.project},
    ),
    Halves=(
        "Halves were turned, pairs (i, i + D/2), as in the checkpoints of `transformers`. Turn neighbours, "
        "(2i, 2i+1), with `rotate`.",
        {"pairs": lambda self, x: x.chunk(2, dim=-1), "join": lambda self, turned: torch.cat(turned, -1)},
    ),
    LaidDownAsHalves=(
        "Neighbours were turned correctly and put back in another order, all first numbers before all "
        "second ones. Each goes back to its own index; `rotate` does it.",
        {"join": lambda self, turned: torch.cat(turned, -1)},
    ),
    TheOtherWayRound=(
        "Queries and keys turn in the wrong direction. Their scores stay right, but they do not fit a cache "
        "whose keys are turned in the right one: (a cos − b sin, a sin + b cos).",
        {"angles": lambda self, x, first: -Attention.angles(self, x, first)},
    ),
    ByTheHeads=(
        "The turn follows the heads instead of the tokens: head h is turned by h steps. Put the heads "
        "before the tokens, (B, H, T, D), so that the angles (T, D/2) line up with the tokens.",
        {"turn": lambda self, x, first=0: Attention.turn(self, x.transpose(1, 2), first).transpose(1, 2)},
    ),
    BaseIgnored=(
        "`base` changes nothing: the layer takes it and always turns with 10000. Pass it to the angles.",
        {
            "__init__": lambda self, embed_dim, num_heads, num_kv_heads, base=10000.0: Attention.__init__(
                self, embed_dim, num_heads, num_kv_heads
            )
        },
    ),
    StartsAgain=(
        "After a cache the positions start at 0 again: each new piece is turned as if it were the first. "
        "Begin with the length of the cached keys.",
        {"project": lambda self, x, past: Attention.project(self, x, 0)},
    ),
    KeysStartAgain=(
        "After a cache the new keys are turned from position 0 again, and the queries are not. Both begin "
        "at T_past.",
        {"turned": lambda self, query, key, value, past: (self.turn(query, past), self.turn(key), value)},
    ),
    QueriesStartAgain=(
        "After a cache the queries are turned from position 0 again, and the new keys are not. Both begin "
        "at T_past.",
        {"turned": lambda self, query, key, value, past: (self.turn(query), self.turn(key, past), value)},
    ),
    OneTooFar=(
        "The first position after a cache is off by one. With T_past keys in it, they are at 0 to T_past − "
        "1, so the next one is T_past.",
        {"project": lambda self, x, past: Attention.project(self, x, past + 1 if past else 0)},
    ),
    OneTooFew=(
        "After a cache the new tokens begin at the position of the last cached key. With T_past keys at 0 "
        "to T_past − 1, the next one is T_past.",
        {"project": lambda self, x, past: Attention.project(self, x, past - 1 if past else 0)},
    ),
    PositionsFromOne=(
        "Positions count from 1: every key in the cache is one step ahead, and does not fit keys that "
        "others have stored. The first token is turned by 0.",
        {"positions": lambda self, first, length: Attention.positions(self, first + 1, length)},
    ),
    OnePositionForAllNew=(
        "After a cache all new tokens get the same position. They follow each other: T_past, T_past + 1 and "
        "so on.",
        {
            "positions": lambda self, first, length: (
                Attention.positions(self, first, length)
                if not first
                else torch.full((length,), float(first), dtype=torch.float64)
            )
        },
    ),
    PositionsInHalfPrecision=(
        "Positions far from the beginning are rough: they were kept in half precision, which cannot hold "
        "every whole number above 256 (or 2048). Count them in float32 or in whole numbers.",
        {"positions": lambda self, first, length: torch.arange(first, first + length).bfloat16().double()},
    ),
    TurnedTwice=(
        "The cached keys are turned twice: they come turned already, and are turned once more. Turn the new "
        "keys only, before they join the cache.",
        {
            "extend": lambda self, cache, *new: Attention.extend(
                self, cache and (self.turn(cache[0]), cache[1]), *new
            )
        },
    ),
    StoredUnturned=(
        "The cache holds keys that are not turned, and all of them are turned at every call. It should hold "
        "turned keys: turn the new keys, then store them.",
        {"forward": StoredUnturned.forward},
    ),
    RepeatedInTheCache=(
        "The cache holds the repeated keys and values, of all H query heads, so nothing is saved, and a "
        "cache of H_kv heads does not fit. Join past and new first, and repeat only for the scores.",
        {
            "extend": lambda self, cache, *new: Attention.extend(self, cache, *map(self.repeated, new)),
            "share": lambda self, x: x,
            "repeated": Attention.share,
        },
    ),
    CacheIgnored=(
        "`cache` changes nothing: the new tokens see only each other. Put the cached keys and values before "
        "the new ones.",
        {"forward": lambda self, x, cache=None: Attention.forward(self, x, None)},
    ),
    NewOnesFirst=(
        "The new keys and values come before the cached ones. The past comes first, and the mask relies on "
        "that.",
        {
            "extend": lambda self, cache, key, value: (
                (key, value)
                if cache is None
                else (torch.cat([key, cache[0]], dim=2), torch.cat([value, cache[1]], dim=2))
            )
        },
    ),
    ReturnsNewOnesOnly=(
        "The cache that you return holds the new tokens only, so the next call does not see the past. "
        "Return past and new together.",
        {"returned_cache": lambda self, old, new, total: new},
    ),
    CacheNotExtended=(
        "The cache is returned unchanged: the new keys and values are missing. Return past and new together.",
        {"returned_cache": lambda self, old, new, total: total if old is None else tuple(old)},
    ),
    ValuesFirst=(
        "Keys and values are swapped in the cache. The pair is (key, value), in this order.",
        {"returned_cache": lambda self, old, new, total: total[::-1]},
    ),
    KeysTwice=(
        "The cache holds the keys twice, as key and as value. A copy-and-paste slip: the second of the pair "
        "holds the values.",
        {"returned_cache": lambda self, old, new, total: (total[0], total[0])},
    ),
    NoCacheAtFirst=(
        "You return no cache if none was passed in, so generation cannot continue after the prompt. Return "
        "keys and values in any case.",
        {"returned_cache": lambda self, old, new, total: None if old is None else total},
    ),
    OutputOnly=(
        "You return the output only. Return a pair, (output, cache), even if no cache was passed in.",
        {"forward": lambda self, x, cache=None: Attention.forward(self, x, cache)[0]},
    ),
    Detached=(
        "The numbers are right, but no gradient flows through the cache: it left the graph through "
        "`.detach()` or `.data`. Code that generates turns gradients off itself; keep the tensors as they "
        "are.",
        {"returned_cache": lambda self, old, new, total: tuple(each.detach() for each in total)},
    ),
)


@grouped_rotary_attention.mistake(
    "The numbers are right, but the list that was passed in as the cache was written into: it holds the "
    "longer keys and values now, and a second text that continues it sees too much. Return a new pair."
)
class WritesIntoTheList(Attention):
    def forward(self, x, cache=None):
        output, total = super().forward(x, cache)
        if isinstance(cache, list):
            cache[0], cache[1] = total
        return output, total


@grouped_rotary_attention.mistake(
    "The layer remembers: keys and values are kept in the module itself, so a second continuation of the "
    "same cache sees tokens of another text. Keep everything in the cache that you return."
)
class KeepsTheCacheInItself(Attention):
    memory = None

    def forward(self, x, cache=None):
        output, total = super().forward(x, None if cache is None else self.memory or cache)
        self.memory = total
        return output, total


@grouped_rotary_attention.mistake(
    "A mask or table is in the `state_dict`, so weights from elsewhere do not fit. It belongs to no "
    "checkpoint: make it in `forward`, or register it with `persistent=False`."
)
class TableInTheState(Attention):
    def __init__(self, embed_dim, num_heads, num_kv_heads, base=10000.0):
        super().__init__(embed_dim, num_heads, num_kv_heads, base)
        self.register_buffer("rates", base ** -self.exponents(embed_dim // num_heads))


add_causes(
    grouped_rotary_attention,
    Attention,
    {
        "the scores were divided by D, and not by its root": {"scale": lambda self, head_size: head_size},
        "the scores were multiplied by √D": {"scale": lambda self, head_size: head_size**-0.5},
        "hidden scores were -1e4, and not minus infinity": {
            "fill": lambda self, scores, hidden: scores.masked_fill(hidden, -1e4)
        },
        "the softmax ran over the queries": {"softmax": lambda self, scores: scores.softmax(-2)},
        "the softmax ran over the heads": {"softmax": lambda self, scores: scores.softmax(1)},
        "the keys were shared by h % H_kv, and the values by h // G": {
            "share": _whole_rows,
            "share_values": Attention.share,
        },
        "the exponent were i/D, half of 2i/D": {
            "exponents": lambda self, head_size: Attention.exponents(self, head_size) / 2
        },
        "the exponent were 2i/D without its minus": {
            "exponents": lambda self, head_size: -Attention.exponents(self, head_size)
        },
        "the exponent's D were the width of all heads": {
            "exponents": lambda self, head_size: Attention.exponents(self, head_size) / self.num_heads
        },
        "the last pair turned fastest": {
            "exponents": lambda self, head_size: Attention.exponents(self, head_size).flip(0)
        },
        "queries and keys were turned twice": {
            "turn": lambda self, x, first=0: Attention.turn(self, Attention.turn(self, x, first), first)
        },
        "the input were added to the output": {
            "forward": lambda self, x, cache=None: (lambda output, cache: (output + x, cache))(
                *Attention.forward(self, x, cache)
            )
        },
        "the old keys and values were swapped as they were read": {
            "forward": lambda self, x, cache=None: Attention.forward(self, x, cache and (cache[1], cache[0]))
        },
        "the heads of keys and values were split with one view": {
            "split": lambda self, x, heads: (
                Attention.split(self, x, heads)
                if heads != self.num_kv_heads
                else x.reshape(len(x), heads, x.shape[1], -1)
            )
        },
        "the heads were split as (D, H)": {
            "split": lambda self, x, heads: x.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2)
        },
        **{
            f"the positions after a cache began at {words}": _from_another_place(place)
            for words, place in {
                "T_new": lambda layer, x, past: x.shape[1] if past else 0,
                "the number of texts": lambda layer, x, past: len(x) if past else 0,
                "the number of key/value heads": lambda layer, x, past: layer.num_kv_heads if past else 0,
                "2, the length of the pair": lambda layer, x, past: 2 if past else 0,
            }.items()
        },
    },
)
