"""The mistakes that the grader can name in the parts of a `TransformerBlock`."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from .transformer_block import Right, transformer_block


@transformer_block.mistake(
    "The activation is ReLU. BERT was trained with GELU, which lets a little of a negative number through: "
    "use the exact GELU between the two linear layers."
)
class Relu(Right):
    def activation(self, x):
        return F.relu(x)


@transformer_block.mistake(
    "The activation is GELU's approximation by a tanh (GPT-2 has it). It is off by up to 5e-4 per number; "
    "these weights were trained with the exact GELU, torch's default."
)
class TanhGelu(Right):
    def activation(self, x):
        return F.gelu(x, approximate="tanh")


@transformer_block.mistake(
    "The activation is SiLU, x · sigmoid(x). It resembles GELU, but is another curve: use the exact GELU."
)
class Silu(Right):
    def activation(self, x):
        return F.silu(x)


@transformer_block.mistake(
    "There is no activation between `linear1` and `linear2`: two linear layers in a row are one. Put the "
    "exact GELU between them."
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
    "GELU comes twice, after `linear1` and after `linear2`. Only the hidden numbers go through it."
)
class GeluTwice(Right):
    def feed_forward(self, x):
        return F.gelu(self.linear2(F.gelu(self.linear1(x))))


@transformer_block.mistake(
    "The norms have torch's default `eps`, 1e-5. BERT has 1e-12: with inputs of small variance the "
    "difference shows. Hand it to both norms."
)
class DefaultEps(Right):
    def __init__(self, embed_dim, num_heads, hidden_dim):
        super().__init__(embed_dim, num_heads, hidden_dim, eps=1e-5)


@transformer_block.mistake(
    "One of the two norms has torch's default `eps`: `norm2` is off where its input has a small variance. "
    "Both have 1e-12."
)
class DefaultEpsInNorm2(Right):
    def __init__(self, embed_dim, num_heads, hidden_dim):
        super().__init__(embed_dim, num_heads, hidden_dim)
        self.norm2 = nn.LayerNorm(embed_dim)


@transformer_block.mistake(
    "In training mode the answer is random: there is dropout in the block. This block has none; its answer "
    "is the same in both modes."
)
class DropoutActive(Right):
    def feed_forward(self, x):
        hidden = self.activation(self.linear1(x))
        return self.linear2(F.dropout(hidden, 0.1, self.training))


@transformer_block.mistake(
    "The attention has no biases: `attention.query.bias` and three others are missing in the state_dict. "
    "Make it with bias=True."
)
class AttentionWithoutBias(Right):
    def __init__(self, embed_dim, num_heads, hidden_dim):
        super().__init__(embed_dim, num_heads, hidden_dim, bias=False)


@transformer_block.mistake(
    "One norm does the work of both: `norm1` is applied twice and `norm2` never. Each was trained for its "
    "own place."
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
    "The mask is taken and never handed on: hidden tokens are attended to. Pass it to the attention."
)
class IgnoresTheMask(Right):
    def attend(self, x, mask):
        return self.attention(x)[0]


@transformer_block.mistake(
    "The mask is turned round before it reaches the attention. In this course True = may attend, and lesson "
    "6's layer expects just that: hand it on as it is."
)
class MaskInverted(Right):
    def attend(self, x, mask):
        return self.attention(x, mask=None if mask is None else ~mask)[0]


@transformer_block.mistake(
    "The block returns a pair. Attention returns (output, weights); a block returns the output alone, so "
    "that blocks can be stacked."
)
class ReturnsAPair(Right):
    def forward(self, x, mask=None):
        _, weights = self.attention(x, mask=mask)
        return super().forward(x, mask), weights


@transformer_block.mistake(
    "Tokens are normalised over the batch or over the text instead of over their own E numbers: a LayerNorm "
    "looks at the last axis only."
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
