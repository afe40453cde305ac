"""The mistakes that the grader can name in `CausalSelfAttention`."""

import math

import torch.nn as nn

from .causal_self_attention import _Layer, causal_self_attention


@causal_self_attention.mistake(
    "`mask` is a plain attribute: `buffers()` does not list it, and it stays behind when the module moves to "
    "another device. Register it as a buffer."
)
class mask_is_a_plain_attribute(_Layer):
    def keep(self, mask):
        self.mask = mask


@causal_self_attention.mistake(
    "`mask` is a parameter: an optimizer is given it, and a count of the parameters includes it. It is "
    "not to be trained: register it as a buffer."
)
class mask_is_a_parameter(_Layer):
    def keep(self, mask):
        self.mask = nn.Parameter(mask, requires_grad=False)


@causal_self_attention.mistake(
    "The buffer `mask` holds floats, so it follows every change of dtype and needs a comparison at each "
    "call. A mask is True or False: make it boolean before you register it."
)
class mask_of_floats(_Layer):
    def keep(self, mask):
        self.register_buffer("mask", mask.float())

    def weigh(self, scores):
        length = scores.shape[-1]
        return scores.masked_fill(self.mask[:length, :length] == 0, -math.inf).softmax(dim=-1)


@causal_self_attention.mistake(
    "Results are right, but the buffer `mask` says True where a query may *not* look. In this course True "
    'means "may attend": on and below the diagonal.'
)
class mask_says_hidden(_Layer):
    def keep(self, mask):
        self.register_buffer("mask", ~mask)

    def weigh(self, scores):
        length = scores.shape[-1]
        return scores.masked_fill(self.mask[:length, :length], -math.inf).softmax(dim=-1)


@causal_self_attention.mistake(
    "A text shorter than `block_size` fails: the mask is (block_size, block_size), the scores are (T, T). "
    "Cut the mask to the first T queries and the first T keys at each call."
)
class mask_not_sliced(_Layer):
    def weigh(self, scores):
        return scores.masked_fill(~self.mask, -math.inf).softmax(dim=-1)


@causal_self_attention.mistake(
    "`mask` is the wrong way round: the queries see the future and not the past. It should be True on and "
    "below the diagonal, and False above it."
)
class mask_upside_down(_Layer):
    def keep(self, mask):
        self.register_buffer("mask", mask.T.contiguous())


@causal_self_attention.mistake(
    "Every query sees the whole text: `mask` exists, but it does not change the scores. Hide the scores "
    "before the softmax, and note that `masked_fill` returns a new tensor, which you have to use."
)
class mask_never_used(_Layer):
    def weigh(self, scores):
        return scores.softmax(dim=-1)


@causal_self_attention.mistake(
    "The order of the thirds is wrong: your key is made by the rows of `qkv` that belong to the query, "
    "and your query by those of the key. The order is query, key, value."
)
class key_before_query(_Layer):
    thirds = (1, 0, 2)


@causal_self_attention.mistake(
    "The projection is cut along the tokens instead of the width: a third of the text becomes the query. "
    "Cut the last dimension, which is three times `embed_dim` wide, so that each part keeps all T tokens."
)
class cut_along_time(_Layer):
    def split(self, projected):
        return projected.chunk(3, dim=1)


@causal_self_attention.mistake(
    "The thirds are interleaved: query, key and value each take every third number. They should be three "
    "blocks, one after the other, each `embed_dim` wide."
)
class thirds_interleaved(_Layer):
    def split(self, projected):
        return projected.unflatten(-1, (-1, 3)).unbind(dim=-1)


@causal_self_attention.mistake(
    "The scores are not scaled, so the weights are too sharp. Queries and keys are `embed_dim` wide here: "
    "divide the scores by the square root of that."
)
class unscaled(_Layer):
    power = 0


@causal_self_attention.mistake(
    "A text longer than `block_size` is not refused: torch stops with an error about sizes, or (if the block "
    "is 1) every token sees all others. Compare T with `block_size` first, and raise a ValueError whose "
    "sentence contains both numbers."
)
class too_long_is_not_refused(_Layer):
    def forward(self, x):
        query, key, value = self.split(self.qkv(x))
        weights = self.weigh(query @ key.mT * x.shape[-1] ** self.power)
        return weights @ value, weights


@causal_self_attention.mistake(
    "A text longer than `block_size` is silently cut: it loses its last tokens without an error. Raise a "
    "ValueError whose sentence contains both numbers, T and `block_size`."
)
class too_long_is_cut(_Layer):
    def forward(self, x):
        return super().forward(x[:, : len(self.mask)])


@causal_self_attention.mistake(
    "Masked after the softmax: the future has weights of 0, but it had already taken its share, so the rows "
    "of `weights` sum to less than 1. Hide the *scores*, before the softmax."
)
class masked_after_the_softmax(_Layer):
    def weigh(self, scores):
        length = scores.shape[-1]
        return scores.softmax(dim=-1) * self.mask[:length, :length]


@causal_self_attention.mistake(
    "The future's scores are set to 0 (or multiplied by 0), and a score of 0 is an ordinary score: exp(0) "
    "= 1, so hidden tokens keep their weight. Only a score of minus infinity has an exponential of 0."
)
class hidden_scores_are_zero(_Layer):
    def weigh(self, scores):
        length = scores.shape[-1]
        return (scores * self.mask[:length, :length]).softmax(dim=-1)


@causal_self_attention.mistake(
    "The future gets a fixed low score, such as -1e4, but a visible token may have a score that low: "
    "then they share the weight. Only minus infinity is below every score."
)
class fixed_low_score(_Layer):
    def weigh(self, scores):
        length = scores.shape[-1]
        return scores.masked_fill(~self.mask[:length, :length], -1e4).softmax(dim=-1)
