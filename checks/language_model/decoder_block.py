"""The exercise `DecoderBlock`, and the mistakes it can name."""

from dataclasses import replace

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.authoring import SUMS_OF_PRODUCTS, Exercise, Tolerance, add_mistakes, build, case
from attention_lab.authoring.causes import add_causes

from .grouped_rotary_attention import in_pieces
from .layers import Block, ModelDraw, Norm

decoder_block = Exercise(
    "DecoderBlock",
    results=("x", "cache"),
    axes=(("batch", "new tokens", "embedding"), ("batch", "key/value heads", "tokens", "head size")),
    draw=ModelDraw,
    # Angles made in float32 are right, whatever the dtype of x.
    tolerance=Tolerance(float32=SUMS_OF_PRODUCTS.float32, float64=SUMS_OF_PRODUCTS.float32),
)

# Width, query heads, key/value heads.
LARGE, SMALL, SHARED = (14 * 18, 14, 7), (10 * 4, 10, 5), (7 * 14, 7, 1)


def _state(draw, sizes, hidden_dim):
    """Random weights under the nine names."""
    width, heads, kv_heads = sizes
    kv_width = width // heads * kv_heads
    state = {f"{norm}.weight": draw.normal(width) for norm in ("norm1", "norm2")}
    for name, rows in (("query", width), ("key", kv_width), ("value", kv_width), ("output", width)):
        state[f"attention.{name}.weight"] = draw.linear(rows, width)
    for name, shape in (
        ("gate", (hidden_dim, width)),
        ("up", (hidden_dim, width)),
        ("down", (width, hidden_dim)),
    ):
        state[f"mlp.{name}.weight"] = draw.linear(*shape)
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
        yield case(x, [*SMALL, hidden_dim], _state(draw, SMALL, hidden_dim), lengths, through=in_pieces)


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
    results = [value[0] if isinstance(value, (tuple, list)) and value else value for value in values]
    for each, result in zip(cases, results, strict=True):
        if not isinstance(result, torch.Tensor) or result.shape != each.args[0].shape:
            return f"`DecoderBlock` does not return an x of shape {tuple(each.args[0].shape)} and a cache."
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
    "Both sums change a tensor of their own in place, which saves one tensor the size of the batch each; "
    "the input itself is left alone. (Only the sums are shown.)"
)
class SumsInPlace(Block):
    def first(self, x, cache):
        attended, cache = self.attention(self.norm1(x), cache=cache)
        return attended.add_(x), cache

    def second(self, x, before):
        return self.mlp(self.norm2(x)).add_(x)


@decoder_block.accepted_alternative(
    "A list of the two changes, each with its norm: longer, and where a stream is logged or measured, each "
    "change has one place. (Only this step is shown.)"
)
class AsChanges(Block):
    def forward(self, x, cache=None):
        change, cache = self.attention(self.norm1(x), cache)
        changes = [change]
        changes.append(self.mlp(self.norm2(torch.add(x, changes[0]))))
        return [x + sum(changes), cache]


@decoder_block.mistake(
    "In training mode the result is random: there is dropout in the block. This block has none; its result "
    "is the same in both modes."
)
class DropoutActive(Block):
    def second(self, x, before):
        return x + F.dropout(self.mlp(self.norm2(x)), 0.1, self.training)


@decoder_block.mistake(
    "Both norms are one layer, under two names or under one, so they share a weight. Make two: a checkpoint "
    "has a weight for each."
)
class OneNormForBoth(Block):
    def __init__(self, embed_dim, num_heads, num_kv_heads, hidden_dim, base=10000.0, eps=1e-5):
        super().__init__(embed_dim, num_heads, num_kv_heads, hidden_dim, base, eps)
        self.norm2 = self.norm1


@decoder_block.mistake(
    "The norms are nn.LayerNorm, which subtracts the mean and has a bias that no checkpoint of this model "
    "holds. Use your `RMSNorm`."
)
class LayerNorms(Block):
    def __init__(self, embed_dim, num_heads, num_kv_heads, hidden_dim, base=10000.0, eps=1e-5):
        super().__init__(embed_dim, num_heads, num_kv_heads, hidden_dim, base, eps)
        self.norm1, self.norm2 = nn.LayerNorm(embed_dim, eps), nn.LayerNorm(embed_dim, eps)


@decoder_block.mistake(
    "There is a third norm, so the state_dict holds a tensor too many. The norm behind the last block "
    "belongs to the model, and not to its blocks."
)
class ThirdNorm(Block):
    def __init__(self, embed_dim, num_heads, num_kv_heads, hidden_dim, base=10000.0, eps=1e-5):
        super().__init__(embed_dim, num_heads, num_kv_heads, hidden_dim, base, eps)
        self.norm3 = Norm(embed_dim, eps)

    def second(self, x, before):
        return self.norm3(super().second(x, before))


@decoder_block.mistake(
    "The MLP is lesson 13's feed-forward part, with `linear1` and `linear2`. This model has three "
    "projections and a gate: use your `GatedMLP` as `mlp`."
)
class PlainFeedForward(Block):
    def __init__(self, embed_dim, num_heads, num_kv_heads, hidden_dim, base=10000.0, eps=1e-5):
        super().__init__(embed_dim, num_heads, num_kv_heads, hidden_dim, base, eps)
        del self.mlp
        self.linear1, self.linear2 = nn.Linear(embed_dim, hidden_dim), nn.Linear(hidden_dim, embed_dim)

    def mlp(self, x):
        return self.linear2(F.gelu(self.linear1(x)))


@decoder_block.mistake(
    "`num_kv_heads` is not used: the attention is made with as many key/value heads as query heads, so the "
    "checkpoint does not fit. Pass it on."
)
class AllHeadsTheirOwn(Block):
    def __init__(self, embed_dim, num_heads, num_kv_heads, hidden_dim, base=10000.0, eps=1e-5):
        super().__init__(embed_dim, num_heads, num_heads, hidden_dim, base, eps)


def _init(change):
    """The constructor, with arguments changed before they are used."""

    def __init__(self, embed_dim, num_heads, num_kv_heads, hidden_dim, base=10000.0, eps=1e-5):
        Block.__init__(self, embed_dim, num_heads, num_kv_heads, hidden_dim, **change(base, eps))

    return __init__


def _default_eps_of(name):
    def __init__(self, embed_dim, num_heads, num_kv_heads, hidden_dim, base=10000.0, eps=1e-5):
        Block.__init__(self, embed_dim, num_heads, num_kv_heads, hidden_dim, base, eps)
        setattr(self, name, Norm(embed_dim))

    return __init__


def _with_first(changed):
    """The first half; `changed` gets the layer, its input and what the attention is called with."""

    def first(self, x, cache):
        attended, cache = self.attention(changed(self, x), cache)
        return x + attended, cache

    return first


class PostNorm(Block):
    def first(self, x, cache):
        attended, cache = self.attention(x, cache)
        return self.norm1(x + attended), cache

    def second(self, x, before):
        return self.norm2(x + self.mlp(x))


class NormOfTheResult(Block):
    def first(self, x, cache):
        attended, cache = self.attention(x, cache)
        return x + self.norm1(attended), cache

    def second(self, x, before):
        return x + self.norm2(self.mlp(x))


class ResidualFromTheNorm(Block):
    def first(self, x, cache):
        x = self.norm1(x)
        attended, cache = self.attention(x, cache)
        return x + attended, cache

    def second(self, x, before):
        x = self.norm2(x)
        return x + self.mlp(x)


class MlpFirst(Block):
    def forward(self, x, cache=None):
        return self.first(self.second(x, x), cache)


class Parallel(Block):
    def second(self, x, before):
        return x + self.mlp(self.norm2(before))


class NoFirstResidual(Block):
    def first(self, x, cache):
        return self.attention(self.norm1(x), cache)


class NormsExchanged(Block):
    def first(self, x, cache):
        attended, cache = self.attention(self.norm2(x), cache)
        return x + attended, cache

    def second(self, x, before):
        return x + self.mlp(self.norm1(x))


add_mistakes(
    decoder_block,
    Block,
    PostNorm=(
        "This is post-norm, lesson 13's block: the norms come after the sums. Here they come first: each "
        "half reads a normalised x, and the sum itself stays as it is.",
        {"first": PostNorm.first, "second": PostNorm.second},
    ),
    NormOfTheResult=(
        "The norms are taken of what attention and MLP return. They belong before them: normalise what a "
        "half reads, and add what it returns as it is.",
        {"first": NormOfTheResult.first, "second": NormOfTheResult.second},
    ),
    ResidualFromTheNorm=(
        "Each half adds its result to the normalised x. Add it to x as it was: the stream itself is never "
        "normalised.",
        {"first": ResidualFromTheNorm.first, "second": ResidualFromTheNorm.second},
    ),
    FirstResidualFromTheNorm=(
        "The first half adds the attention's result to the normalised x. Add it to x as it was: the stream "
        "itself is never normalised.",
        {"first": ResidualFromTheNorm.first},
    ),
    SecondResidualFromTheNorm=(
        "The second half adds the MLP's result to the normalised x. Add it to x as the first half left it: "
        "the stream itself is never normalised.",
        {"second": ResidualFromTheNorm.second},
    ),
    NoResiduals=(
        "Nothing is added: each half replaces x by what it finds. Add what attention and MLP return to x.",
        {"first": NoFirstResidual.first, "second": lambda self, x, before: self.mlp(self.norm2(x))},
    ),
    NoFirstResidual=(
        "The attention's result replaces x, and should be added to it.",
        {"first": NoFirstResidual.first},
    ),
    NoSecondResidual=(
        "The MLP's result replaces x, and should be added to it.",
        {"second": lambda self, x, before: self.mlp(self.norm2(x))},
    ),
    SecondResidualFromTheInput=(
        "The second half adds to the block's input, so what the attention found is lost. Add to what the "
        "first half made.",
        {"second": lambda self, x, before: before + self.mlp(self.norm2(x))},
    ),
    FirstResidualTwice=(
        "The block's input is added in both halves. The second adds only what the first one made.",
        {"second": lambda self, x, before: before + Block.second(self, x, before)},
    ),
    MlpReadsTheFirstNorm=(
        "The MLP reads what the attention read, the result of `norm1`. It reads the sum, through `norm2`.",
        {"second": lambda self, x, before: x + self.mlp(self.norm1(before))},
    ),
    Parallel=(
        "Attention and MLP both read the block's input, as in some other models. Here they follow each "
        "other: the MLP reads what the first half made.",
        {"second": Parallel.second},
    ),
    MlpFirst=(
        "The MLP comes first and the attention second. The order is attention, then MLP.",
        {"forward": MlpFirst.forward},
    ),
    NoNorms=(
        "The norms are made and not used. Normalise what the attention reads with `norm1`, and what the MLP "
        "reads with `norm2`.",
        {"first": _with_first(lambda self, x: x), "second": lambda self, x, before: x + self.mlp(x)},
    ),
    NoFirstNorm=(
        "`norm1` is made and not used. Normalise what the attention reads.",
        {"first": _with_first(lambda self, x: x)},
    ),
    NoSecondNorm=(
        "`norm2` is made and not used. Normalise what the MLP reads.",
        {"second": lambda self, x, before: x + self.mlp(x)},
    ),
    NormsExchanged=(
        "The norms have changed places: `norm1` belongs before the attention, `norm2` before the MLP.",
        {"first": NormsExchanged.first, "second": NormsExchanged.second},
    ),
    FirstNormTwice=(
        "`norm1` is used in both halves. The MLP has a norm of its own, `norm2`.",
        {"second": NormsExchanged.second},
    ),
    SecondNormTwice=(
        "`norm2` is used in both halves. The attention has a norm of its own, `norm1`.",
        {"first": NormsExchanged.first},
    ),
    NoAttention=(
        "What the attention returns is thrown away, its cache apart. Add it to x.",
        {"first": lambda self, x, cache: (x, self.attention(self.norm1(x), cache)[1])},
    ),
    NoMlp=(
        "The second half is missing: x is returned as the first half left it. Add what the MLP returns.",
        {"second": lambda self, x, before: x},
    ),
    CacheNotHandedOn=(
        "The attention is called without the cache, so new tokens do not see the past. Hand it on.",
        {"first": lambda self, x, cache: Block.first(self, x, None)},
    ),
    OldCacheReturned=(
        "The cache that was passed in is returned: the new tokens are not in it. Return the one that the "
        "attention returns.",
        {"returned_cache": lambda self, old, total: old},
    ),
    NoCacheAtFirst=(
        "You return no cache if none was passed in, so generation cannot continue after the prompt. Return "
        "the attention's in any case.",
        {"returned_cache": lambda self, old, total: None if old is None else total},
    ),
    OutputOnly=(
        "You return x only. Return a pair, (x, cache): the next call needs the cache.",
        {"forward": lambda self, x, cache=None: Block.forward(self, x, cache)[0]},
    ),
    ReturnedInTheWrongOrder=(
        "You return (cache, x). The order is (x, cache), as in the attention.",
        {"forward": lambda self, x, cache=None: Block.forward(self, x, cache)[::-1]},
    ),
    AddsThePair=(
        "The attention returns a pair, (output, cache), and a pair cannot be added to `x`. Take the output "
        "of the two.",
        {"first": lambda self, x, cache: (x + self.attention(self.norm1(x), cache), cache)},
    ),
    BaseIgnored=(
        "`base` changes nothing: the attention is made with its default. Pass it on.",
        {"__init__": _init(lambda base, eps: {"eps": eps})},
    ),
    EpsIgnored=(
        "`eps` changes nothing: both norms are made with their default. Pass it to both.",
        {"__init__": _init(lambda base, eps: {"base": base})},
    ),
    EpsIgnoredInNorm1=(
        "`eps` changes nothing in `norm1`, which is made with its default. Pass it to both norms.",
        {"__init__": _default_eps_of("norm1")},
    ),
    EpsIgnoredInNorm2=(
        "`eps` changes nothing in `norm2`, which is made with its default. Pass it to both norms.",
        {"__init__": _default_eps_of("norm2")},
    ),
    WrongDefaultEps=(
        "Without `eps`, both norms have 1e-6, as in some other models. The default of this block is 1e-5.",
        {
            "__init__": lambda self, embed_dim, num_heads, num_kv_heads, hidden_dim, base=10000.0, eps=1e-6: (
                Block.__init__(self, embed_dim, num_heads, num_kv_heads, hidden_dim, base, eps)
            )
        },
    ),
    ModelsBaseByDefault=(
        "Without `base`, 100,000 is used, this model's. The default of the block is 10,000; the model "
        "passes its own.",
        {
            "__init__": lambda self, embed_dim, num_heads, num_kv_heads, hidden_dim, base=1e5, eps=1e-5: (
                Block.__init__(self, embed_dim, num_heads, num_kv_heads, hidden_dim, base, eps)
            )
        },
    ),
    WritesIntoX=(
        "The result is right, but x itself was written into, by `+=` perhaps. The caller may still need it: "
        "make a new tensor.",
        {
            "forward": lambda self, x, cache=None: (lambda y: (x.data.copy_(y[0]), y)[1])(
                Block.forward(self, x, cache)
            )
        },
    ),
)


add_causes(
    decoder_block,
    Block,
    {
        "the attention's result were added twice": {
            "first": lambda self, x, cache: (lambda y, c: (2 * y - x, c))(*Block.first(self, x, cache))
        },
        "the MLP's result were added twice": {
            "second": lambda self, x, before: x + 2 * self.mlp(self.norm2(x))
        },
        "the MLP read the attention's result alone": {
            "second": lambda self, x, before: x + self.mlp(self.norm2(x - before))
        },
        "`norm1` were applied twice": {"first": _with_first(lambda self, x: self.norm1(self.norm1(x)))},
        "both sums were halved": {"second": lambda self, x, before: Block.second(self, x, before) / 2},
        "the result were normalised as well": {
            "second": lambda self, x, before: self.norm2(Block.second(self, x, before))
        },
        "the MLP came twice": {
            "second": lambda self, x, before: Block.second(self, Block.second(self, x, before), before)
        },
    },
)
