"""The mistakes in `CachedAttention`: what a token sees, the scores, the cache, and what is returned."""

import math

import torch

from attention_lab.authoring import add_mistakes

from .cached_attention import Right, cached_attention


def _lower(new, total, diagonal=0):
    return torch.ones(new, total, dtype=torch.bool).tril(diagonal)


class NoNewTokensBefore(Right):
    def mask(self, new, total):
        past = total - new
        own = torch.eye(new, dtype=torch.bool) if past else torch.ones(new, new, dtype=torch.bool).tril()
        return torch.cat([torch.ones(new, past, dtype=torch.bool), own], dim=1)


add_mistakes(
    cached_attention,
    Right,
    NoOffset=(
        "Right without a cache; after one, the mask starts at the wrong position: new token i sees the first "
        "i + 1 keys, as if there were no past. It may see all of the past and the new ones up to itself: "
        "shift the diagonal by T_past.",
        {"mask": lambda self, new, total: _lower(new, total)},
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
    NoNewTokensBefore=(
        "After a cache the new tokens see the past and themselves only, not the new ones before them. These "
        "come earlier too: new token i may see new tokens 0 to i.",
        NoNewTokensBefore,
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
)


def _past_as(length_of):
    """The mask is shifted by another length, of a shape (B, H, T, D)."""

    def attend(self, query, key, value):
        scores = query @ key.mT / self.scale(query.shape[-1])
        new, total = scores.shape[-2:]
        mask = _lower(new, total, length_of(key.shape) if total > new else 0)
        return self.softmax(self.fill(scores, ~mask)) @ value

    return {"attend": attend}


def uncut(self, old, new, total):
    return tuple(self.merge(part) for part in total)


class MaskInTheState(Right):
    def __init__(self, embed_dim, num_heads, bias=False):
        super().__init__(embed_dim, num_heads, bias)
        self.register_buffer("hidden", torch.ones(256, 256, dtype=torch.bool).triu(1))


class WritesIntoTheList(Right):
    def forward(self, x, cache=None):
        output, total = super().forward(x, cache)
        if isinstance(cache, list):
            cache[0], cache[1] = total
        return output, total


add_mistakes(
    cached_attention,
    Right,
    CacheBeforeTheCut=(
        "The cache holds keys and values that are not cut into heads, (B, T, E). Store them as the heads use "
        "them, (B, H, T, D): then the past need not be cut again at each call.",
        {"returned_cache": uncut},
    ),
    PastFromTheBatch=(
        "The number of past tokens is read from the wrong axis: the mask is shifted by the number of "
        "sentences. A cached key is (B, H, T_past, D), so the tokens are its third axis.",
        {"attend": _past_as(lambda shape: shape[0])["attend"]},
    ),
    MaskTurnedRound=(
        "The mask is inverted: a token sees what comes after it, and nothing before. True means may attend: "
        "on the diagonal and to its left.",
        {
            "mask": lambda self, new, total: torch.ones(new, total, dtype=torch.bool).triu(
                diagonal=total - new
            )
        },
    ),
    ForgetsTheOutputProjection=(
        "The merged heads are returned as they are: `self.output` is made and never used. Send them through "
        "it before you return.",
        {"finish": lambda self, merged: merged},
    ),
    RefusesNothing=(
        "Right where E is divisible by the number of heads, but another E is not refused. Test it in "
        "`__init__` and raise a ValueError that names `embed_dim` and `num_heads`.",
        {"refuse": lambda self, embed_dim, num_heads: None},
    ),
    BiasIgnored=(
        "`bias=True` changes nothing: the projections are made without one. Pass `bias` to all four.",
        {"biased": lambda self, bias: False},
    ),
    BiasAlways=(
        "`nn.Linear` makes a bias by default, so the projections have one. Pass `bias` to all four, False by "
        "default.",
        {"biased": lambda self, bias: True},
    ),
    MaskInTheState=(
        "A mask or table is in the `state_dict`, so weights from elsewhere do not fit. It belongs to no "
        "checkpoint: make it in `forward`, or register it with `persistent=False`.",
        MaskInTheState,
    ),
    Unscaled=(
        "The scores are not scaled, so the weights are far too sharp. Divide by the root of the head size.",
        {"scale": lambda self, head_size: 1.0},
    ),
    MasksAfterTheSoftmax=(
        "The weights are hidden after the softmax, so the rows no longer sum to 1. Hide the scores before "
        "it, with -inf.",
        {"weigh": lambda self, scores: self.clear(self.softmax(scores), self.mask(*scores.shape[-2:]))},
    ),
    JoinsTheNumbers=(
        "The cache is joined along the wrong axis: each head got more numbers, instead of more tokens. "
        "Tokens are the third axis of (B, H, T, D): join along that one.",
        {"join": lambda self, past, new: torch.cat([past, new], dim=-1)},
    ),
    NewOnesFirst=(
        "The new keys and values come before the old ones. The past comes first, or the mask hides the wrong "
        "ones.",
        {"join": lambda self, past, new: torch.cat([new, past], dim=2)},
    ),
    IgnoresTheCache=(
        "The cache that is passed in is never used: new tokens see only each other. Put its keys and values "
        "before the new ones.",
        {"forward": lambda self, x, cache=None: Right.forward(self, x, None)},
    ),
    KeepsTheNewOnly=(
        "The output is right, but the cache that you return holds the new tokens only, so the next step does "
        "not see those before them. Return the joined keys and values.",
        {"returned_cache": lambda self, old, new, total: new},
    ),
    HandsBackTheOldCache=(
        "You return the cache that was passed in: the new tokens are not in it, and the next step does not "
        "see them. Return the joined keys and values.",
        {"returned_cache": lambda self, old, new, total: total if old is None else old},
    ),
    WritesIntoTheList=(
        "The numbers are right, but the list that was passed in as the cache was written into: it holds the "
        "longer keys and values now, and a second text that continues it sees too much. Return a new pair.",
        WritesIntoTheList,
    ),
    ProjectsThePastAgain=(
        "The cache holds tokens before they were projected, or keys that are projected once more when they "
        "are read: keep the results of `self.key` and `self.value`, cut into heads, and use them as they "
        "are.",
        {
            "behind": lambda self, cache, key, value: [
                self.join(self.split(part(self.merge(past))), new)
                for part, past, new in ((self.key, cache[0], key), (self.value, cache[1], value))
            ]
        },
    ),
)


@cached_attention.mistake(
    "The layer remembers: keys and values are kept in the module itself, so a second text, or a second "
    "continuation of the same cache, sees tokens of another text. Keep everything in the cache that you "
    "return."
)
class KeepsTheCacheInItself(Right):
    memory = None

    def forward(self, x, cache=None):
        output, total = super().forward(x, None if cache is None else self.memory or cache)
        self.memory = total
        return output, total


@cached_attention.mistake(
    "Keys and values are written into one buffer of the layer: two continuations of the same cache share "
    "it, and the second overwrites what the first has kept. Make new tensors by joining."
)
class OneBufferForAll(Right):
    buffers = None

    def returned_cache(self, old, new, total):
        shape = total[0].shape
        if self.buffers is None or self.buffers[0].shape[0] != shape[0] or shape[2] > 64:
            full = shape[0], shape[1], max(shape[2], 64), shape[3]
            self.buffers = [each.new_zeros(full) for each in total]
        for buffer, each in zip(self.buffers, total):
            buffer[:, :, : shape[2]] = each
        return tuple(buffer[:, :, : shape[2]] for buffer in self.buffers)


@cached_attention.mistake(
    "Where gradients are off, keys and values are written into one buffer: two continuations of the same "
    "cache share it, and the second overwrites what the first has kept. Make new tensors by joining, with"
    " gradients and without."
)
class OneBufferWithoutGradients(OneBufferForAll):
    def returned_cache(self, old, new, total):
        return total if torch.is_grad_enabled() else super().returned_cache(old, new, total)


add_mistakes(
    cached_attention,
    Right,
    Detached=(
        "The numbers are right, but no gradient flows through the cache: it left the graph through "
        "`.detach()` or `.data`. Code that generates turns gradients off itself; keep the tensors as they "
        "are.",
        {"returned_cache": lambda self, old, new, total: tuple(each.detach() for each in total)},
    ),
    DetachesThePast=(
        "The new cache is right, but the old one is taken out of the graph as it is read: no gradient "
        "reaches it. Leave out `.detach()` and `.data`, and make no new tensor of its numbers.",
        {"join": lambda self, past, new: torch.cat([past.detach(), new], dim=2)},
    ),
    ValueFirst=(
        "Key and value are swapped in the cache that comes back. The pair is (key, value).",
        {"returned_cache": lambda self, old, new, total: total[::-1]},
    ),
    ValuesBehindJoinedKeys=(
        "The new values are joined to the keys, which hold old and new tokens already, so the values come "
        "out longer than the keys. A copy-and-paste slip: new values belong after the old values, the second "
        "entry of the cache.",
        {
            "behind": lambda self, cache, key, value: (
                self.join(cache[0], key),
                self.join(self.join(cache[0], key), value),
            )
        },
    ),
    KeysTwice=(
        "The old values are not joined: the keys are kept twice, as key and as value. A copy-and-paste slip: "
        "the second of the pair holds the values.",
        {"returned_cache": lambda self, old, new, total: (total[0], total[0])},
    ),
)


class WithWeights(Right):
    def weigh(self, scores):
        self.weights = super().weigh(scores)
        return self.weights


@cached_attention.mistake(
    "The second result is the weights, (B, H, T_new, T). Here it is the cache: the pair (key, value) of past "
    "and new, which the next call needs."
)
class WeightsInsteadOfTheCache(WithWeights):
    def forward(self, x, cache=None):
        return super().forward(x, cache)[0], self.weights


add_mistakes(
    cached_attention,
    Right,
    OutputOnly=(
        "You return the output only. Return a pair, (output, cache), even if no cache was passed in.",
        {"forward": lambda self, x, cache=None: Right.forward(self, x, cache)[0]},
    ),
    NoCacheAtFirst=(
        "You return no cache if none was passed in, so generation cannot continue after the prompt. Return "
        "keys and values in any case.",
        {"returned_cache": lambda self, old, new, total: None if old is None else total},
    ),
)


def _up_to(diagonal):
    return {"mask": lambda self, new, total: _lower(new, total, diagonal(total - new))}


def _weighed(fill, dim=-1):
    return {
        "fill": lambda self, scores, hidden: scores.masked_fill(hidden, fill),
        "softmax": lambda self, scores: scores.softmax(dim),
    }


cached_attention.causes_in_steps(
    Right,
    {
        "the mask were shifted by the number of heads": _past_as(lambda shape: shape[1]),
        "the mask were shifted by the head size": _past_as(lambda shape: shape[3]),
        "the mask were shifted by 2, the length of the pair": _past_as(lambda shape: 2),
        "each token also saw the one behind it": _up_to(lambda past: past + 1),
        "a token behind a cache did not see itself": _up_to(lambda past: past - (past > 0)),
        "the heads were split with one view": {
            "split": lambda self, x: x.reshape(len(x), self.num_heads, x.shape[1], -1)
        },
        "the heads were merged with one view": {
            "merge": lambda self, x: x.reshape(x.shape[0], x.shape[2], -1)
        },
        "the scores were divided by √E": {
            "scale": lambda self, head_size: math.sqrt(head_size * self.num_heads)
        },
        "the scores were divided by D, and not by its root": {"scale": lambda self, head_size: head_size},
        "the softmax ran over the queries": _weighed(-math.inf, dim=-2),
        "hidden scores were 0, and not minus infinity": _weighed(0.0),
        "hidden scores were -100, and not minus infinity": _weighed(-100.0),
        "hidden scores were -1e4, and not minus infinity": _weighed(-1e4),
        "the new keys were joined to the old values as well": {
            "behind": lambda self, cache, key, value: (self.join(cache[0], key), self.join(cache[1], key))
        },
        "the new values were joined to the old keys as well": {
            "behind": lambda self, cache, key, value: (self.join(cache[0], value), self.join(cache[1], value))
        },
        "the old keys were read as the old values, too": {
            "forward": lambda self, x, cache=None: Right.forward(self, x, cache and (cache[0], cache[0]))
        },
        "the old values were read as the old keys, too": {
            "forward": lambda self, x, cache=None: Right.forward(self, x, cache and (cache[1], cache[1]))
        },
        "the old keys and values were swapped as they were read": {
            "forward": lambda self, x, cache=None: Right.forward(self, x, cache and (cache[1], cache[0]))
        },
    },
)
