"""The mistakes that the grader can name in `CachedAttention`: keys and values that change places."""

from .cached_attention import Right, cached_attention


@cached_attention.mistake("Key and value are swapped in the cache that comes back. The pair is (key, value).")
class ValueFirst(Right):
    def returned_cache(self, new, total):
        return total[1], total[0]


@cached_attention.mistake(
    "Key and value are swapped when the cache is read: new keys are joined to old values, and new values "
    "to old keys. The pair is (key, value): the old keys are its first entry."
)
class ReadsTheValueFirst(Right):
    def forward(self, x, cache=None):
        return super().forward(x, cache and (cache[1], cache[0]))


@cached_attention.mistake(
    "The new keys are joined to the old values as well as to the old keys, and the new values are never "
    "used. A copy-and-paste slip: new values belong after the old values."
)
class NewKeysBehindOldValues(Right):
    def behind(self, cache, key, value):
        return self.join(cache[0], key), self.join(cache[1], key)


@cached_attention.mistake(
    "The new values are joined to the old keys as well as to the old values, and the new keys are never "
    "used. A copy-and-paste slip: new keys belong after the old keys."
)
class NewValuesBehindOldKeys(Right):
    def behind(self, cache, key, value):
        return self.join(cache[0], value), self.join(cache[1], value)


@cached_attention.mistake(
    "The new values are joined to the keys, which hold old and new tokens already, so the values come out"
    " longer than the keys. A copy-and-paste slip: new values belong after the old values, the second "
    "entry of the cache."
)
class ValuesBehindJoinedKeys(Right):
    def behind(self, cache, key, value):
        key = self.join(cache[0], key)
        return key, self.join(key, value)


@cached_attention.mistake(
    "The old keys are read twice, and the old values never. A copy-and-paste slip: the second entry of "
    "the cache holds the values."
)
class OldKeysTwice(Right):
    def forward(self, x, cache=None):
        return super().forward(x, cache and (cache[0], cache[0]))


@cached_attention.mistake(
    "The old values are read twice, and the old keys never. A copy-and-paste slip: the first entry of the"
    " cache holds the keys."
)
class OldValuesTwice(Right):
    def forward(self, x, cache=None):
        return super().forward(x, cache and (cache[1], cache[1]))


@cached_attention.mistake(
    "The old values are not joined: the keys are kept twice, as key and as value. A copy-and-paste slip: "
    "the second of the pair holds the values."
)
class KeysTwice(Right):
    def returned_cache(self, new, total):
        return total[0], total[0]
