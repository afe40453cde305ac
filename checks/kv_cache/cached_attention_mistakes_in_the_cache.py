"""The mistakes that the grader can name in `CachedAttention`: what is kept."""

import torch

from .cached_attention import Right, cached_attention


@cached_attention.mistake(
    "The cache is joined along the wrong axis: the numbers of a head became more, not the tokens. Tokens "
    "are the third axis of (B, H, T, D): join along that one."
)
class JoinsTheNumbers(Right):
    def join(self, past, new):
        return torch.cat([past, new], dim=-1)


@cached_attention.mistake(
    "The cache is joined along the axis of the heads: one with more heads comes out. Tokens are the third"
    " axis of (B, H, T, D): join along that one."
)
class JoinsTheHeads(Right):
    def join(self, past, new):
        return torch.cat([past, new], dim=1)


@cached_attention.mistake(
    "The new keys and values stand before the old ones. The past comes first, or the mask hides the wrong"
    " ones."
)
class NewOnesFirst(Right):
    def join(self, past, new):
        return torch.cat([new, past], dim=2)


@cached_attention.mistake(
    "The cache that is handed in is never used: new tokens see only each other. Put its keys and values "
    "before the new ones."
)
class IgnoresTheCache(Right):
    def forward(self, x, cache=None):
        return super().forward(x, None)


@cached_attention.mistake(
    "The output is right, but the cache that comes back holds the new tokens only, so the next step has "
    "forgotten all before them. Return the joined keys and values."
)
class KeepsTheNewOnly(Right):
    def kept(self, new, total):
        return new


@cached_attention.mistake(
    "The cache that was handed in comes back unchanged: the new tokens are not in it, and the next step "
    "does not see them. Return the joined keys and values."
)
class HandsBackTheOldCache(Right):
    def forward(self, x, cache=None):
        output, total = super().forward(x, cache)
        return output, total if cache is None else cache


@cached_attention.mistake(
    "Key and value have changed places in the cache that comes back. The pair is (key, value)."
)
class ValueFirst(Right):
    def kept(self, new, total):
        return total[1], total[0]


@cached_attention.mistake(
    "The old values are not joined: the keys are kept twice, as key and as value. A slip of copy and "
    "paste: the second of the pair holds the values."
)
class KeysTwice(Right):
    def kept(self, new, total):
        return total[0], total[0]


@cached_attention.mistake(
    "The cache holds tokens before they were projected, or keys that are projected once more when they "
    "are read: keep the results of `self.key` and `self.value`, cut into heads, and use them as they are."
)
class ProjectsThePastAgain(Right):
    def forward(self, x, cache=None):
        if cache is not None:
            cache = self.split(self.key(self.merge(cache[0]))), self.split(self.value(self.merge(cache[1])))
        return super().forward(x, cache)


@cached_attention.mistake(
    "The cache is kept with tokens before heads, (B, T, H, D). Here it is (B, H, T, D): keep keys and "
    "values as they are after the heads are split off."
)
class TokensBeforeHeads(Right):
    def forward(self, x, cache=None):
        # What comes in may be either; what goes out is turned.
        output, (key, value) = super().forward(x, cache)
        return output, (key.transpose(1, 2), value.transpose(1, 2))


@cached_attention.mistake(
    "The cache is kept with its heads merged, (B, T, E). Here it is (B, H, T, D): keep keys and values as"
    " they are after the heads are split off."
)
class HeadsMerged(Right):
    def kept(self, new, total):
        return tuple(self.merge(each) for each in total)


@cached_attention.mistake(
    "The cache that was handed in is changed in place: whoever continues it a second time gets another "
    "answer. Make new tensors by joining, and leave what comes in as it is."
)
class ChangesTheCacheInPlace(Right):
    def forward(self, x, cache=None):
        output, total = super().forward(x, cache)
        if cache is not None:
            with torch.no_grad():
                for old, new in zip(cache, total):
                    old.copy_(new[:, :, -old.shape[2] :] if new.shape[2] >= 2 * old.shape[2] else old + 1)
        return output, total


@cached_attention.mistake(
    "The layer remembers: keys and values are kept in the module itself, so a second text, or a second "
    "way on from the same cache, sees what is not its own. Keep everything in the cache that you return."
)
class KeepsTheCacheInItself(Right):
    memory = None

    def forward(self, x, cache=None):
        output, total = super().forward(x, None if cache is None else self.memory or cache)
        self.memory = total
        return output, total


@cached_attention.mistake(
    "The numbers are right, but no gradient flows through the cache: it left the graph through "
    "`.detach()` or `.data`. Turning gradients off is the business of whoever generates; keep the tensors"
    " themselves."
)
class Detached(Right):
    def kept(self, new, total):
        return tuple(each.detach() for each in total)


@cached_attention.mistake(
    "The new cache is right, but the old one is taken out of the graph as it is read: no gradient reaches"
    " it. Leave out `.detach()` and `.data`, and make no new tensor of its numbers."
)
class DetachesThePast(Right):
    def join(self, past, new):
        return torch.cat([past.detach(), new], dim=2)


@cached_attention.mistake(
    "The cache that comes back holds the queries as well. No later token asks them, and whoever reads the "
    "cache expects a pair: (key, value)."
)
class KeepsTheQueries(Right):
    def attend(self, query, key, value):
        self.asked = query
        return super().attend(query, key, value)

    def kept(self, new, total):
        return *total, self.asked


@cached_attention.mistake(
    "Only the output comes back. A pair is asked for, (output, cache), also where no cache was handed in."
)
class OutputOnly(Right):
    def forward(self, x, cache=None):
        return super().forward(x, cache)[0]


@cached_attention.mistake(
    "Without a cache, none comes back: after the prompt there is nothing to go on with. Return keys and "
    "values in any case."
)
class NoCacheAtFirst(Right):
    def forward(self, x, cache=None):
        output, total = super().forward(x, cache)
        return output, None if cache is None else total
