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
    """`embed_dim`, `num_heads` (at most 11, so that no case is large) and `count` other sizes."""
    sizes = draw.sizes(12)
    heads = next(size for size in sizes if size <= 11)
    head_size, *others = (size for size in sizes if size != heads)
    return heads * head_size, heads, *others[:count]


def _made(draw, width, heads, bias=False, dtype=torch.float32):
    """The layer with fresh weights, small enough that no softmax saturates and nothing is lost in rounding."""
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
        yield ask(draw.normal(batch, length, width, dtype=dtype), build=_made(draw, width, heads, dtype=dtype))
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
    yield ask(query, key, value, build=_made(draw, width, heads))
    yield ask(query, key, value, draw.mask(queries, keys), build=_made(draw, width, heads))


@multi_head_attention.group("masks of all three shapes, equal sizes too", points=1)
def masks(draw):
    width, heads, batch, length = _sizes(draw, 2)
    for batch, length in ((batch, length), (heads, heads)):
        for shape in ((length, length), (batch, 1, length), (batch, length, length)):
            x = draw.normal(batch, length, width)
            yield ask(x, mask=draw.mask(*shape), build=_made(draw, width, heads))


@multi_head_attention.group("nothing to attend to", points=1)
def nothing_to_attend_to(draw):
    width, heads, batch, length = _sizes(draw, 2)
    empty_sentence = draw.mask(batch, 1, length)
    empty_sentence[draw.integer(0, batch - 1)] = False
    for bias in (False, True):
        x = draw.normal(batch, length, width)
        yield ask(x, mask=empty_sentence, build=_made(draw, width, heads, bias))


@multi_head_attention.group("widths that cannot be shared out", points=1)
def refusals(draw):
    heads, head_size = draw.sizes(2)
    for width in (heads * head_size + draw.integer(1, heads - 1), draw.integer(2, heads - 1)):
        yield ask(build=build(width, heads, look=()), refuses=(width, heads))


@multi_head_attention.group("gradients", points=1)
def gradients(draw):
    width, heads, batch, queries, keys = _sizes(draw, 3)
    query, key, value = (
        draw.normal(batch, length, width, dtype=torch.float64) for length in (queries, keys, keys)
    )
    made = _made(draw, width, heads, bias=True, dtype=torch.float64)
    yield ask(query, key, value, gradients=True, build=made)
    mask = draw.mask(queries, keys)
    mask[draw.integer(0, queries - 1)] = False
    yield ask(query, key, value, mask, gradients=True, build=made)


class _Layer(nn.Module):
    """Right as it stands: most mistakes below change one part of it."""

    def __init__(self, embed_dim, num_heads, bias=False):
        super().__init__()
        if embed_dim % num_heads != 0:
            self.refuse(embed_dim, num_heads)
        self.make(embed_dim, num_heads, embed_dim // num_heads, bias)

    def refuse(self, embed_dim, num_heads):
        raise ValueError(f"{embed_dim} numbers cannot be shared out among {num_heads} heads")

    def make(self, embed_dim, num_heads, head_size, bias):
        self.heads = nn.ModuleList(AttentionHead(embed_dim, head_size, bias) for _ in range(num_heads))
        self.output = nn.Linear(embed_dim, embed_dim, bias)

    def forward(self, query, key=None, value=None, mask=None):
        results = [self.attend(index, query, key, value, mask) for index in range(len(self.heads))]
        outputs, weights = zip(*results, strict=True)
        return self.project(self.join(outputs)), self.average(weights)

    def attend(self, index, query, key, value, mask):
        return self.heads[index](query, key, value, mask)

    def join(self, outputs):
        return torch.cat(outputs, dim=-1)

    def project(self, joined):
        return self.output(joined)

    def average(self, weights):
        return torch.stack(weights).mean(dim=0)


# How the layer is made


@multi_head_attention.mistake(
    "The layer does not know its heads: they are in a plain Python list, so none of their parameters is "
    "registered, and no optimizer would train them. A list of modules needs torch's own kind of list."
)
class PythonListOfHeads(_Layer):
    def make(self, embed_dim, num_heads, head_size, bias):
        self.heads = [AttentionHead(embed_dim, head_size, bias) for _ in range(num_heads)]
        self.output = nn.Linear(embed_dim, embed_dim, bias)


@multi_head_attention.mistake(
    "The layer has the parameters of one head only: the list holds the *same* head `num_heads` times, so all "
    "heads see the same. Make a new head for each place in the list."
)
class OneHeadManyTimes(_Layer):
    def make(self, embed_dim, num_heads, head_size, bias):
        self.heads = nn.ModuleList([AttentionHead(embed_dim, head_size, bias)] * num_heads)
        self.output = nn.Linear(embed_dim, embed_dim, bias)


@multi_head_attention.mistake(
    "Each head is as wide as the embedding, and what they find has to be squeezed from `num_heads` times "
    "`embed_dim` numbers. Share the width out: the heads together put out `embed_dim` numbers."
)
class HeadsAsWideAsTheEmbedding(_Layer):
    def make(self, embed_dim, num_heads, head_size, bias):
        self.heads = nn.ModuleList(AttentionHead(embed_dim, embed_dim, bias) for _ in range(num_heads))
        self.output = nn.Linear(num_heads * embed_dim, embed_dim, bias)


@multi_head_attention.mistake(
    "Each head puts out `embed_dim` numbers, so that side by side they would not fit into `output`. Share the "
    "width out: each head is `num_heads` times narrower than the embedding, and joining them gives `embed_dim`."
)
class WideHeadsAndASquareOutput(_Layer):
    def make(self, embed_dim, num_heads, head_size, bias):
        self.heads = nn.ModuleList(AttentionHead(embed_dim, embed_dim, bias) for _ in range(num_heads))
        self.output = nn.Linear(embed_dim, embed_dim, bias)

    def join(self, outputs):
        return sum(outputs)


@multi_head_attention.mistake(
    "Number and size of the heads have changed places: `num_heads` is how many there are, and the size of each "
    "is what is left of `embed_dim` when it is shared out among them."
)
class NumberAndSizeSwapped(_Layer):
    def make(self, embed_dim, num_heads, head_size, bias):
        super().make(embed_dim, head_size, num_heads, bias)


@multi_head_attention.mistake(
    "Each head sees only its own slice of the embedding: its projections take in the head size. A head reads "
    "the *whole* vector, all `embed_dim` numbers, and projects it down to the head size."
)
class SlicesTheInput(_Layer):
    def make(self, embed_dim, num_heads, head_size, bias):
        self.heads = nn.ModuleList(AttentionHead(head_size, head_size, bias) for _ in range(num_heads))
        self.output = nn.Linear(embed_dim, embed_dim, bias)


@multi_head_attention.mistake(
    "The layer has no output projection: its parameters end with the heads. Without `output` the heads' "
    "results lie side by side and never meet; project the joined vectors once more."
)
class NoOutputProjection(_Layer):
    def make(self, embed_dim, num_heads, head_size, bias):
        self.heads = nn.ModuleList(AttentionHead(embed_dim, head_size, bias) for _ in range(num_heads))

    def project(self, joined):
        return joined


@multi_head_attention.mistake(
    "Asked for a bias, the layer has one in `output` only: the heads were made without it. `bias` goes to "
    "every projection, so hand it on to each `AttentionHead`."
)
class NoBiasInTheHeads(_Layer):
    def make(self, embed_dim, num_heads, head_size, bias):
        super().make(embed_dim, num_heads, head_size, False)
        self.output = nn.Linear(embed_dim, embed_dim, bias)


@multi_head_attention.mistake(
    "`output` has a bias even where none was asked for: that is what `nn.Linear` does unless it is told. Hand "
    "it the layer's own `bias`."
)
class OutputAlwaysHasABias(_Layer):
    def make(self, embed_dim, num_heads, head_size, bias):
        super().make(embed_dim, num_heads, head_size, bias)
        self.output = nn.Linear(embed_dim, embed_dim)


