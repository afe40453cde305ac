"""The exercise `TransformerBlock`, and the mistakes it can name."""

import math
from dataclasses import replace

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.authoring import SUMS_OF_PRODUCTS, Exercise, SmallLayerDraw, add_mistakes, build, case
from attention_lab.authoring.layers import PROJECTIONS, MultiHeadLayer

transformer_block = Exercise(
    "TransformerBlock",
    results=("output",),
    axes=(("batch", "tokens", "embedding"),),
    tolerance=SUMS_OF_PRODUCTS,
    draw=SmallLayerDraw,
)


def _state(draw, embed_dim, hidden_dim, dtype=torch.float32):
    """Random weights under the sixteen names, with scales and shifts in the norms that show."""
    state = {}
    shapes = {f"attention.{name}": (embed_dim, embed_dim) for name in PROJECTIONS}
    shapes |= {"linear1": (hidden_dim, embed_dim), "linear2": (embed_dim, hidden_dim)}
    for name, shape in shapes.items():
        state[f"{name}.weight"] = draw.linear(*shape, dtype=dtype)
        state[f"{name}.bias"] = draw.normal(shape[0], dtype=dtype)
    for name in ("norm1", "norm2"):
        state[f"{name}.weight"] = draw.normal(embed_dim, dtype=dtype)
        state[f"{name}.bias"] = draw.normal(embed_dim, dtype=dtype)
    return state


def _case(draw, mask=False, double=False, eval=False, change=None, size=1.0, gradients=False):
    """One call of a block with its own sizes; `change` edits the weights before they are loaded."""
    heads, head_size, batch, length, hidden_dim = draw.heads(3)
    embed_dim = heads * head_size
    dtype = torch.float64 if double else torch.float32
    state = _state(draw, embed_dim, hidden_dim, dtype)
    if change is not None:
        change(state)
    block = build(embed_dim, heads, hidden_dim, state=state, double=double, eval=eval)
    x = draw.normal(batch, length, embed_dim, dtype=dtype) * size
    given = {"mask": draw.mask(batch, 1, length)} if mask else {}
    return case(x, build=block, gradients=gradients, **given)


@transformer_block.group("without a mask", points=2)
def without_mask(draw):
    yield _case(draw)
    yield _case(draw, double=True)


@transformer_block.group("with a mask", points=1)
def with_mask(draw):
    yield _case(draw, mask=True)
    heads, head_size, batch, length, hidden_dim = draw.heads(3)
    embed_dim = heads * head_size
    for shape in ((length, length), (batch, length, length)):
        block = build(embed_dim, heads, hidden_dim, state=_state(draw, embed_dim, hidden_dim))
        yield case(draw.normal(batch, length, embed_dim), draw.mask(*shape), build=block)


@transformer_block.group("equal sizes, one text, one token, one head", points=1)
def equal_sizes(draw):
    (size,) = draw.sizes(1)
    for heads, hidden_dim, shape in (
        (1, size, (size, size, size)),
        (size, 3 * size, (2, 1, size)),
        (1, 1, (1, 1, size)),
    ):
        block = build(size, heads, hidden_dim, state=_state(draw, size, hidden_dim))
        yield case(draw.normal(*shape), build=block)
    block = build(4 * size, 4, 4 * size, state=_state(draw, 4 * size, 4 * size))
    for batch in (size, 1):
        yield case(draw.normal(batch, size, 4 * size), mask=draw.mask(batch, 1, size), build=block)


def _the_same_in_both_modes(cases, values):
    """Training mode twice, evaluation mode once: None, a mistake's name or a sentence."""
    for each, value in zip(cases, values, strict=True):
        if not isinstance(value, torch.Tensor) or value.shape != each.args[0].shape:
            return f"`TransformerBlock` does not return one tensor of shape {tuple(each.args[0].shape)}."
    training, repeated, evaluation = values
    if not torch.allclose(training, repeated, rtol=1e-6, atol=1e-9):
        return "DropoutActive"
    if not torch.allclose(training, evaluation, rtol=1e-6, atol=1e-9):
        return "`TransformerBlock` gives other results in evaluation mode: it is to be the same in both."
    return None


@transformer_block.group(
    "training and evaluation mode agree", points=1, verify=_the_same_in_both_modes, withhold_points=True
)
def both_modes(draw):
    training = _case(draw, double=True)
    yield training
    yield training
    yield case(*training.args, build=replace(training.build, eval=True))


def _small_first(state):
    for name in ("attention.value.bias", "attention.output.bias"):
        state[name] = torch.zeros_like(state[name])


def _small_second(state):
    state["norm1.weight"] = state["norm1.weight"] * 1e-5
    for name in ("norm1.bias", "linear1.bias", "linear2.bias"):
        state[name] = torch.zeros_like(state[name])


@transformer_block.group("inputs of small variance: eps", points=1)
def small_variance(draw):
    yield _case(draw, double=True, change=_small_first, size=1e-5)
    yield _case(draw, double=True, change=_small_second)


@transformer_block.group("gradients", points=1)
def gradients(draw):
    for double in (False, True):
        yield _case(draw, double=double, gradients=True)
    yield _case_with_an_empty_text(draw)


def _case_with_an_empty_text(draw):
    heads, head_size, batch, length, hidden_dim = draw.heads(3)
    embed_dim = heads * head_size
    mask = draw.mask(batch, 1, length)
    mask[draw.integer(0, batch - 1)] = False
    state = _state(draw, embed_dim, hidden_dim, torch.float64)
    block = build(embed_dim, heads, hidden_dim, state=state, double=True)
    x = draw.normal(batch, length, embed_dim, dtype=torch.float64)
    return case(x, mask=mask, build=block, gradients=True)


@transformer_block.group("its sixteen parameters", points=0.5)
def parameters(draw):
    heads, head_size, hidden_dim = draw.heads(1)
    yield case(build=build(heads * head_size, heads, hidden_dim, look=("parameters", "buffers")))


@transformer_block.group("with the weights it draws itself", points=0.5, fresh=True)
def own_weights(draw):
    heads, head_size, batch, length, hidden_dim = draw.heads(3)
    embed_dim = heads * head_size
    fresh = build(embed_dim, heads, hidden_dim, look=("result", "state"))
    yield case(draw.normal(batch, length, embed_dim), build=fresh)


class Right(nn.Module):
    """A correct layer; each mistake changes one thing about it."""

    has_bias = True
    eps = (1e-12, 1e-12)

    def __init__(self, embed_dim, num_heads, hidden_dim):
        super().__init__()
        self.attention = MultiHeadLayer(embed_dim, num_heads, self.has_bias)
        self.norm1 = nn.LayerNorm(embed_dim, eps=self.eps[0])
        self.linear1 = nn.Linear(embed_dim, hidden_dim)
        self.linear2 = nn.Linear(hidden_dim, embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim, eps=self.eps[1])

    def attend(self, x, mask):
        return self.attention(x, mask=mask)[0]

    def activation(self, x):
        return F.gelu(x)

    def feed_forward(self, x):
        return self.linear2(self.activation(self.linear1(x)))

    def normalise(self, norm, x):
        return norm(x)

    def first(self, x, mask):
        return self.normalise(self.norm1, x + self.attend(x, mask))

    def second(self, x):
        return self.normalise(self.norm2, x + self.feed_forward(x))

    def forward(self, x, mask=None):
        return self.second(self.first(x, mask))


@transformer_block.accepted_alternative(
    "The error function written out: the exact GELU is x times the share of a standard normal distribution "
    "below x. (Only this step is shown.)"
)
class ByTheErrorFunction(Right):
    def activation(self, x):
        return 0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))


@transformer_block.accepted_alternative(
    "Both sums change a tensor of their own in place, which saves one tensor the size of the batch each; "
    "the input itself is left alone. (Only the sums are shown.)"
)
class SumsInPlace(Right):
    def first(self, x, mask):
        return self.norm1(self.attend(x, mask).add_(x))

    def second(self, x):
        return self.norm2(self.feed_forward(x).add_(x))


@transformer_block.accepted_alternative
class NormsByHand(Right):
    def normalise(self, norm, x):
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)
        return norm.weight * centred / torch.sqrt(variance + 1e-12) + norm.bias


def _over_the_tokens(self, norm, x):
    return norm.weight * F.layer_norm(x.mT, x.shape[1:2], eps=1e-12).mT + norm.bias


add_mistakes(
    transformer_block,
    Right,
    Relu=(
        "The activation is ReLU. BERT was trained with GELU, which is not 0 for small negative numbers. Use "
        "the exact GELU between the two linear layers.",
        {"activation": lambda self, x: F.relu(x)},
    ),
    TanhGelu=(
        "The activation is the tanh approximation of GELU, which GPT-2 uses. It is off by up to 5e-4 per "
        "number; these weights were trained with the exact GELU, torch's default.",
        {"activation": lambda self, x: F.gelu(x, approximate="tanh")},
    ),
    DefaultEps=(
        "The norms have torch's default `eps`, 1e-5. BERT has 1e-12, and the difference shows on inputs of "
        "small variance. Pass it to both norms.",
        {"eps": (1e-5, 1e-5)},
    ),
    DefaultEpsInNorm2=(
        "`norm2` has torch's default `eps`, 1e-5, so it is wrong where its input has a small variance. Pass "
        "1e-12 to both norms.",
        {"eps": (1e-12, 1e-5)},
    ),
    DefaultEpsInNorm1=(
        "`norm1` has torch's default `eps`, 1e-5, so it is wrong where its input has a small variance. Pass "
        "1e-12 to both norms.",
        {"eps": (1e-5, 1e-12)},
    ),
    MillionthForEps=(
        "`eps` of both norms is 1e-6, a common number elsewhere. BERT has 1e-12, and the difference shows on "
        "inputs of small variance.",
        {"eps": (1e-6, 1e-6)},
    ),
    EpsOfOptimizers=(
        "`eps` of both norms is 1e-8. BERT has 1e-12, and the difference shows on inputs of small variance.",
        {"eps": (1e-8, 1e-8)},
    ),
    DropoutActive=(
        "In training mode the result is random: there is dropout in the block. This block has none; its "
        "result is the same in both modes.",
        {"activation": lambda self, x: F.dropout(F.gelu(x), 0.1, self.training)},
    ),
    AttentionWithoutBias=(
        "The attention has no biases: `attention.query.bias` and three others are missing from the "
        "state_dict. Make it with bias=True.",
        {"has_bias": False},
    ),
    NormsExchanged=(
        "The norms have changed places: `norm1` belongs after the attention, `norm2` after the feed-forward "
        "part.",
        {
            "first": lambda self, x, mask: self.norm2(x + self.attend(x, mask)),
            "second": lambda self, x: self.norm1(x + self.feed_forward(x)),
        },
    ),
    IgnoresTheMask=(
        "The mask is not used, so hidden tokens are attended to. Pass it to the attention.",
        {"attend": lambda self, x, mask: self.attention(x)[0]},
    ),
    MaskInverted=(
        "The mask is inverted before it reaches the attention. In this course True = may attend, and lesson "
        "6's layer expects the same: pass it on as it is.",
        {"attend": lambda self, x, mask: self.attention(x, mask=None if mask is None else ~mask)[0]},
    ),
    AddsThePair=(
        "The attention returns a pair, (output, weights), and a pair cannot be added to `x`. Take the output "
        "of the two.",
        {"attend": lambda self, x, mask: self.attention(x, mask=mask)},
    ),
    NormOverTheTokens=(
        "The norm is taken over the tokens of a text instead of over the E numbers of each token. A "
        "LayerNorm looks at the last axis only.",
        {"normalise": _over_the_tokens},
    ),
    PreNorm=(
        "This is pre-norm: the norms come before attention and feed-forward, as in GPT-2. BERT is post-norm: "
        "compute, add, then normalise the sum.",
        {
            "first": lambda self, x, mask: x + self.attend(self.norm1(x), mask),
            "second": lambda self, x: x + self.feed_forward(self.norm2(x)),
        },
    ),
    SecondResidualFromTheSum=(
        "The second residual adds the sum from before `norm1`. It should add what the second half was given: "
        "the result of `norm1`.",
        {
            "first": lambda self, x, mask: x + self.attend(x, mask),
            "second": lambda self, added: self.norm2(added + self.feed_forward(self.norm1(added))),
        },
    ),
    FeedForwardFirst=(
        "The feed-forward part comes first and the attention second. The order is attention, `norm1`, "
        "feed-forward, `norm2`.",
        {"forward": lambda self, x, mask=None: self.first(self.second(x), mask)},
    ),
    FirstResidualDetached=(
        "The gradient of `x` lacks the way past the attention: the `x` that is added there was detached.",
        {"first": lambda self, x, mask: self.norm1(x.detach() + self.attend(x, mask))},
    ),
    SecondResidualDetached=(
        "Gradients lack the way past the feed-forward part: the `x` that is added there was detached.",
        {"second": lambda self, x: self.norm2(x.detach() + self.feed_forward(x))},
    ),
)


def _with_heads(attention, count, x, mask):
    heads = attention.num_heads
    attention.num_heads = count(heads, x.shape[-1])
    output, _ = attention(x, mask=mask)
    attention.num_heads = heads
    return output


def _halves(first=None, second=None):
    """Halves by functions of (x, part, norm): what goes in, attention or feed-forward, and its norm."""
    steps = {
        "first": first and (lambda self, x, mask: first(x, lambda y: self.attend(y, mask), self.norm1)),
        "second": second and (lambda self, x: second(x, self.feed_forward, self.norm2)),
    }
    return {name: step for name, step in steps.items() if step}


HALVES = {
    "{} were pre-norm: x + part(norm(x))": lambda x, part, norm: x + part(norm(x)),
    "{} had the norm before the sum: x + norm(part(x))": lambda x, part, norm: x + norm(part(x)),
    "{} normalised only x: norm(x) + part(x)": lambda x, part, norm: norm(x) + part(x),
    "{} normalised twice, norm(x + part(norm(x)))": lambda x, part, norm: norm(x + part(norm(x))),
    "{} began and ended with its norm": lambda x, part, norm: norm(norm(x) + part(norm(x))),
    "{} had its norm twice in a row": lambda x, part, norm: norm(norm(x + part(x))),
    "{} added x once more, behind its norm": lambda x, part, norm: x + norm(x + part(x)),
    "{} did not add x": lambda x, part, norm: norm(part(x)),
    "{} added norm(x) to part(norm(x)), with no norm behind it": lambda x, part, norm: (
        norm(x) + part(norm(x))
    ),
    "{} ran twice": lambda x, part, norm: norm(norm(x + part(x)) + part(norm(x + part(x)))),
    "{} had no norm": lambda x, part, norm: x + part(x),
    "{} were left out, and its norm kept": lambda x, part, norm: norm(x),
    "{} added x twice": lambda x, part, norm: norm(2 * x + part(x)),
    "{} added its part twice": lambda x, part, norm: norm(x + 2 * part(x)),
    "{} subtracted its part": lambda x, part, norm: norm(x - part(x)),
    "{} multiplied x and its part": lambda x, part, norm: norm(x * part(x)),
    "{} applied its part twice": lambda x, part, norm: norm(x + part(part(x))),
    "{} halved the sum before its norm": lambda x, part, norm: norm((x + part(x)) / 2),
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
    "{} were taken over the tokens": lambda s: F.layer_norm(s.mT, (s.shape[1],)).mT,
    "{} were taken over a whole text": lambda s: F.layer_norm(s, s.shape[-2:]),
}
HALVES |= {
    clause: lambda x, part, norm, normed=normed: normed(x + part(x)) * norm.weight + norm.bias
    for clause, normed in NORMS.items()
}
transformer_block.causes_in_steps(
    Right,
    {
        clause.format(which): _halves(*pair)
        for clause, half in HALVES.items()
        for which, pair in (
            ("the first half", (half, None)),
            ("the second half", (None, half)),
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
            "x · (1 + erf(x/√2)) / 2 without its √2": lambda x: x * (1 + torch.erf(x)) / 2,
            "x · (1 + erf(x/√2)), without its half": lambda x: x * (1 + torch.erf(x / 2**0.5)),
            "tanh's approximation of GELU with 0.44715 for 0.044715": lambda x: (
                x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.44715 * x**3))) / 2
            ),
            "GELU with a layer norm behind it": lambda x: F.layer_norm(F.gelu(x), x.shape[-1:]),
            "GELU, twice": lambda x: F.gelu(F.gelu(x)),
        }.items()
    }
    | {
        "GELU came before `linear1`": {"feed_forward": lambda self, x: self.linear2(self.linear1(F.gelu(x)))},
        "the activation were SiLU": {"activation": lambda self, x: F.silu(x)},
        "there were no activation between `linear1` and `linear2`": {"activation": lambda self, x: x},
        "GELU came after `linear2`, and not before it": {
            "feed_forward": lambda self, x: F.gelu(self.linear2(self.linear1(x)))
        },
        "the attention had one head only": {
            "attend": lambda self, x, mask: _with_heads(self.attention, lambda heads, width: 1, x, mask)
        },
        "the attention had as many heads as a head has numbers": {
            "attend": lambda self, x, mask: _with_heads(
                self.attention, lambda heads, width: width // heads, x, mask
            )
        },
        "the attention's averaged weights were multiplied with x": {
            "attend": lambda self, x, mask: self.attention(x, mask=mask)[1] @ x
        },
        "the queries alone were normalised before the attention": {
            "attend": lambda self, x, mask: self.attention(self.norm1(x), x, x, mask)[0]
        },
        "the values alone were normalised before the attention": {
            "attend": lambda self, x, mask: self.attention(x, x, self.norm1(x), mask)[0]
        },
        "keys and values alone were normalised before the attention": {
            "attend": lambda self, x, mask: self.attention(x, self.norm1(x), None, mask)[0]
        },
        "the feed-forward part read `norm1` of what `norm1` gave": {
            "second": lambda self, x: self.norm2(x + self.feed_forward(self.norm1(x)))
        },
        "the attention's output were added in the second half again": {
            "forward": lambda self, x, mask=None: (
                lambda y: self.norm2(y + self.attend(x, mask) + self.feed_forward(y))
            )(self.first(x, mask))
        },
        "the block's input were added in the second half again": {
            "forward": lambda self, x, mask=None: (lambda y: self.norm2(x + y + self.feed_forward(y)))(
                self.first(x, mask)
            )
        },
        "the second half added the block's own input": {
            "forward": lambda self, x, mask=None: self.norm2(x + self.feed_forward(self.first(x, mask)))
        },
        "the feed-forward part read the block's input": {
            "forward": lambda self, x, mask=None: self.norm2(self.first(x, mask) + self.feed_forward(x))
        },
        "`norm1` were applied twice and `norm2` never": {
            "second": lambda self, x: self.norm1(x + self.feed_forward(x))
        },
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
