"""The mistakes that the grader can name in `CachedAttention`: what is kept."""

import torch

from .cached_attention import Right, cached_attention


@cached_attention.mistake(
    "The cache is joined along the wrong axis: each head got more numbers, instead of more tokens. Tokens"
    " are the third axis of (B, H, T, D): join along that one."
)
class JoinsTheNumbers(Right):
    def join(self, past, new):
        return torch.cat([past, new], dim=-1)


@cached_attention.mistake(
    "The cache is joined along the axis of the heads, so the result has more heads. Tokens are the third "
    "axis of (B, H, T, D): join along that one."
)
class JoinsTheHeads(Right):
    def join(self, past, new):
        return torch.cat([past, new], dim=1)


@cached_attention.mistake(
    "The new keys and values come before the old ones. The past comes first, or the mask hides the wrong"
    " ones."
)
class NewOnesFirst(Right):
    def join(self, past, new):
        return torch.cat([new, past], dim=2)


@cached_attention.mistake(
    "The cache that is passed in is never used: new tokens see only each other. Put its keys and values "
    "before the new ones."
)
class IgnoresTheCache(Right):
    def forward(self, x, cache=None):
        return super().forward(x, None)


@cached_attention.mistake(
    "The output is right, but the cache that you return holds the new tokens only, so the next step does "
    "not see those before them. Return the joined keys and values."
)
class KeepsTheNewOnly(Right):
    def returned_cache(self, new, total):
        return new


@cached_attention.mistake(
    "You return the cache that was passed in: the new tokens are not in it, and the next step does not "
    "see them. Return the joined keys and values."
)
class HandsBackTheOldCache(Right):
    def forward(self, x, cache=None):
        output, total = super().forward(x, cache)
        return output, total if cache is None else cache


@cached_attention.mistake(
    "The numbers are right, but the list that was passed in as the cache was written into: it holds the "
    "longer keys and values now, and a second text that continues it sees too much. Return a new pair."
)
class WritesIntoTheList(Right):
    def forward(self, x, cache=None):
        output, total = super().forward(x, cache)
        if isinstance(cache, list):
            cache[0], cache[1] = total
        return output, total


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
    def returned_cache(self, new, total):
        return tuple(self.merge(each) for each in total)


@cached_attention.mistake(
    "The cache that was passed in is changed in place: continued a second time, the same cache gives "
    "another answer. Make new tensors by joining, and leave what comes in as it is."
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

    def returned_cache(self, new, total):
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
    def returned_cache(self, new, total):
        return total if torch.is_grad_enabled() else super().returned_cache(new, total)


@cached_attention.mistake(
    "Right in float32. In float64 the keys meet a buffer of float32, which is torch's default and not the "
    "dtype of `x`. Results keep the dtype: make the buffer with the one of `x`."
)
class BufferInFloat32(Right):
    def join(self, past, new):
        before = past.shape[2]
        buffer = torch.zeros(*new.shape[:2], before + new.shape[2], new.shape[3])
        buffer[:, :, :before], buffer[:, :, before:] = past, new
        return buffer

    def forward(self, x, cache=None):
        nothing = self.split(x)[:, :, :0]
        return super().forward(x, (nothing, nothing) if cache is None else cache)


@cached_attention.mistake(
    "The numbers are right, but no gradient flows through the cache: it left the graph through "
    "`.detach()` or `.data`. Code that generates turns gradients off itself; keep the tensors as they are."
)
class Detached(Right):
    def returned_cache(self, new, total):
        return tuple(each.detach() for each in total)


@cached_attention.mistake(
    "The new cache is right, but the old one is taken out of the graph as it is read: no gradient reaches"
    " it. Leave out `.detach()` and `.data`, and make no new tensor of its numbers."
)
class DetachesThePast(Right):
    def join(self, past, new):
        return torch.cat([past.detach(), new], dim=2)
