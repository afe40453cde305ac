"""The mistakes that the grader can name in `CachedAttention`: what is returned."""

from .cached_attention import Right, cached_attention


@cached_attention.mistake(
    "Nothing is returned: is the `return` line missing? Return a pair, (output, cache)."
)
class ReturnsNothing(Right):
    def forward(self, x, cache=None):
        super().forward(x, cache)


@cached_attention.mistake(
    "You return output, key and value as three results. Return two, (output, cache): the cache is one "
    "pair, (key, value), so that the caller can pass it on as it is."
)
class KeyAndValueApart(Right):
    def forward(self, x, cache=None):
        output, (key, value) = super().forward(x, cache)
        return output, key, value


class WithWeights(Right):
    def weigh(self, scores):
        self.weights = super().weigh(scores)
        return self.weights


@cached_attention.mistake(
    "You also return the weights, (B, H, T_new, T), and so three results. Return two, (output, cache), "
    "with the cache as one pair, (key, value)."
)
class WeightsToo(WithWeights):
    def forward(self, x, cache=None):
        output, new_cache = super().forward(x, cache)
        return output, self.weights, new_cache


@cached_attention.mistake(
    "You also return the averaged weights, as in lesson 6, and so three results. Return two, (output, "
    "cache), with the cache as one pair, (key, value)."
)
class MeanWeightsToo(WithWeights):
    def forward(self, x, cache=None):
        output, new_cache = super().forward(x, cache)
        return output, self.weights.mean(dim=1), new_cache


@cached_attention.mistake(
    "The second result is the weights, (B, H, T_new, T). Here it is the cache: the pair (key, value) of past "
    "and new, which the next call needs."
)
class WeightsInsteadOfTheCache(WithWeights):
    def forward(self, x, cache=None):
        return super().forward(x, cache)[0], self.weights


@cached_attention.mistake(
    "The second result is the averaged weights, as in lesson 6. Here it is the cache: the pair (key, value) "
    "of past and new, which the next call needs."
)
class MeanWeightsInsteadOfTheCache(WithWeights):
    def forward(self, x, cache=None):
        return super().forward(x, cache)[0], self.weights.mean(dim=1)


@cached_attention.mistake(
    "The cache that you return holds the queries too. No later token needs them, and code that reads the "
    "cache expects a pair: (key, value)."
)
class KeepsTheQueries(Right):
    def attend(self, query, key, value):
        self.last_queries = query
        return super().attend(query, key, value)

    def returned_cache(self, new, total):
        return *total, self.last_queries


@cached_attention.mistake(
    "You return the output only. Return a pair, (output, cache), even if no cache was passed in."
)
class OutputOnly(Right):
    def forward(self, x, cache=None):
        return super().forward(x, cache)[0]


@cached_attention.mistake(
    "You return no cache if none was passed in, so generation cannot continue after the prompt. Return "
    "keys and values in any case."
)
class NoCacheAtFirst(Right):
    def forward(self, x, cache=None):
        output, total = super().forward(x, cache)
        return output, None if cache is None else total
