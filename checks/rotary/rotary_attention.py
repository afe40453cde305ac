"""The exercise `RotaryAttention`, and right answers written in other ways."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from attention_lab.authoring import (
    FUSED_ATTENTION,
    SUMS_OF_PRODUCTS,
    Exercise,
    LayerDraw,
    Tolerance,
    build,
    case,
    for_large_scores,
)
from attention_lab.authoring.layers import PROJECTIONS, MultiHeadLayer, RotaryLayer


def state_of(answer):
    """The names in a layer's state_dict, with their shapes in words, after two calls."""

    def named(embed_dim, heads, x):
        layer = answer(embed_dim, heads)
        returned = layer(x)
        pair = isinstance(returned, (tuple, list)) and len(returned) == 2
        cache = returned[1] if pair else None
        if not isinstance(cache, (tuple, list)) or len(cache) != 2 or any(each.dim() != 4 for each in cache):
            raise TypeError("it has to return (output, cache), with a cache (key, value), each (B, H, T, D)")
        layer(x, None, cache)
        return {name: f"shape {tuple(entry.shape)}" for name, entry in layer.state_dict().items()}

    return named


class Rotary(Exercise):
    def describe_array(self, index, name, numbers, expected, case):
        """By how much the new keys of the cache are turned."""
        yield from super().describe_array(index, name, numbers, expected, case)
        if name == "entry 0 of cache" and numbers.ndim == 4 and not numbers.shape[-1] % 2:
            yield from _turns(numbers, expected, case)


def _turns(keys, expected, case):
    past = case.kwargs["cache"][0].shape[2] if case.kwargs.get("cache") else 0
    own, right = (each[..., past:, 0::2] + 1j * each[..., past:, 1::2] for each in (keys, expected))
    turns = own / np.where(right == 0, 1, right)  # by how much too far
    more = np.median(turns.real, (0, 1)) + 1j * np.median(turns.imag, (0, 1))
    length, half = more.shape
    if (
        length < 2
        or not np.allclose(abs(more), 1, atol=1e-2)
        or not np.allclose(more * right, own, atol=1e-2)
    ):
        return  # it is no turn, or not the same in all heads and texts
    base = case.build.kwargs.get("base", 10000.0)
    speeds = base ** -(np.arange(half) / half)
    steps = np.angle(more[1:] / more[:-1] * np.exp(1j * speeds))
    if np.ptp(steps, axis=0).max() > 1e-2:
        place, pair = np.unravel_index(np.argmax(abs(np.angle(more))), more.shape)
        by = f"{np.angle(more[place, pair]):.3g}"
        yield f"The new key {place} in the cache is turned too far by {by} in pair {pair} (in radians)."
        return
    found = np.median(steps, axis=0)
    factors = found / speeds
    if np.allclose(factors, 1, atol=1e-2):
        for offset in sorted(range(-LONGEST, LONGEST), key=abs):
            if np.allclose(more, np.exp(1j * offset * speeds), atol=1e-2):
                yield (
                    "The first new key in the cache is turned as if it were at position "
                    f"{past + offset}, and it is at {past}; the others follow it."
                )
                return
    elif np.allclose(factors, factors[0], rtol=1e-2):
        yield f"The new keys in the cache are turned by {factors[0]:.4g} times the angles that are right."
    else:
        pair = int(np.argmax(abs(np.log(abs(factors) + 1e-9))))
        said = f"From token to token the new keys in the cache turn by {found[pair]:.3g} in pair {pair}, and "
        exponents = np.log(abs(found) + 1e-9) / -np.arange(half).clip(1) * half
        other = float(np.exp(np.median(exponents[1:]))) if half > 1 else base
        fits = np.allclose(found, other ** -(np.arange(half) / half), rtol=1e-2)
        as_if = f", as if `base` were {other:.4g} in place of {base:.4g}" if fits else ""
        yield f"{said}{speeds[pair]:.3g} is right{as_if}: look at the exponent of the speeds."


LONGEST = 400  # tokens
rotary_attention = Rotary(
    "RotaryAttention",
    results=("output", "cache"),
    axes=(("batch", "tokens", "embedding"),),
    not_allowed=(FUSED_ATTENTION,),
    draw=LayerDraw,
    # Angles made in float32 are right, whatever the dtype of x.
    tolerance=Tolerance(float32=SUMS_OF_PRODUCTS.float32, float64=SUMS_OF_PRODUCTS.float32),
)


def _sizes(draw):
    """Heads, head size (even), batch, tokens and past tokens: all different."""
    (heads, batch), (length, before) = draw.shuffled(draw.head_counts), draw.shuffled((11, 15))
    return heads, draw.even_head_size, batch, length, before


def _draw_layer(draw, heads, head_size, double=False, **given):
    """The layer with weights of the judge's."""
    width = heads * head_size
    state = {f"{name}.weight": draw.linear(width, width) for name in PROJECTIONS}
    return build(width, heads, state=state, double=double, **given)


def _draw_case(draw, past=False, hidden=False, double=False, gradients=False, **given):
    heads, head_size, batch, length, before = _sizes(draw)
    dtype = torch.float64 if double else torch.float32
    x = draw.normal(batch, length, heads * head_size, dtype=dtype)
    arguments = {}
    if past:
        shape = (batch, heads, before, head_size)
        arguments["cache"] = tuple(draw.normal(*shape, dtype=dtype) for _ in range(2))
    if hidden:
        arguments["mask"] = _causal(length, before if past else 0)
    layer = _draw_layer(draw, heads, head_size, double, **given)
    return case(x, **arguments, build=layer, gradients=gradients)


def _causal(length, before):
    return torch.ones(length, before + length, dtype=torch.bool).tril(before)


@rotary_attention.group("its parameters, and nothing else in its state_dict", points=0.5)
def parameters(draw):
    heads, head_size, batch, length, _ = _sizes(draw)
    yield case(build=build(heads * head_size, heads, look=("parameters",)))
    x = draw.normal(batch, length, heads * head_size)
    yield case(heads * head_size, heads, x, through=state_of)


@rotary_attention.group("with the weights it draws itself", points=0.5, fresh=True)
def own_weights(draw):
    heads, head_size, batch, length, _ = _sizes(draw)
    fresh = build(heads * head_size, heads, look=("result", "state"))
    yield case(draw.normal(batch, length, heads * head_size), build=fresh)


@rotary_attention.group("a whole text in one call, without a mask", points=1)
def without_a_mask(draw):
    for double in (False, True):
        yield _draw_case(draw, double=double)
    for batch in (11, 1):
        yield case(draw.normal(batch, 1, 98), build=_draw_layer(draw, 7, 14))


@rotary_attention.group("masks of all three shapes", points=1)
def masks(draw):
    yield _draw_case(draw, hidden=True)
    heads, head_size, batch, length, _ = _sizes(draw)
    for shape in ((length, length), (batch, 1, length), (batch, length, length)):
        x = draw.normal(batch, length, heads * head_size)
        yield case(x, mask=draw.mask(*shape), build=_draw_layer(draw, heads, head_size))


@rotary_attention.group("behind a cache", points=2)
def behind_a_cache(draw):
    for hidden in (True, False):
        yield _draw_case(draw, past=True, hidden=hidden)
    heads, head_size, batch, _, before = _sizes(draw)
    double = {"dtype": torch.float64}
    cache = [draw.normal(batch, heads, before, head_size, **double) for _ in range(2)]  # a list, this time
    x, mask = draw.normal(batch, 1, heads * head_size, **double), draw.mask(batch, 1, before + 1)
    yield case(x, mask, cache, build=_draw_layer(draw, heads, head_size, double=True))
    # Behind more than 256 tokens, where half precision cannot hold every position.
    far = tuple(draw.normal(1, 1, 301, head_size) for _ in range(2))
    yield case(draw.normal(1, 3, head_size) / 4, cache=far, build=_draw_layer(draw, 1, head_size))


@rotary_attention.group("equal sizes: as many texts as heads, as many tokens", points=1)
def equal_sizes(draw):
    (heads,), size = draw.shuffled(draw.head_counts)[:1], draw.even_head_size
    for shape in ((heads, 1, heads), (heads, heads, heads), (heads, heads)):
        x = draw.normal(heads, heads, size * heads)
        yield case(x, mask=draw.mask(*shape), build=_draw_layer(draw, heads, size))  # B = H = T
    x, cache = draw.normal(size, size, size), tuple(draw.normal(size, 1, size, size) for _ in range(2))
    yield case(x, mask=_causal(size, size), cache=cache, build=_draw_layer(draw, 1, size))  # one head


@rotary_attention.group("another base", points=1)
def another_base(draw):
    for base, past in ((100.0, True), (500.0, False)):
        yield _draw_case(draw, past=past, hidden=True, base=base)


@rotary_attention.group("nothing to attend to, and large scores", points=1)
def nothing_to_attend_to(draw):
    heads, head_size, batch, length, _ = _sizes(draw)
    mask = draw.mask(batch, length, length)
    mask[draw.integer(0, batch - 1), draw.integer(0, length - 1)] = False
    yield case(
        draw.normal(batch, length, heads * head_size), mask=mask, build=_draw_layer(draw, heads, head_size)
    )
    layer = _draw_layer(draw, heads, head_size)
    for_large_scores(layer.state, head_size)
    x = draw.normal(batch, 1, heads * head_size)  # one token: whatever its score, it sees itself
    yield case(x, mask=torch.ones(1, 1, dtype=torch.bool), build=layer)


@rotary_attention.group("widths and head sizes that are refused", points=1)
def refusals(draw):
    width, heads = draw.indivisible()
    yield case(build=build(width, heads, look=()), refuses=(width, heads))
    heads, size = draw.shuffled((7, 9))[0], draw.shuffled((11, 13, 15))[0]
    yield case(build=build(heads * size, heads, look=()), refuses=(size,), or_naming=(heads * size, heads))


@rotary_attention.group("gradients", points=1)
def gradients(draw):
    for past in (False, True):
        yield _draw_case(draw, past=past, hidden=True, double=not past, gradients=True)


class Right(RotaryLayer):
    """A correct layer; each mistake changes one thing about it."""

    def __init__(self, embed_dim, num_heads, base=10000.0):
        super().__init__(embed_dim, num_heads)
        self.refuse_odd(embed_dim, num_heads)
        self.base = base

    def positions(self, x, first):
        return torch.arange(first, first + x.shape[-2], dtype=x.dtype)

    def exponents(self, half):
        """2i/D, for each pair i of D/2."""
        return torch.arange(half, dtype=torch.float64) / half

    def angles(self, x, first):
        """(T, D/2) for x (..., T, D), whose first position this is."""
        rates = self.base ** -self.exponents(x.shape[-1] // 2).to(x.dtype)
        return torch.outer(self.positions(x, first), rates)

    def project(self, x, past):
        """Query, key and value (B, H, T, D), the first two turned."""
        return self.turned(*map(self.split, super().project(x, x, x)), past)

    weights = MultiHeadLayer.weigh

    def attend(self, query, key, value, mask):
        return self.weights(query @ key.mT / self.scale(query.shape[-1]), mask) @ value

    def forward(self, x, mask=None, cache=None):
        query, *new = self.project(x, 0 if cache is None else cache[0].shape[2])
        total = self.extend(cache, *new)
        output = self.finish(self.merge(self.attend(query, *total, mask)))
        return output, self.returned_cache(cache, new, total)


@rotary_attention.accepted_alternative(
    "The turn as a product of complex numbers, RoFormer's own formula. (Only this step is shown.)"
)
class ByComplexNumbers(Right):
    def turn(self, x, first=0):
        angles = self.angles(x, first)
        pairs = torch.complex(x[..., 0::2], x[..., 1::2]) * torch.polar(torch.ones_like(angles), angles)
        return torch.view_as_real(pairs).flatten(-2)


@rotary_attention.accepted_alternative(
    "Attention with named axes: b and h only come along. (Only this step is shown.)"
)
class ByEinsum(Right):
    def attend(self, query, key, value, mask):
        scores = torch.einsum("bhqd,bhkd->bhqk", query, key) * key.shape[-1] ** -0.5
        return torch.einsum("bhqk,bhkd->bhqd", self.weights(scores, mask), value)


@rotary_attention.accepted_alternative
class ByPartners(Right):
    def turn(self, x, first=0):
        angles = self.angles(x, first).repeat_interleave(2, -1)
        partners = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).reshape(x.shape)
        return x * angles.cos() + partners * angles.sin()

    def extend(self, cache, key, value):
        return list(super().extend(cache, key, value))

    def weights(self, scores, mask):
        if mask is None:
            return F.softmax(scores, dim=-1)
        mask = mask[None, None] if mask.dim() == 2 else mask[:, None]
        return torch.where(mask, torch.where(mask, scores, -math.inf).softmax(-1), 0.0)
