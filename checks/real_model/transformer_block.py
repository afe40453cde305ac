"""The exercise `TransformerBlock`, and right answers written in other ways."""

import math
from dataclasses import replace

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.authoring import SUMS_OF_PRODUCTS, Exercise, SmallLayerDraw, build, case

transformer_block = Exercise(
    "TransformerBlock",
    results=("output",),
    axes=(("batch", "tokens", "embedding"),),
    tolerance=SUMS_OF_PRODUCTS,
    draw=SmallLayerDraw,
)

PROJECTIONS = ("query", "key", "value", "output")


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


class Attention(nn.Module):
    """Lesson 6's layer, correct."""

    def __init__(self, embed_dim, num_heads, bias=True):
        super().__init__()
        self.num_heads = num_heads
        for name in ("query", "key", "value", "output"):
            self.add_module(name, nn.Linear(embed_dim, embed_dim, bias=bias))

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # (B, H, T, D)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        query, key, value = self.query(query), self.key(key), self.value(value)
        query, key, value = self.split(query), self.split(key), self.split(value)
        scores = query @ key.mT / math.sqrt(key.shape[-1])
        if mask is None:
            weights = scores.softmax(dim=-1)
        else:
            mask = mask.unsqueeze(-3)
            weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1).masked_fill(~mask, 0.0)
        return self.output((weights @ value).transpose(1, 2).flatten(2)), weights.mean(dim=1)


class Right(nn.Module):
    """A correct layer; each mistake changes one thing about it."""

    def __init__(self, embed_dim, num_heads, hidden_dim, bias=True, eps=1e-12):
        super().__init__()
        self.attention = Attention(embed_dim, num_heads, bias)
        self.norm1 = nn.LayerNorm(embed_dim, eps=eps)
        self.linear1 = nn.Linear(embed_dim, hidden_dim)
        self.linear2 = nn.Linear(hidden_dim, embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim, eps=eps)

    def attend(self, x, mask):
        return self.attention(x, mask=mask)[0]

    def activation(self, x):
        return F.gelu(x)

    def feed_forward(self, x):
        return self.linear2(self.activation(self.linear1(x)))

    def first(self, x, mask):
        return self.norm1(x + self.attend(x, mask))

    def second(self, x):
        return self.norm2(x + self.feed_forward(x))

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
    def normed(self, norm, x):
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)
        return norm.weight * centred / torch.sqrt(variance + 1e-12) + norm.bias

    def first(self, x, mask):
        return self.normed(self.norm1, x + self.attend(x, mask))

    def second(self, x):
        return self.normed(self.norm2, x + self.feed_forward(x))
