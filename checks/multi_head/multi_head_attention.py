"""The exercise `MultiHeadAttention`, and the mistakes it can name."""

import torch
import torch.nn as nn

from attention_lab.authoring import (
    FLOATS,
    FUSED_ATTENTION,
    SUMS_OF_PRODUCTS,
    Exercise,
    LayerDraw,
    build,
    case,
    defaults,
    for_large_scores,
    hidden_above,
)
from attention_lab.lesson_05.attention_head import AttentionHead

multi_head_attention = Exercise(
    "MultiHeadAttention",
    results=("output", "weights"),
    axes=(("batch", "queries", "E"), ("batch", "queries", "keys")),
    weights=1,
    not_allowed=(FUSED_ATTENTION,),
    tolerance=SUMS_OF_PRODUCTS,
    draw=LayerDraw,
)


def _sizes(draw, count):
    """`embed_dim`, `num_heads` and `count` other sizes."""
    heads, head_size, *others = draw.heads(count)
    return heads * head_size, heads, *others


def _draw_layer(draw, width, heads, bias=False, dtype=torch.float32):
    """The layer with fresh weights."""
    head_size = width // heads
    names = [f"heads.{head}.{part}" for head in range(heads) for part in ("query", "key", "value")]
    shapes = {**{f"{name}.weight": (head_size, width) for name in names}, "output.weight": (width, width)}
    state = {name: draw.linear(*shape, dtype=dtype) for name, shape in shapes.items()}
    if bias:
        state |= {f"{name}.bias": draw.normal(head_size, dtype=dtype) for name in names}
        state["output.bias"] = draw.normal(width, dtype=dtype)
    options = {"bias": True} if bias else {}
    return build(width, heads, **options, state=state, double=dtype == torch.float64)


@multi_head_attention.group("names and shapes of the parameters", points=0.5)
def parameters(draw):
    width, heads = _sizes(draw, 0)
    yield case(build=build(width, heads, look=("parameters",)))
    yield case(build=build(width, heads, bias=True, look=("parameters",)))


@multi_head_attention.group("with the weights it draws itself", points=0.5, fresh=True)
def own_weights(draw):
    width, heads, batch, length = _sizes(draw, 2)
    fresh = build(width, heads, bias=True, look=("result", "state"))
    yield case(draw.normal(batch, length, width), build=fresh)


@multi_head_attention.group("self-attention", points=1)
def self_attention(draw):
    for dtype in FLOATS:
        width, heads, batch, length = _sizes(draw, 2)
        yield case(
            draw.normal(batch, length, width, dtype=dtype),
            build=_draw_layer(draw, width, heads, dtype=dtype),
        )
    yield case(draw.normal(1, 1, width), build=_draw_layer(draw, width, 1))


@multi_head_attention.group("with a bias", points=1)
def with_a_bias(draw):
    width, heads, batch, length = _sizes(draw, 2)
    yield case(draw.normal(batch, length, width), build=_draw_layer(draw, width, heads, bias=True))


@multi_head_attention.group("other keys and values, unequal lengths", points=1)
def other_keys_and_values(draw):
    width, heads, batch, queries, keys = _sizes(draw, 3)
    query, key, value = (draw.normal(batch, length, width) for length in (queries, keys, keys))
    yield case(query, key, build=_draw_layer(draw, width, heads))
    yield case(query, key, value, draw.mask(queries, keys), build=_draw_layer(draw, width, heads))
    yield case(query, draw.normal(*query.shape), build=_draw_layer(draw, width, heads))  # of equal length
    yield case(query, value=draw.normal(*query.shape), build=_draw_layer(draw, width, heads))


@multi_head_attention.group("masks of all three shapes, equal sizes too", points=1)
def masks(draw):
    width, heads, batch, length = _sizes(draw, 2)
    for shape in ((length, length), (batch, length, length)):  # (batch, 1, length): next group
        x = draw.normal(batch, length, width)
        x[1] = x[0]  # the same text twice, under masks of their own
        yield case(x, mask=draw.mask(*shape), build=_draw_layer(draw, width, heads))
    x = draw.normal(heads, heads, width)
    for shape in ((heads, 1, heads), (heads, heads)):
        yield case(x, mask=draw.mask(*shape), build=_draw_layer(draw, width, heads))


def _hidden_above(draw):
    width, heads, batch, queries, keys = _sizes(draw, 3)
    query, key, mask = hidden_above(draw, batch, keys, width, queries=queries)
    layer = _draw_layer(draw, width, heads)
    for head in range(heads):
        names = {part: f"heads.{head}.{part}.weight" for part in ("query", "key")}
        for_large_scores(layer.state, width // heads, **names)
    return case(query, key, mask=mask, build=layer)


@multi_head_attention.group("nothing to attend to, and large scores", points=1)
def nothing_to_attend_to(draw):
    width, heads, batch, length = _sizes(draw, 2)
    empty_sentence = draw.mask(batch, 1, length)
    empty_sentence[draw.integer(0, batch - 1)] = False
    x = draw.normal(batch, length, width)
    yield case(x, mask=empty_sentence, build=_draw_layer(draw, width, heads, bias=True))
    yield _hidden_above(draw)


@multi_head_attention.group("widths that are not divisible by the number of heads", points=1)
def refusals(draw):
    for _ in range(2):
        width, heads = draw.indivisible()
        yield case(build=build(width, heads, look=()), refuses=(width, heads))


@multi_head_attention.group("gradients", points=1)
def gradients(draw):
    width, heads, batch, queries, keys = _sizes(draw, 3)
    query, key, value = (
        draw.normal(batch, length, width, dtype=torch.float64) for length in (queries, keys, keys)
    )
    layer = _draw_layer(draw, width, heads, bias=True, dtype=torch.float64)
    mask = draw.mask(queries, keys)
    mask[draw.integer(0, queries - 1)] = False
    yield case(query, key, value, mask, gradients=True, build=layer)


class _Layer(nn.Module):
    """A correct layer; each mistake below changes one part of it."""

    keep = nn.ModuleList

    def __init__(self, embed_dim, num_heads, bias=False):
        super().__init__()
        self.share_out(embed_dim, num_heads)
        head_size = embed_dim // num_heads
        self.heads = self.keep([self.head(embed_dim, head_size, bias) for _ in range(num_heads)])
        self.output = self.last(embed_dim, num_heads, bias)

    def share_out(self, embed_dim, num_heads):
        if embed_dim % num_heads != 0:
            raise ValueError(f"{embed_dim} numbers cannot be divided among {num_heads} heads")

    def head(self, embed_dim, head_size, bias):
        return AttentionHead(embed_dim, head_size, bias)

    def last(self, embed_dim, num_heads, bias):
        return nn.Linear(embed_dim, embed_dim, bias)

    def attend(self, place, query, key, value, mask):
        return self.heads[place](query, key, value, mask)

    def join(self, outputs):
        return torch.cat(outputs, dim=-1)

    def average(self, weights):
        return torch.stack(weights).mean(dim=0)

    def finish(self, joined):
        return self.output(joined)

    def forward(self, query, key=None, value=None, mask=None):
        results = [self.attend(place, query, key, value, mask) for place in range(len(self.heads))]
        outputs, weights = zip(*results)
        return self.finish(self.join(outputs)), self.average(weights)


@multi_head_attention.accepted_alternative(
    "A plain loop that adds up the weights as it goes: it keeps no list of tables, which matters when "
    "they are large. (The heads and the output are made as in yours.)"
)
class LoopWithRunningSum(_Layer):
    def forward(self, query, key=None, value=None, mask=None):
        outputs, total = [], 0
        for head in self.heads:
            output, weights = head(query, key, value, mask=mask)
            outputs.append(output)
            total = total + weights
        return [self.output(torch.concat(outputs, 2)), total / len(self.heads)]


@multi_head_attention.accepted_alternative
class IntoOwnTensor(_Layer):
    def join(self, outputs):
        batch, length, size = outputs[0].shape
        joined = outputs[0].new_zeros(batch, length, size * len(outputs))
        for place, output in enumerate(outputs):
            joined[:, :, place * size : (place + 1) * size] = output
        return joined

    def average(self, weights):
        return torch.einsum("h...->...", torch.stack(weights)) / len(weights)


@multi_head_attention.accepted_alternative(
    "This shows what the output projection does: each head has its own columns in it, and the results "
    "are added. Good for seeing what one head contributes; slower than one product."
)
class EachHeadThroughItsPartOfTheOutput(_Layer):
    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        results = [head(query, key, value, mask) for head in self.heads]
        parts = self.output.weight.chunk(len(self.heads), dim=1)
        output = sum(found @ part.T for (found, _), part in zip(results, parts))
        if self.output.bias is not None:
            output = output + self.output.bias
        return output, sum(weights for _, weights in results).div(len(results))


@multi_head_attention.accepted_alternative
class AllHeadsAtOnce(_Layer):
    def forward(self, query, key=None, value=None, mask=None):
        key, value = defaults(query, key, value)

        def project(part, x):
            layers = [getattr(head, part) for head in self.heads]
            weight = torch.cat([layer.weight for layer in layers])
            bias = None if layers[0].bias is None else torch.cat([layer.bias for layer in layers])
            return nn.functional.linear(x, weight, bias).unflatten(-1, (len(layers), -1)).transpose(1, 2)

        query, key, value = project("query", query), project("key", key), project("value", value)
        scores = query @ key.mT / query.shape[-1] ** 0.5  # (B, H, T_q, T_k)
        if mask is not None:
            allowed = mask.unsqueeze(-3)
            scores = torch.where(allowed, scores, -torch.inf).softmax(dim=-1)
            weights = torch.where(allowed, scores, 0.0)
        else:
            weights = scores.softmax(dim=-1)
        return self.output((weights @ value).transpose(1, 2).flatten(2)), weights.mean(dim=1)
