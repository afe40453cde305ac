"""The mistakes that the grader can name in the parts of a `TransformerBlock`."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from .transformer_block import Right, transformer_block


@transformer_block.mistake(
    "The activation is ReLU. BERT was trained with GELU, which is not 0 for small negative numbers. Use the "
    "exact GELU between the two linear layers."
)
class Relu(Right):
    def activation(self, x):
        return F.relu(x)


@transformer_block.mistake(
    "The activation is the tanh approximation of GELU, which GPT-2 uses. It is off by up to 5e-4 per number; "
    "these weights were trained with the exact GELU, torch's default."
)
class TanhGelu(Right):
    def activation(self, x):
        return F.gelu(x, approximate="tanh")


@transformer_block.mistake(
    "The activation is SiLU, x · sigmoid(x). It is close to GELU, but not equal: use the exact GELU."
)
class Silu(Right):
    def activation(self, x):
        return F.silu(x)


@transformer_block.mistake(
    "There is no activation between `linear1` and `linear2`, and two linear layers in a row are only one "
    "linear layer. Put the exact GELU between them."
)
class NoActivation(Right):
    def activation(self, x):
        return x


@transformer_block.mistake(
    "GELU comes after `linear2`. It belongs between the two linear layers, on the `hidden_dim` numbers."
)
class GeluAtTheEnd(Right):
    def feed_forward(self, x):
        return F.gelu(self.linear2(self.linear1(x)))


@transformer_block.mistake(
    "GELU is applied twice, after `linear1` and after `linear2`. Apply it after `linear1` only."
)
class GeluTwice(Right):
    def feed_forward(self, x):
        return F.gelu(self.linear2(F.gelu(self.linear1(x))))


@transformer_block.mistake(
    "The norms have torch's default `eps`, 1e-5. BERT has 1e-12, and the difference shows on inputs of small "
    "variance. Pass it to both norms."
)
class DefaultEps(Right):
    def __init__(self, embed_dim, num_heads, hidden_dim):
        super().__init__(embed_dim, num_heads, hidden_dim, eps=1e-5)


@transformer_block.mistake(
    "`norm2` has torch's default `eps`, 1e-5, so it is wrong where its input has a small variance. Pass "
    "1e-12 to both norms."
)
class DefaultEpsInNorm2(Right):
    def __init__(self, embed_dim, num_heads, hidden_dim):
        super().__init__(embed_dim, num_heads, hidden_dim)
        self.norm2 = nn.LayerNorm(embed_dim)


@transformer_block.mistake(
    "In training mode the result is random: there is dropout in the block. This block has none; its result "
    "is the same in both modes."
)
class DropoutActive(Right):
    def feed_forward(self, x):
        hidden = self.activation(self.linear1(x))
        return self.linear2(F.dropout(hidden, 0.1, self.training))


@transformer_block.mistake(
    "The attention has no biases: `attention.query.bias` and three others are missing from the state_dict. "
    "Make it with bias=True."
)
class AttentionWithoutBias(Right):
    def __init__(self, embed_dim, num_heads, hidden_dim):
        super().__init__(embed_dim, num_heads, hidden_dim, bias=False)


@transformer_block.mistake(
    "`norm1` is applied twice and `norm2` never. Each was trained for its own half: apply `norm2` after the "
    "feed-forward part."
)
class OneNormForBoth(Right):
    def second(self, x):
        return self.norm1(x + self.feed_forward(x))


@transformer_block.mistake(
    "The norms have changed places: `norm1` belongs after the attention, `norm2` after the feed-forward part."
)
class NormsExchanged(Right):
    def first(self, x, mask):
        return self.norm2(x + self.attend(x, mask))

    def second(self, x):
        return self.norm1(x + self.feed_forward(x))


@transformer_block.mistake(
    "The mask is not used, so hidden tokens are attended to. Pass it to the attention."
)
class IgnoresTheMask(Right):
    def attend(self, x, mask):
        return self.attention(x)[0]


@transformer_block.mistake(
    "The mask is inverted before it reaches the attention. In this course True = may attend, and lesson 6's "
    "layer expects the same: pass it on as it is."
)
class MaskInverted(Right):
    def attend(self, x, mask):
        return self.attention(x, mask=None if mask is None else ~mask)[0]


@transformer_block.mistake(
    "The attention returns a pair, (output, weights), and a pair cannot be added to `x`. Take the output of "
    "the two."
)
class AddsThePair(Right):
    def attend(self, x, mask):
        return self.attention(x, mask=mask)


@transformer_block.mistake(
    "The block returns a pair. Attention returns (output, weights); a block returns the output alone, which "
    "the next block can read."
)
class ReturnsAPair(Right):
    def forward(self, x, mask=None):
        _, weights = self.attention(x, mask=mask)
        return super().forward(x, mask), weights


@transformer_block.mistake(
    "The norm is taken over the tokens of a text instead of over the E numbers of each token. A LayerNorm"
    " looks at the last axis only."
)
class NormOverTheTokens(Right):
    def normed(self, norm, x):
        centred = x - x.mean(dim=1, keepdim=True)
        scaled = centred / torch.sqrt(centred.square().mean(dim=1, keepdim=True) + 1e-12)
        return norm.weight * scaled + norm.bias

    def first(self, x, mask):
        return self.normed(self.norm1, x + self.attend(x, mask))

    def second(self, x):
        return self.normed(self.norm2, x + self.feed_forward(x))
