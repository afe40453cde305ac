"""The exercise `DecoderBlock`, and the mistakes it can name."""

from dataclasses import replace

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.authoring import Exercise, add_mistakes, build, case

from .grouped_rotary_attention import walking
from .layers import OF_ANGLES, Attention, Block, ModelDraw, Norm, attention_state

decoder_block = Exercise(
    "DecoderBlock",
    results=("x", "cache"),
    axes=(("batch", "new tokens", "embedding"), ("batch", "key/value heads", "tokens", "head size")),
    draw=ModelDraw,
    tolerance=OF_ANGLES,
)

# Width, query heads, key/value heads.
LARGE, SMALL, SHARED = (14 * 18, 14, 7), (10 * 4, 10, 5), (7 * 14, 7, 1)


def _state(draw, sizes, hidden_dim):
    """Random weights under the nine names."""
    width, heads, kv_heads = sizes
    state = {f"{norm}.weight": draw.normal(width) for norm in ("norm1", "norm2")}
    attention = attention_state(draw, width, width // heads * kv_heads)
    state |= {f"attention.{name}": weight for name, weight in attention.items()}
    for name, rows in (("gate", hidden_dim), ("up", hidden_dim), ("down", width)):
        state[f"mlp.{name}.weight"] = draw.linear(rows, width if rows == hidden_dim else hidden_dim)
    return state


def _case(draw, sizes, past=False, double=False, gradients=False, size=1.0, change=None, **given):
    width, heads, kv_heads = sizes
    batch, length, before, hidden_dim = draw.shuffled((11, 13, 15, 17))
    dtype = torch.float64 if double else torch.float32
    state = _state(draw, sizes, hidden_dim)
    if change is not None:
        change(state)
    block = build(*sizes, hidden_dim, state=state, double=double, **given)
    x = draw.normal(batch, length, width, dtype=dtype) * size
    shape = batch, kv_heads, before, width // heads
    caches = [tuple(draw.normal(*shape, dtype=dtype) for _ in range(2))] if past else []
    return case(x, *caches, build=block, gradients=gradients)


@decoder_block.group("its nine weights, and nothing else in its state_dict", points=0.5)
def parameters(draw):
    for sizes, hidden_dim in zip((LARGE, SHARED), draw.shuffled((13, 15)), strict=True):
        yield case(build=build(*sizes, hidden_dim, look=("parameters", "buffers")))


@decoder_block.group("a whole text", points=2)
def whole_text(draw):
    yield _case(draw, SHARED)
    yield _case(draw, SMALL, double=True)


@decoder_block.group("behind a cache, and in pieces", points=2)
def behind_a_cache(draw):
    yield _case(draw, SHARED, past=True)
    yield _case(draw, SMALL, past=True, double=True)
    (hidden_dim,) = draw.sizes(1)
    for lengths in (draw.shuffled((1, 3, 4)), [1] * 5):
        x = draw.normal(3, sum(lengths), SMALL[0])
        yield case(x, [*SMALL, hidden_dim], _state(draw, SMALL, hidden_dim), lengths, through=walking)


@decoder_block.group("another base and another eps; equal sizes", points=1)
def settings(draw):
    yield _case(draw, SHARED, past=True, base=100.0)
    yield _case(draw, SHARED, base=500.0, eps=0.5)
    yield _case(draw, SMALL, eps=0.25)
    yield case(draw.normal(8, 8, 8), build=build(8, 4, 2, 8, 300.0, 0.75, state=_state(draw, (8, 4, 2), 8)))
    yield case(draw.normal(1, 1, 8), build=build(8, 4, 2, 8, state=_state(draw, (8, 4, 2), 8)))


def _silent_attention(state):
    """Attention returns 0, so that the second norm has small inputs, too."""
    state["attention.output.weight"] = torch.zeros_like(state["attention.output.weight"])


def _enlarged(state):
    """What the small inputs of the second norm become is large enough to be seen."""
    _silent_attention(state)
    state["mlp.down.weight"] = state["mlp.down.weight"] * 2.0**10


@decoder_block.group("small inputs: eps in both norms", points=0.5)
def small(draw):
    yield _case(draw, SHARED, double=True, size=2.0**-9)
    yield _case(draw, SHARED, double=True, size=2.0**-9, change=_enlarged)
    yield _case(draw, SMALL, double=True, size=2.0**-9, change=_silent_attention, eps=1e-3)


def _the_same_in_both_modes(cases, values):
    """Training mode twice, evaluation mode once: None, a mistake's name or a sentence."""
    shape = cases[0].args[0].shape
    results = [value[0] if isinstance(value, (tuple, list)) and value else value for value in values]
    if not all(isinstance(result, torch.Tensor) and result.shape == shape for result in results):
        return f"`DecoderBlock` does not return an x of shape {tuple(shape)} and a cache."
    training, repeated, evaluation = results
    if not torch.allclose(training, repeated, rtol=1e-6, atol=1e-9):
        return "DropoutActive"
    if not torch.allclose(training, evaluation, rtol=1e-6, atol=1e-9):
        return "`DecoderBlock` gives other results in evaluation mode: it is to be the same in both."
    return None


@decoder_block.group(
    "training and evaluation mode agree", points=0.5, verify=_the_same_in_both_modes, withhold_points=True
)
def both_modes(draw):
    training = _case(draw, SHARED, double=True)
    yield training
    yield training
    yield case(*training.args, build=replace(training.build, eval=True))


@decoder_block.group("gradients, also through the cache", points=1)
def gradients(draw):
    yield _case(draw, SHARED, double=True, gradients=True)
    yield _case(draw, SMALL, past=True, gradients=True)


@decoder_block.group("with the weights it draws itself", points=0.5, fresh=True)
def own_weights(draw):
    batch, length, hidden_dim = draw.shuffled((11, 13, 15))
    fresh = build(*SHARED, hidden_dim, look=("result", "state"))
    yield case(2 * draw.normal(batch, length, SHARED[0]), build=fresh)


@decoder_block.accepted_alternative(
    "Both sums change a tensor of their own in place, and leave the input alone. "
    "(A sketch: `Block` does the rest.)"
)
class SumsInPlace(Block):
    def add(self, norm, x, found):
        return found.add_(x)


@decoder_block.accepted_alternative(
    "A list of the two changes: longer, and easier to log or measure. (A sketch: `Block` makes the parts.)"
)
class AsChanges(Block):
    def forward(self, x, cache=None):
        change, cache = self.attention(self.norm1(x), cache=cache)
        changes = [change]
        changes.append(self.mlp(self.norm2(torch.add(x, changes[0]))))
        return x + sum(changes), cache


add_mistakes(
    decoder_block,
    Block,
    OneNormForBoth=(
        "Both norms are one layer, so they share a weight. Make two, as in a checkpoint.",
        {"norms": lambda self, *given: [Norm(*given)] * 2},
    ),
    AllHeadsTheirOwn=(
        "The attention has as many key/value heads as query heads. Pass on `num_heads` and `num_kv_heads`.",
        {"attention_of": lambda self, width, heads, kv_heads, base: Attention(width, heads, heads, base)},
    ),
    BaseIgnored=(
        "`base` changes nothing: the attention is made with its default. Pass it on.",
        {"attention_of": lambda self, *given: Attention(*given[:3])},
    ),
    DropoutActive=(
        "In training mode the result is random: there is dropout in the block. This block has none.",
        {"second": lambda self, x, before: x + F.dropout(self.mlp(self.norm2(x)), 0.1, self.training)},
    ),
    LayerNorms=(
        "The norms are nn.LayerNorm, which subtracts the mean and has a bias. Use your `RMSNorm`.",
        {"norms": lambda self, *given: (nn.LayerNorm(*given), nn.LayerNorm(*given))},
    ),
    EpsIgnored=(
        "`eps` changes nothing: both norms are made with their default. Pass it to both.",
        {"norms": lambda self, embed_dim, eps: (Norm(embed_dim), Norm(embed_dim))},
    ),
    PostNorm=(
        "This is post-norm, lesson 13's block. Here the norms come first, and the sum stays as it is.",
        {"read": lambda self, norm, x: x, "add": lambda self, norm, x, found: norm(x + found)},
    ),
    ResidualFromTheNorm=(
        "Each half adds its result to the normalised x. Add it to x as it was.",
        {"add": lambda self, norm, x, found: norm(x) + found},
    ),
    FirstResidualFromTheNorm=(
        "The attention's result is added to the normalised x. Add it to x as it was.",
        {"add": lambda self, norm, x, found: (norm(x) if norm is self.norm1 else x) + found},
    ),
    SecondResidualFromTheNorm=(
        "The MLP's result is added to the normalised x. Add it to x as it was.",
        {"add": lambda self, norm, x, found: (norm(x) if norm is self.norm2 else x) + found},
    ),
    NoFirstResidual=(
        "The attention's result replaces x, and should be added to it.",
        {"add": lambda self, norm, x, found: found if norm is self.norm1 else x + found},
    ),
    NoSecondResidual=(
        "The MLP's result replaces x, and should be added to it.",
        {"add": lambda self, norm, x, found: found if norm is self.norm2 else x + found},
    ),
    SecondResidualFromTheInput=(
        "The second half adds to the block's input. Add to what the first half made.",
        {"second": lambda self, x, before: before + self.mlp(self.norm2(x))},
    ),
    Parallel=(
        "Attention and MLP both read the block's input. Here the MLP reads what the first half made.",
        {"second": lambda self, x, before: x + self.mlp(self.norm2(before))},
    ),
    MlpOfTheChange=(
        "The MLP reads only what the attention returned. It reads the sum of that and x, normalised.",
        {"second": lambda self, x, before: x + self.mlp(self.norm2(x - before))},
    ),
    MlpFirst=(
        "The MLP comes first and the attention second. The order is attention, then MLP.",
        {"forward": lambda self, x, cache=None: self.first(self.second(x, x), cache)},
    ),
    NoFirstNorm=(
        "`norm1` is made and not used. Normalise what the attention reads.",
        {"read": lambda self, norm, x: x if norm is self.norm1 else norm(x)},
    ),
    NoSecondNorm=(
        "`norm2` is made and not used. Normalise what the MLP reads.",
        {"read": lambda self, norm, x: x if norm is self.norm2 else norm(x)},
    ),
    NormsExchanged=(
        "The norms have changed places: `norm1` belongs before the attention, `norm2` before the MLP.",
        {"read": lambda self, norm, x: self.norm2(x) if norm is self.norm1 else self.norm1(x)},
    ),
    CacheNotHandedOn=(
        "The attention is called without the cache, so new tokens do not see the past. Hand it on.",
        {"attend": lambda self, x, cache: self.attention(x)},
    ),
    OldCacheReturned=(
        "The new tokens are not in the cache that you return. Return the one that the attention returns.",
        {"attend": lambda self, x, cache: (self.attention(x, cache)[0], cache)},
    ),
    OutputOnly=(
        "You return x only. Return a pair, (x, cache): the next call needs the cache.",
        {"forward": lambda self, x, cache=None: Block.forward(self, x, cache)[0]},
    ),
    AddsThePair=(
        "The attention returns a pair, and a pair cannot be added to `x`. Take the output of the two.",
        {"attend": lambda self, x, cache: (self.attention(x, cache), cache)},
    ),
    WritesIntoX=(
        "The result is right, but x was written into, by `+=` perhaps. Make a new tensor.",
        {
            "forward": lambda self, x, cache=None: (lambda y: (x.data.copy_(y[0]), y)[1])(
                Block.forward(self, x, cache)
            )
        },
    ),
)
