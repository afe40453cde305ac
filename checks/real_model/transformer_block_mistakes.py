"""The mistakes that the grader can name in a `TransformerBlock`: its parts, and the sums of them."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.authoring.causes import add_causes

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


@transformer_block.mistake(
    "This is pre-norm: the norms come before attention and feed-forward, as in GPT-2. BERT is post-norm: "
    "compute, add, then normalise the sum."
)
class PreNorm(Right):
    def first(self, x, mask):
        return x + self.attend(self.norm1(x), mask)

    def second(self, x):
        return x + self.feed_forward(self.norm2(x))


@transformer_block.mistake(
    "The norm is applied before the sum: x + norm(attention(x)). Add first, then normalise the sum, in both "
    "halves."
)
class NormBeforeTheSum(Right):
    def first(self, x, mask):
        return x + self.norm1(self.attend(x, mask))

    def second(self, x):
        return x + self.norm2(self.feed_forward(x))


@transformer_block.mistake(
    "The first residual is missing: the attention's output replaces `x` instead of being added to it."
)
class NoFirstResidual(Right):
    def first(self, x, mask):
        return self.norm1(self.attend(x, mask))


@transformer_block.mistake(
    "The second residual is missing: the feed-forward output replaces its input instead of being added to it."
)
class NoSecondResidual(Right):
    def second(self, x):
        return self.norm2(self.feed_forward(x))


@transformer_block.mistake(
    "Both residuals are missing: each half replaces its input. Add the input to the output of the half, then "
    "normalise."
)
class NoResiduals(Right):
    def first(self, x, mask):
        return self.norm1(self.attend(x, mask))

    def second(self, x):
        return self.norm2(self.feed_forward(x))


@transformer_block.mistake(
    "The second residual adds the block's own input. It should add what the second half was given: the "
    "result of `norm1`."
)
class SecondResidualFromTheInput(Right):
    def forward(self, x, mask=None):
        return self.norm2(x + self.feed_forward(self.first(x, mask)))


@transformer_block.mistake(
    "The second residual adds the sum from before `norm1`. It should add what the second half was given: the "
    "result of `norm1`."
)
class SecondResidualFromTheSum(Right):
    def forward(self, x, mask=None):
        added = x + self.attend(x, mask)
        return self.norm2(added + self.feed_forward(self.norm1(added)))


@transformer_block.mistake(
    "The feed-forward part reads the block's input. It comes after the attention: its input is the result of "
    "`norm1`."
)
class FeedForwardBesideTheAttention(Right):
    def forward(self, x, mask=None):
        return self.norm2(self.first(x, mask) + self.feed_forward(x))


@transformer_block.mistake("The last norm is missing. Apply `norm2` to the sum after the feed-forward part.")
class NoSecondNorm(Right):
    def second(self, x):
        return x + self.feed_forward(x)


@transformer_block.mistake("The sum after the attention is not normalised. Apply `norm1` to it.")
class NoFirstNorm(Right):
    def first(self, x, mask):
        return x + self.attend(x, mask)


@transformer_block.mistake(
    "The feed-forward part comes first and the attention second. The order is attention, `norm1`, "
    "feed-forward, `norm2`."
)
class FeedForwardFirst(Right):
    def forward(self, x, mask=None):
        x = self.norm2(x + self.feed_forward(x))
        return self.norm1(x + self.attend(x, mask))


@transformer_block.mistake(
    "The feed-forward part is missing: after `norm1` come `linear1`, GELU, `linear2`, a sum and `norm2`."
)
class NoFeedForward(Right):
    def second(self, x):
        return self.norm2(x)


def _halves(first, second):
    """Both halves by functions of (x, part, norm): what goes in, attention or feed-forward, and its norm."""
    return {
        "first": lambda self, x, mask: first(x, lambda y: self.attend(y, mask), self.norm1),
        "second": lambda self, x: second(x, self.feed_forward, self.norm2),
    }


def _right(x, part, norm):
    return norm(x + part(x))


HALVES = {
    "{} were pre-norm: x + part(norm(x))": lambda x, part, norm: x + part(norm(x)),
    "{} had the norm before the sum: x + norm(part(x))": lambda x, part, norm: x + norm(part(x)),
    "{} normalised only x: norm(x) + part(x)": lambda x, part, norm: norm(x) + part(x),
    "{} normalised twice, norm(x + part(norm(x)))": lambda x, part, norm: norm(x + part(norm(x))),
    "{} began and ended with its norm": lambda x, part, norm: _right(norm(x), part, norm),
    "{} had its norm twice in a row": lambda x, part, norm: norm(norm(x + part(x))),
    "{} had no norm": lambda x, part, norm: x + part(x),
    "{} were left out, and its norm kept": lambda x, part, norm: norm(x),
    "{} added x twice": lambda x, part, norm: norm(2 * x + part(x)),
    "{} added its part twice": lambda x, part, norm: norm(x + 2 * part(x)),
    "{} subtracted its part": lambda x, part, norm: norm(x - part(x)),
    "{} multiplied x and its part": lambda x, part, norm: norm(x * part(x)),
    "{} applied its part twice": lambda x, part, norm: norm(x + part(part(x))),
    "{} had GELU on its part": lambda x, part, norm: norm(x + F.gelu(part(x))),
    "{} had GELU on the sum": lambda x, part, norm: norm(F.gelu(x + part(x))),
    "{} had GELU behind its norm": lambda x, part, norm: F.gelu(norm(x + part(x))),
}
NORMS = {
    "{} divided by the unbiased standard deviation": lambda s: (
        (s - s.mean(-1, True)) / s.std(-1, keepdim=True)
    ),
    "{} did not subtract the mean": lambda s: s / s.square().mean(-1, True).sqrt(),
    "{} divided by the variance, and not by its root": lambda s: (
        (s - s.mean(-1, True)) / s.var(-1, False, keepdim=True)
    ),
    "{} were taken over a whole text": lambda s: F.layer_norm(s, s.shape[-2:]),
}
HALVES |= {
    clause: lambda x, part, norm, normed=normed: normed(x + part(x)) * norm.weight + norm.bias
    for clause, normed in NORMS.items()
}
add_causes(
    transformer_block,
    Right,
    {
        clause.format(which): _halves(*pair)
        for clause, half in HALVES.items()
        for which, pair in (
            ("the first half", (half, _right)),
            ("the second half", (_right, half)),
            ("each half", (half, half)),
        )
    }
    | {
        f"the activation were {name}": {"activation": lambda self, x, f=function: f(x)}
        for name, function in {
            "tanh": torch.tanh,
            "the sigmoid": torch.sigmoid,
            "ELU": F.elu,
            "SELU": F.selu,
            "leaky ReLU": F.leaky_relu,
            "softplus": F.softplus,
            "Mish": F.mish,
            "hard swish": F.hardswish,
            "x · sigmoid(1.702 x), an approximation of GELU": lambda x: x * torch.sigmoid(1.702 * x),
            "the square of ReLU": lambda x: F.relu(x).square(),
            "the softmax": lambda x: x.softmax(-1),
            "GELU, twice": lambda x: F.gelu(F.gelu(x)),
        }.items()
    }
    | {
        "GELU came before `linear1`": {"feed_forward": lambda self, x: self.linear2(self.linear1(F.gelu(x)))},
        "the second half added the attention's output": {
            "forward": lambda self, x, mask=None: (
                lambda y: self.norm2(self.attend(x, mask) + self.feed_forward(y))
            )(self.first(x, mask))
        },
        "the feed-forward part read the attention's output": {
            "forward": lambda self, x, mask=None: self.norm2(
                self.first(x, mask) + self.feed_forward(self.attend(x, mask))
            )
        },
        "attention and feed-forward both read the input, with one norm for their sum": {
            "forward": lambda self, x, mask=None: self.norm2(x + self.attend(x, mask) + self.feed_forward(x))
        },
    },
)
