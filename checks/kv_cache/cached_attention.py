"""The exercise `CachedAttention`, and right answers written in other ways."""

import math

import torch

from attention_lab.authoring import (
    FLOATS,
    FUSED_ATTENTION,
    SUMS_OF_PRODUCTS,
    Exercise,
    LayerDraw,
    build,
    case,
    for_large_scores,
)
from attention_lab.authoring.layers import PROJECTIONS, MultiHeadLayer


class WrongParametersError(Exception):
    """The layer's parameters do not fit the weights that the judge sent."""


def with_weights(answer, embed_dim, heads, state, dtype):
    """The layer on these weights; other entries of its state_dict are another group's subject."""
    layer = answer(embed_dim, heads).to(dtype)
    own = dict(layer.named_parameters())
    wrong = [name for name in {**state, **own} if name not in own or name not in state]
    wrong += [name for name in own if name in state and own[name].shape != state[name].shape]
    if wrong:
        raise WrongParametersError(f"missing, too many or of another shape: {', '.join(wrong[:4])}")
    layer.load_state_dict(state, strict=False)
    return layer


def form(thing):
    if isinstance(thing, (tuple, list)):
        return f"({', '.join(map(form, thing))})"
    return f"tensor of {thing.dim()} axes" if isinstance(thing, torch.Tensor) else type(thing).__name__


RIGHT_FORM = "(tensor of 3 axes, (tensor of 4 axes, tensor of 4 axes))"  # output, (key, value)


def pair(answered):
    """The two results of a call. Whatever else comes back is told apart in words."""
    if answered is None:
        raise TypeError("nothing is returned: is the `return` line missing?")
    if form(answered) != RIGHT_FORM:
        raise TypeError(f"{form(answered)} is returned, and (output, (key, value)) asked for: {RIGHT_FORM}")
    return answered


def in_pieces(answer):
    """The layer goes over a text piece by piece; all its outputs, and the last cache."""

    def walked(x, embed_dim, heads, state, lengths):
        layer = with_weights(answer, embed_dim, heads, state, x.dtype)
        outputs, cache = [], None
        for piece in x.split(lengths, dim=1):
            output, cache = pair(layer(piece, cache))
            outputs.append(output)
        key, value = cache
        return torch.cat(outputs, dim=1), (key, value)

    return walked


def twice(answer):
    """One cache is continued in two ways, then the first of them goes on, and then it is begun once more.

    All outputs, and the cache after all.
    """

    def walked(x, embed_dim, heads, state, lengths):
        layer = with_weights(answer, embed_dim, heads, state, x.dtype)
        prompt, one, other = x.split(lengths, dim=1)
        first, cache = pair(layer(prompt))
        second, branch = pair(layer(one, cache))
        outputs = [first, second]
        for piece, past in ((other, cache), (other, branch), (one, cache)):
            outputs.append(pair(layer(piece, past))[0])
        key, value = cache
        return torch.cat(outputs, dim=1), (key, value)

    return walked


def twice_without_gradients(answer):
    """The same without gradients, as in generation."""
    return torch.no_grad()(twice(answer))


def state_of(answer):
    """The shapes in a layer's state_dict in words, after a call, and whether it holds anything else."""

    def named(embed_dim, heads, x, bias):
        layer = answer(embed_dim, heads, bias=True) if bias else answer(embed_dim, heads)
        results = layer(x)
        if form(results) == RIGHT_FORM:
            layer(x, results[1])
        own, state = dict(layer.named_parameters()), layer.state_dict()
        shapes = {name: f"shape {tuple(entry.shape)}" for name, entry in state.items() if name in own}
        # A buffer can have any name.
        return shapes | {"beside its parameters": "nothing" if len(own) == len(state) else "a buffer"}

    return named


cached_attention = Exercise(
    "CachedAttention",
    results=("output", "cache"),
    axes=(("batch", "new tokens", "embedding"), ("batch", "heads", "tokens", "head size")),
    not_allowed=(FUSED_ATTENTION,),
    tolerance=SUMS_OF_PRODUCTS,
    draw=LayerDraw,
)


def _state(draw, heads, head_size, bias=False, dtype=torch.float32):
    """Weights of the judge's."""
    embed_dim = heads * head_size
    state = {}
    for name in PROJECTIONS:
        state[f"{name}.weight"] = draw.linear(embed_dim, embed_dim, dtype=dtype)
        if bias:
            state[f"{name}.bias"] = draw.normal(embed_dim, dtype=dtype)
    return state


def _draw_layer(draw, heads, head_size, bias=False, double=False):
    given = {"bias": True} if bias else {}
    state = _state(draw, heads, head_size, bias)
    return build(heads * head_size, heads, state=state, double=double, **given)


def _cache(draw, batch, heads, past, head_size, dtype=torch.float32):
    return tuple(draw.normal(batch, heads, past, head_size, dtype=dtype) for _ in range(2))


@cached_attention.group("without a cache: one causal pass", points=1)
def one_pass(draw):
    for bias, double in ((False, False), (True, False), (True, True)):
        heads, head_size, batch, length = draw.heads(2)
        dtype = torch.float64 if double else torch.float32
        x = draw.normal(batch, length, heads * head_size, dtype=dtype)
        yield case(x, build=_draw_layer(draw, heads, head_size, bias, double))


@cached_attention.group("one new token behind a cache", points=1)
def one_new_token(draw):
    for double in (False, True):
        heads, head_size, batch, past = draw.heads(2)
        dtype = torch.float64 if double else torch.float32
        cache = _cache(draw, batch, heads, past, head_size, dtype)
        x = draw.normal(batch, 1, heads * head_size, dtype=dtype)
        yield case(
            x,
            list(cache) if double else cache,
            build=_draw_layer(draw, heads, head_size, bias=double, double=double),
        )


@cached_attention.group("several new tokens behind a cache", points=1)
def several_new_tokens(draw):
    heads, head_size, batch, past, new = draw.heads(3)
    cache = _cache(draw, batch, heads, past, head_size)
    x = draw.normal(batch, new, heads * head_size)
    yield case(x, cache=cache, build=_draw_layer(draw, heads, head_size))
    heads, head_size, batch, new = draw.heads(2)  # a short past and a long rest
    cache = _cache(draw, batch, heads, 1, head_size, torch.float64)
    x = draw.normal(batch, new, heads * head_size, dtype=torch.float64)
    yield case(x, cache, build=_draw_layer(draw, heads, head_size, bias=True, double=True))


@cached_attention.group("equal sizes: as many sentences, heads, new and old tokens", points=1)
def equal_sizes(draw):
    (size,) = draw.sizes(1)
    x = draw.normal(4, size, 4 * size)
    yield case(x, build=_draw_layer(draw, 4, size))  # B = H, T = D
    yield case(x, _cache(draw, 4, 4, size, size), build=_draw_layer(draw, 4, size))
    yield case(draw.normal(5, 5, 25), _cache(draw, 5, 5, 5, 5), build=_draw_layer(draw, 5, 5, bias=True))
    yield case(
        draw.normal(2, 3, size), _cache(draw, 2, 1, 4, size), build=_draw_layer(draw, 1, size)
    )  # one head
    yield case(draw.normal(1, 1, size), _cache(draw, 1, 1, 1, size), build=_draw_layer(draw, 1, size))
    yield case(draw.normal(1, size, 4 * size), build=_draw_layer(draw, 4, size))


def _in_pieces(draw, lengths, dtype=torch.float32, through=in_pieces, gradients=False):
    heads, head_size, batch = draw.heads(1)
    x = draw.normal(batch, sum(lengths), heads * head_size, dtype=dtype)
    state = _state(draw, heads, head_size, dtype=dtype)
    return case(x, heads * head_size, heads, state, list(lengths), through=through, gradients=gradients)


@cached_attention.group("a text in pieces, token by token too", points=2)
def pieces(draw):
    yield _in_pieces(draw, draw.shuffled((1, 4, 6)))
    yield _in_pieces(draw, draw.shuffled((2, 3, 5)), torch.float64)
    yield _in_pieces(draw, (1,) * 6)
    yield _in_pieces(draw, (5, 1, 1, 1))


@cached_attention.group("one cache continued twice", points=1)
def branches(draw):
    yield _in_pieces(draw, draw.shuffled((3, 4, 6)), through=twice)
    yield _in_pieces(draw, (6, 1, 1), torch.float64, through=twice_without_gradients)


def _large_scores(draw, past):
    """Scores up to 1e4 in even heads and down to -1e4 in odd ones: later keys have larger scores in both.

    So whatever is hidden is above what is seen, and in odd heads what is seen is far below 0.
    """
    heads, head_size, batch, new = draw.heads(2)
    layer = _draw_layer(draw, heads, head_size)
    for_large_scores(layer.state, head_size)
    for name, sign in (("query", 1), ("key", -1)):
        odd = layer.state[f"{name}.weight"][head_size :: 2 * head_size]
        odd[:, 1], odd[:, 0] = sign * odd[:, 0], 0.0
    x = draw.normal(batch, new, heads * head_size)
    x[..., 0] = draw.in_steps(torch.linspace(0.5, 1, new))
    x[..., 1] = draw.in_steps(torch.linspace(1, 0.5, past + new)[past:])
    if not past:
        return case(x, build=layer)
    cache = _cache(draw, batch, heads, past, head_size)
    cache[0][..., 0] = 0.0
    cache[0][:, 1::2, :, 0] = float(layer.state["key.weight"].min())
    return case(x, cache, build=layer)


@cached_attention.group("gradients, also through the cache; large scores", points=2)
def gradients(draw):
    for behind_a_cache, dtype in zip((False, True), FLOATS, strict=True):
        heads, head_size, batch, past, new = draw.heads(3)
        double = dtype == torch.float64
        layer = _draw_layer(draw, heads, head_size, bias=double, double=double)
        x = draw.normal(batch, new, heads * head_size, dtype=dtype)
        cache = _cache(draw, batch, heads, past, head_size, dtype) if behind_a_cache else None
        yield case(x, cache, build=layer, gradients=True)
        yield _in_pieces(draw, (3, 1, 2), dtype, gradients=True)
    yield _large_scores(draw, past=0)
    yield _large_scores(draw, past=4)


@cached_attention.group("its parameters, and nothing else in its state_dict", points=0.5)
def parameters(draw):
    for bias in (False, True):
        heads, head_size, batch, length = draw.heads(2)
        given = {"bias": True} if bias else {}
        yield case(build=build(heads * head_size, heads, **given, look=("parameters",)))
        x = draw.normal(batch, length, heads * head_size)
        yield case(heads * head_size, heads, x, bias, through=state_of)


@cached_attention.group("with the weights it draws itself", points=0.5, fresh=True)
def own_weights(draw):
    heads, head_size, batch, past, new = draw.heads(3)
    fresh = build(heads * head_size, heads, bias=True, look=("result", "state"))
    cache = _cache(draw, batch, heads, past, head_size)
    yield case(draw.normal(batch, new, heads * head_size), cache, build=fresh)


@cached_attention.group("a width that is not divisible by the number of heads", points=1)
def refusals(draw):
    embed_dim, heads = draw.indivisible()
    yield case(build=build(embed_dim, heads, look=()), refuses=(embed_dim, heads))


class Right(MultiHeadLayer):
    """A correct layer; each mistake changes one thing about it."""

    def join(self, past, new):
        """(B, H, T_past, D) and (B, H, T_new, D) -> (B, H, T, D)"""
        return torch.cat([past, new], dim=2)

    def behind(self, cache, key, value):
        """Keys and values of past and new."""
        return self.join(cache[0], key), self.join(cache[1], value)

    def mask(self, new, total):
        """True = may attend: (T_new, T)"""
        return torch.ones(new, total, dtype=torch.bool).tril(diagonal=total - new)

    def weigh(self, scores):
        return self.softmax(self.fill(scores, ~self.mask(*scores.shape[-2:])))

    def attend(self, query, key, value):
        scores = query @ key.transpose(-2, -1) / self.scale(query.shape[-1])
        return self.weigh(scores) @ value

    def returned_cache(self, old, new, total):
        """The cache that is returned, of the one that came, the new keys and values, and all of them."""
        return total

    def forward(self, x, cache=None):
        query, key, value = (self.split(layer(x)) for layer in (self.query, self.key, self.value))
        new = key, value
        total = new if cache is None else self.behind(cache, key, value)
        output = self.finish(self.merge(self.attend(query, *total)))
        return output, self.returned_cache(cache, new, total)


@cached_attention.accepted_alternative(
    "Makes the mask by comparing positions: query i is at T_past + i, key j is at j, and a token sees "
    "every key that does not come after it. The code reads like the rule. (Only this step is shown.)"
)
class ByComparedPlaces(Right):
    def mask(self, new, total):
        places = torch.arange(total)
        return places <= places[total - new :, None]


@cached_attention.accepted_alternative(
    "All four products with named axes, without a transposed tensor: h and b only come along. (Only this "
    "step is shown.)"
)
class ByEinsum(Right):
    def attend(self, query, key, value):
        scores = torch.einsum("bhqd,bhkd->bhqk", query * key.shape[-1] ** -0.5, key)
        hidden = torch.full(scores.shape[-2:], -math.inf, dtype=scores.dtype)
        hidden = hidden.triu(1 + scores.shape[-1] - scores.shape[-2])
        return torch.einsum("bhqk,bhkd->bhqd", (scores + hidden).softmax(-1), value)


@cached_attention.accepted_alternative
class PastAndNewApart(Right):
    """Scores against the past and against the new ones, side by side before the softmax."""

    def forward(self, x, cache=None):
        q, k, v = (self.split(layer(x)) for layer in (self.query, self.key, self.value))
        own = q @ k.mT / math.sqrt(q.shape[-1])
        own = own.masked_fill(torch.ones(own.shape[-2:], dtype=torch.bool).triu(1), float("-inf"))
        if cache is None:
            return self.output(self.merge(own.softmax(-1) @ v)), [k, v]
        past_key, past_value = cache
        weights = torch.cat([q @ past_key.mT / math.sqrt(q.shape[-1]), own], dim=-1).softmax(-1)
        seen, new = weights.split([past_key.shape[2], k.shape[2]], dim=-1)
        output = self.output(self.merge(seen @ past_value + new @ v))
        return output, [torch.cat([past_key, k], 2), torch.cat([past_value, v], 2)]
