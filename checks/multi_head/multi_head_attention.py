"""What the grader asks about `MultiHeadAttention`, and the mistakes it can name."""

import torch
import torch.nn as nn
from attention_head import AttentionHead

from attention_lab.grading.exercise import Exercise, ask, build

multi_head_attention = Exercise(
    "MultiHeadAttention",
    results=("output", "weights"),
    axes=(("batch", "queries", "E"), ("batch", "queries", "keys")),
    weights=1,
    not_allowed=("fused_attention",),
)


def _sizes(draw, count):
    """`embed_dim`, `num_heads` and `count` other sizes; each head costs time, so there are only a few."""
    heads = draw.integer(2, 5)  # in every group others, so that no fixed number fits them all
    head_size, *others = draw.sizes(3 + count)
    width = heads * head_size
    return width, heads, *[size for size in others if size != width][:count]


def _made(draw, width, heads, bias=False, dtype=torch.float32):
    """The layer with fresh weights, small enough that no softmax saturates."""
    head_size = width // heads
    names = [f"heads.{head}.{part}" for head in range(heads) for part in ("query", "key", "value")]
    state = {f"{name}.weight": draw.normal(head_size, width, dtype=dtype) for name in names}
    state["output.weight"] = draw.normal(width, width, dtype=dtype)
    state = {name: weight / width**0.5 for name, weight in state.items()}
    if bias:
        state |= {f"{name}.bias": draw.normal(head_size, dtype=dtype) for name in names}
        state["output.bias"] = draw.normal(width, dtype=dtype)
    options = {"bias": True} if bias else {}
    return build(width, heads, **options, state=state, double=dtype == torch.float64)


@multi_head_attention.group("names and shapes of the parameters", points=1)
def parameters(draw):
    width, heads = _sizes(draw, 0)
    yield ask(build=build(width, heads, look=("parameters",)))
    yield ask(build=build(width, heads, bias=True, look=("parameters",)))


@multi_head_attention.group("self-attention", points=1)
def self_attention(draw):
    for dtype in (torch.float32, torch.float64):
        width, heads, batch, length = _sizes(draw, 2)
        yield ask(
            draw.normal(batch, length, width, dtype=dtype), build=_made(draw, width, heads, dtype=dtype)
        )
    yield ask(draw.normal(1, 1, width), build=_made(draw, width, 1))


@multi_head_attention.group("with a bias", points=1)
def with_a_bias(draw):
    width, heads, batch, length = _sizes(draw, 2)
    yield ask(draw.normal(batch, length, width), build=_made(draw, width, heads, bias=True))


@multi_head_attention.group("other keys and values, unequal lengths", points=1)
def other_keys_and_values(draw):
    width, heads, batch, queries, keys = _sizes(draw, 3)
    query, key, value = (draw.normal(batch, length, width) for length in (queries, keys, keys))
    yield ask(query, key, build=_made(draw, width, heads))
    yield ask(query, key, value, draw.mask(queries, keys), build=_made(draw, width, heads))


@multi_head_attention.group("masks of all three shapes, equal sizes too", points=1)
def masks(draw):
    width, heads, batch, length = _sizes(draw, 2)
    for shape in ((length, length), (batch, length, length)):  # (batch, 1, length): next group
        x = draw.normal(batch, length, width)
        yield ask(x, mask=draw.mask(*shape), build=_made(draw, width, heads))
    x = draw.normal(heads, heads, width)
    yield ask(x, mask=draw.mask(heads, 1, heads), build=_made(draw, width, heads))


@multi_head_attention.group("nothing to attend to", points=1)
def nothing_to_attend_to(draw):
    width, heads, batch, length = _sizes(draw, 2)
    empty_sentence = draw.mask(batch, 1, length)
    empty_sentence[draw.integer(0, batch - 1)] = False
    x = draw.normal(batch, length, width)
    yield ask(x, mask=empty_sentence, build=_made(draw, width, heads, bias=True))


@multi_head_attention.group("widths that cannot be shared out", points=1)
def refusals(draw):
    for _ in range(2):
        width, heads = _sizes(draw, 0)
        width += draw.integer(1, heads - 1)
        yield ask(build=build(width, heads, look=()), refuses=(width, heads))


@multi_head_attention.group("gradients", points=1)
def gradients(draw):
    width, heads, batch, queries, keys = _sizes(draw, 3)
    query, key, value = (
        draw.normal(batch, length, width, dtype=torch.float64) for length in (queries, keys, keys)
    )
    made = _made(draw, width, heads, bias=True, dtype=torch.float64)
    mask = draw.mask(queries, keys)
    mask[draw.integer(0, queries - 1)] = False
    yield ask(query, key, value, mask, gradients=True, build=made)


class _Layer(nn.Module):
    """Right as it stands; each mistake below changes one part of it."""

    keep = nn.ModuleList

    def __init__(self, embed_dim, num_heads, bias=False):
        super().__init__()
        self.share_out(embed_dim, num_heads)
        head_size = embed_dim // num_heads
        self.heads = self.keep([self.head(embed_dim, head_size, bias) for _ in range(num_heads)])
        self.output = self.last(embed_dim, num_heads, bias)

    def share_out(self, embed_dim, num_heads):
        if embed_dim % num_heads != 0:
            raise ValueError(f"{embed_dim} numbers cannot be shared out among {num_heads} heads")

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

    def forward(self, query, key=None, value=None, mask=None):
        results = [self.attend(place, query, key, value, mask) for place in range(len(self.heads))]
        outputs, weights = zip(*results)
        return self.output(self.join(outputs)), self.average(weights)


@multi_head_attention.mistake(
    "The layer does not know its heads: they are in a plain Python list, so none of their parameters is"
    " registered, and no optimizer would train them. A list of modules needs torch's own kind of list."
)
class PythonListOfHeads(_Layer):
    keep = list


@multi_head_attention.mistake(
    "The layer has the parameters of one head only: the list holds the *same* head `num_heads` times, "
    "so all heads see the same. Make a new head for each place in the list."
)
class OneHeadManyTimes(_Layer):
    def keep(self, heads):
        return nn.ModuleList(heads[:1] * len(heads))


@multi_head_attention.mistake(
    "Each head is as wide as the embedding, so that `output` has to squeeze `num_heads` times "
    "`embed_dim` numbers into `embed_dim`. Share the width out: all the heads *together* put out "
    "`embed_dim` numbers."
)
class HeadsAsWideAsTheEmbedding(_Layer):
    def head(self, embed_dim, head_size, bias):
        return AttentionHead(embed_dim, embed_dim, bias)

    def last(self, embed_dim, num_heads, bias):
        return nn.Linear(num_heads * embed_dim, embed_dim, bias)


@multi_head_attention.mistake(
    "Each head puts out `embed_dim` numbers; side by side they would not fit into `output`. A head's "
    "size is the width of the embedding shared out among `num_heads` heads; joined, they are "
    "`embed_dim` wide again."
)
class AddsWideHeads(_Layer):
    def head(self, embed_dim, head_size, bias):
        return AttentionHead(embed_dim, embed_dim, bias)

    def join(self, outputs):
        return sum(outputs)


@multi_head_attention.mistake(
    "Each head sees only its own slice of the embedding: its projections take in the head size. A head "
    "reads the *whole* vector, all `embed_dim` numbers, and projects it down to the head size."
)
class SlicesTheInput(_Layer):
    def head(self, embed_dim, head_size, bias):
        return AttentionHead(head_size, head_size, bias)

    def attend(self, place, *inputs):
        width = inputs[0].shape[-1] // len(self.heads)
        mine = slice(place * width, (place + 1) * width)
        return self.heads[place](*(None if x is None else x[..., mine] for x in inputs[:3]), inputs[3])


@multi_head_attention.mistake(
    "The layer has no output projection: its parameters end with the heads. Without `output` the heads'"
    " results lie side by side and never meet; project the joined vectors once more."
)
class NoOutputProjection(_Layer):
    def last(self, embed_dim, num_heads, bias):
        return nn.Identity()


@multi_head_attention.mistake(
    "`output` is made and never used: what comes back is the heads' results side by side. Send the "
    "joined vectors through it, so that what one head has found can meet what another has."
)
class OutputNotApplied(_Layer):
    def forward(self, query, key=None, value=None, mask=None):
        outputs, weights = zip(*(head(query, key, value, mask) for head in self.heads))
        return self.join(outputs), self.average(weights)


@multi_head_attention.mistake(
    "Asked for a bias, the layer has one in `output` only: the heads were made without it. `bias` goes "
    "to every projection, so hand it on to each `AttentionHead`."
)
class NoBiasInTheHeads(_Layer):
    def head(self, embed_dim, head_size, bias):
        return AttentionHead(embed_dim, head_size)


@multi_head_attention.mistake(
    "Asked for a bias, the layer has it in the heads only: `output` was made without one. `bias` goes "
    "to every projection, the last one too."
)
class NoBiasInTheOutput(_Layer):
    def last(self, embed_dim, num_heads, bias):
        return nn.Linear(embed_dim, embed_dim, bias=False)


@multi_head_attention.mistake(
    "Asked for a bias, the layer has none at all: `bias` is taken and not used. It goes to every projection, "
    "those of the heads and `output`."
)
class BiasNotUsed(_Layer):
    def head(self, embed_dim, head_size, bias):
        return AttentionHead(embed_dim, head_size)

    def last(self, embed_dim, num_heads, bias):
        return nn.Linear(embed_dim, embed_dim, bias=False)


@multi_head_attention.mistake(
    "`output` has a bias even where none was asked for: that is what `nn.Linear` does unless it is "
    "told. Hand it the layer's own `bias`."
)
class OutputAlwaysHasABias(_Layer):
    def last(self, embed_dim, num_heads, bias):
        return nn.Linear(embed_dim, embed_dim)


@multi_head_attention.mistake(
    "A width that the heads cannot share out evenly is accepted, and rounding down quietly makes the "
    "heads too small. Refuse it when the layer is made: a ValueError with a sentence that holds both "
    "numbers."
)
class AcceptsAnyWidth(_Layer):
    def share_out(self, embed_dim, num_heads):
        pass


@multi_head_attention.mistake(
    "A width that the heads cannot share out is refused by `assert`, which is for the programmer's own "
    "slips and vanishes under `python -O`. Raise a ValueError with a sentence that holds both numbers."
)
class RefusesByAssertion(_Layer):
    def share_out(self, embed_dim, num_heads):
        assert embed_dim % num_heads == 0


@multi_head_attention.mistake(
    "What reaches `output` is only as wide as one head: the heads' results were joined along another "
    "axis than the last, above each other instead of side by side. A token's vector should get longer, "
    "nothing else."
)
class JoinsAlongTime(_Layer):
    def join(self, outputs):
        return torch.cat(outputs, dim=1)


@multi_head_attention.mistake(
    "The shape is right, the order of the numbers is not: the heads' results were joined along another "
    "axis and then reshaped, which mixes tokens. Join them along the last axis; no reshaping is needed."
)
class JoinsAlongTimeAndReshapes(_Layer):
    def join(self, outputs):
        return torch.cat(outputs, dim=1).reshape(*outputs[0].shape[:2], -1)


@multi_head_attention.mistake(
    "The heads are interleaved: the first number of every head, then the second of every head. `output`"
    " expects all of head 0, then all of head 1 and so on: join the heads side by side."
)
class InterleavesTheHeads(_Layer):
    def join(self, outputs):
        return torch.stack(outputs, dim=-1).flatten(2)


@multi_head_attention.mistake(
    "What reaches `output` is only as wide as one head: the heads' results were added or averaged, and "
    "what each of them found is lost in the sum. Put them side by side along the last axis."
)
class AddsTheHeads(_Layer):
    def join(self, outputs):
        return sum(outputs)


@multi_head_attention.mistake(
    "The mask reaches the first head only; the others look wherever they like, and what is hidden comes"
    " in through them. Hand `mask` to every head."
)
class MaskReachesOneHead(_Layer):
    def attend(self, place, query, key, value, mask):
        return super().attend(place, query, key, value, mask if place == 0 else None)


@multi_head_attention.mistake(
    "`mask` changes nothing: the layer takes it and does not hand it on. Every head needs it."
)
class MaskIgnored(_Layer):
    def attend(self, place, query, key, value, mask):
        return super().attend(place, query, key, value, None)


@multi_head_attention.mistake(
    "`key` and `value` change nothing: every head attends from the query to the query. Hand all three "
    "on to the heads, which know what to do with None."
)
class SelfAttentionOnly(_Layer):
    def attend(self, place, query, key, value, mask):
        return super().attend(place, query, None, None, mask)


@multi_head_attention.mistake(
    "`value` changes nothing: what is mixed are the keys. Hand `value` on to the heads as well."
)
class ValueNotHandedOn(_Layer):
    def attend(self, place, query, key, value, mask):
        return super().attend(place, query, key, None, mask)


@multi_head_attention.mistake(
    "The output is right, but `weights` are those of the last head alone. Keep the weights of every "
    "head, and return their average."
)
class WeightsOfTheLastHead(_Layer):
    def average(self, weights):
        return weights[-1]


@multi_head_attention.mistake(
    "The output is right, but the rows of `weights` sum to the number of heads: they were added up. "
    "Their average is asked for."
)
class WeightsAddedUp(_Layer):
    def average(self, weights):
        return sum(weights)


@multi_head_attention.mistake(
    "The output is right, but `weights` keep an axis for the heads: `(B, T_q, T_k)` is asked for. "
    "Average over the heads."
)
class WeightsOfEveryHead(_Layer):
    def average(self, weights):
        return torch.stack(weights, dim=1)


@multi_head_attention.also_right
class LoopWithRunningSum(_Layer):
    def forward(self, query, key=None, value=None, mask=None):
        outputs, total = [], 0
        for head in self.heads:
            output, weights = head(query, key, value, mask=mask)
            outputs.append(output)
            total = total + weights
        return [self.output(torch.concat(outputs, 2)), total / len(self.heads)]


@multi_head_attention.also_right
class IntoOwnTensor(_Layer):
    def join(self, outputs):
        batch, length, size = outputs[0].shape
        joined = outputs[0].new_zeros(batch, length, size * len(outputs))
        for place, output in enumerate(outputs):
            joined[:, :, place * size : (place + 1) * size] = output
        return joined

    def average(self, weights):
        return torch.einsum("h...->...", torch.stack(weights)) / len(weights)


@multi_head_attention.also_right
class StackedAndTransposed(_Layer):
    def join(self, outputs):
        return torch.stack(outputs, dim=2).flatten(start_dim=2)

    def average(self, weights):
        return torch.mean(torch.stack(weights, dim=-1), -1)


@multi_head_attention.also_right
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


@multi_head_attention.also_right
class AllHeadsAtOnce(_Layer):
    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value

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
