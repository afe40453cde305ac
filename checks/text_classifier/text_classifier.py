"""The exercise `TextClassifier`, on the given layers and on one of the judge's own."""

from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.authoring import Exercise, LayerDraw, MadeInKernel, Tolerance, build, case, made_by
from attention_lab.lesson_08 import layers

# The layers that the lesson gives, as text: kernels make them from it.
LAYERS = Path(layers.__file__).read_text()
NAIVE, EFFICIENT, TORCHS = (
    "NaiveMultiHeadAttention",
    "EfficientMultiHeadAttention",
    "TorchMultiHeadAttention",
)


class UnheardOf(nn.Module):
    """Attention of a kind that no lesson has: its weights cannot be guessed, only taken from it."""

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        weights = torch.sin(query @ key.mT) + 0.5
        if mask is not None:
            weights = weights * mask
        return torch.tanh(weights @ value / 4), weights


class Positions(nn.Module):
    """Learned positions that also scale: twice, later or beside the embeddings is not the same."""

    def __init__(self, length, embed_dim):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(length, embed_dim))

    def forward(self, x):
        return 0.8 * x + self.table[: x.shape[1]]


def attention(name, embed_dim, num_heads):
    """One of the given layers, and the shapes of its parameters inside a `TextClassifier`."""
    given = {"embed_dim": embed_dim, "num_heads": num_heads}
    shapes = {
        f"attention.{parameter}": tuple(tensor.shape)
        for parameter, tensor in getattr(layers, name)(embed_dim, num_heads, bias=True).named_parameters()
    }
    return MadeInKernel(f"{LAYERS}\nmade = {name}(embed_dim, num_heads, bias=True)\n", given), shapes


def unheard_of():
    """A layer without parameters, whose weights do not even sum to 1."""
    return made_by(UnheardOf), {}


def positions(length, embed_dim):
    """A positional layer, and the shape of its one parameter inside a `TextClassifier`."""
    return made_by(Positions, length=length, embed_dim=embed_dim), {"positional.table": (length, embed_dim)}


text_classifier = Exercise(
    "TextClassifier",
    results=("logits", "attend"),
    axes=(("texts", "classes"), ("queries", "keys")),
    # The unheard-of layer takes the sine of scores of about a hundred: what these lose in float32, by
    # the order in which a processor adds, it hands on many times over, up to 1e-4 in the logits.
    tolerance=Tolerance(float32=(1e-3, 2e-3)),
    draw=LayerDraw,
)


class _Sizes:
    """The sizes of one case, all different: E is divided among the heads."""

    def __init__(self, draw):
        self.heads, head_size, self.batch, self.classes, one, other = draw.heads(4)
        self.embed_dim = self.heads * head_size
        self.shortest, self.length = sorted((one, other))
        self.vocab_size = draw.integer(301, 340)

    def shapes(self):
        return {
            "embedding.weight": (self.vocab_size, self.embed_dim),
            "fc1.weight": (128, self.embed_dim),
            "fc1.bias": (128,),
            "final.weight": (self.classes, 128),
            "final.bias": (self.classes,),
        }


def _draw_layer(draw, sizes, layer=EFFICIENT, positional=False, double=False, look=("result",)):
    """The classifier with the judge's weights; `layer` None is a layer that is in no lesson."""
    if layer is None:
        attending, shapes = unheard_of()
    else:
        attending, shapes = attention(layer, sizes.embed_dim, sizes.heads)
    shapes = sizes.shapes() | shapes
    more = {}
    if positional:
        more["positional"], table = positions(150 + sizes.length, sizes.embed_dim)
        shapes |= table
    dtype = torch.float64 if double else torch.float32
    # As large as their inputs, so that attention is sharp and no part of the answer is lost in another.
    state = {}
    for name, shape in shapes.items():
        projects = len(shape) == 2 and name not in ("embedding.weight", "positional.table")
        state[name] = draw.linear(*shape, dtype=dtype) if projects else draw.normal(*shape, dtype=dtype)
    state["embedding.weight"][0] = 0  # as a padding's embedding is made, and as it stays
    arguments = (sizes.vocab_size, sizes.embed_dim, sizes.classes, attending)
    return build(*arguments, state=state, double=double, look=look, **more)


def _padded(draw, sizes):
    """Ids (B, T) with 0 behind the shorter texts, and their mask (B, 1, T); one text fills the row."""
    lengths = draw.integers(sizes.shortest, sizes.length - 1, sizes.batch)
    longest = draw.integer(0, sizes.batch - 1)
    lengths[longest], lengths[longest - 1] = sizes.length, sizes.shortest
    mask = torch.arange(sizes.length) < lengths[:, None]
    return _tokens(draw, sizes) * mask, mask[:, None]


def _tokens(draw, sizes, lowest=1):
    return draw.integers(lowest, sizes.vocab_size - 1, sizes.batch, sizes.length)


@text_classifier.group("its parameters, with each of the three layers", points=1)
def parameters(draw):
    for layer in (EFFICIENT, TORCHS, NAIVE):
        attending, _ = attention(layer, 64, 8)
        yield case(build=build(1000, 64, 5, attending, look=("parameters",)))
    sizes = _Sizes(draw)
    attending, _ = attention(EFFICIENT, sizes.embed_dim, sizes.heads)
    places, _ = positions(150 + sizes.length, sizes.embed_dim)
    arguments = (sizes.vocab_size, sizes.embed_dim, sizes.classes, attending, places)
    yield case(build=build(*arguments, look=("parameters",)))


@text_classifier.group("logits without a mask", points=2)
def without_mask(draw):
    for layer, double in ((NAIVE, True), (None, False)):
        sizes = _Sizes(draw)
        # Id 0 as well: nothing is hidden where no mask is given.
        input_ids = _tokens(draw, sizes, lowest=0)
        input_ids[:, 1] = 0
        yield case(input_ids, build=_draw_layer(draw, sizes, layer, double=double))
    sizes = _Sizes(draw)
    sizes.length = 1  # [CLS] alone
    yield case(_tokens(draw, sizes), build=_draw_layer(draw, sizes))


@text_classifier.group("logits of a padded batch", points=2)
def with_mask(draw):
    for layer, double in ((NAIVE, False), (TORCHS, True), (None, False)):
        sizes = _Sizes(draw)
        input_ids, mask = _padded(draw, sizes)
        yield case(input_ids, mask, build=_draw_layer(draw, sizes, layer, double=double))
    sizes = _Sizes(draw)
    sizes.heads, sizes.embed_dim, sizes.classes = 7, 49, 11
    sizes.batch = sizes.length = sizes.embed_dim  # as many texts as tokens and dimensions
    hidden = draw.mask(sizes.batch, 1, sizes.length)  # hides words, not padding
    input_ids = _tokens(draw, sizes)
    input_ids[1] = input_ids[0]  # the same text twice, with other words hidden
    yield case(input_ids, mask=hidden, build=_draw_layer(draw, sizes))


def _the_same_in_any_company(cases, values):
    """The batch, the batch again, one of its texts alone: None, a mistake's name or a sentence."""
    for drawn_case, value in zip(cases, values, strict=True):
        shape = (len(drawn_case.args[0]), drawn_case.build.args[2])
        if not isinstance(value, torch.Tensor) or value.shape != shape or not value.is_floating_point():
            return f"`TextClassifier` does not return logits, a tensor of shape {shape}: a row for each text."
    batch, repeated, alone = values
    if not torch.allclose(batch, repeated, rtol=1e-6, atol=1e-9):
        return "DropoutAdded"
    _, mask = cases[0].args
    text = int(mask.sum(dim=-1).argmin())
    if not torch.allclose(batch[text], alone[0], rtol=1e-6, atol=1e-9):
        return (
            f"A text of {int(mask[text].sum())} tokens has other logits alone than in a batch where it is "
            f"padded to {mask.shape[-1]}: padding, or its neighbours, take part in its answer."
        )
    return None


# Logits that never change are the same in any company.
@text_classifier.group(
    "a text alone and in its batch", points=1, verify=_the_same_in_any_company, withhold_points=True
)
def in_any_company(draw):
    sizes = _Sizes(draw)
    input_ids, mask = _padded(draw, sizes)
    layer = _draw_layer(draw, sizes, positional=True, double=True)
    text = int(mask.sum(dim=-1).argmin())
    length = int(mask[text].sum())
    yield case(input_ids, mask, build=layer)
    yield case(input_ids, mask, build=layer)
    yield case(input_ids[text : text + 1, :length], mask[text : text + 1, :, :length], build=layer)


@text_classifier.group("with positions", points=2)
def with_positions(draw):
    for layer, double in ((EFFICIENT, True), (None, False)):
        sizes = _Sizes(draw)
        input_ids, mask = _padded(draw, sizes)
        yield case(input_ids, mask, build=_draw_layer(draw, sizes, layer, positional=True, double=double))


@text_classifier.group("the weights, by `attend`", points=2)
def weights(draw):
    for layer, positional in ((NAIVE, False), (None, True)):
        sizes = _Sizes(draw)
        input_ids, mask = _padded(draw, sizes)
        yield case(input_ids, mask, build=_draw_layer(draw, sizes, layer, positional, look=("attend",)))
    yield case(_tokens(draw, sizes), build=_draw_layer(draw, sizes, look=("attend",)))


@text_classifier.group("gradients, and none for the padding's embedding", points=2)
def gradients(draw):
    sizes = _Sizes(draw)
    input_ids, mask = _padded(draw, sizes)
    yield case(input_ids, mask, build=_draw_layer(draw, sizes, positional=True, double=True), gradients=True)
    # Here the padding is seen, and yet its embedding must not learn.
    layer = _draw_layer(draw, sizes, NAIVE, double=True)
    yield case(input_ids, build=layer, gradients=True)


class _Classifier(nn.Module):
    """A correct layer; each mistake, and each correct answer, changes a part of it."""

    padding_idx = 0

    def __init__(self, vocab_size, embed_dim, num_classes, attention, positional=None):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=self.padding_idx)
        self.attention = attention
        self.positional = positional
        self.fc1 = nn.Linear(embed_dim, 128)
        self.final = nn.Linear(128, num_classes)

    def place(self, x):
        return x if self.positional is None else self.positional(x)

    def embed(self, input_ids):
        return self.place(self.embedding(input_ids))

    def seen(self, input_ids, mask):
        return mask

    def after(self, x, output):
        return output

    def look(self, x, mask):
        output, weights = self.attention(x, mask=mask)
        return self.after(x, output), weights

    def read(self, output):
        return output[:, 0]

    def decide(self, read):
        return self.final(F.relu(self.fc1(read)))

    def forward(self, input_ids, mask=None):
        return self.decide(self.read(self.look(self.embed(input_ids), self.seen(input_ids, mask))[0]))

    def attend(self, input_ids, mask=None):
        return self.look(self.embed(input_ids), self.seen(input_ids, mask))[1]


@text_classifier.accepted_alternative
class EverythingNamed(_Classifier):
    def __init__(self, vocab_size, embed_dim, num_classes, attention, positional=None):
        super().__init__(vocab_size, embed_dim, num_classes, attention)
        self.positional = nn.Identity() if positional is None else positional
        self.relu = nn.ReLU()

    def forward(self, input_ids, mask=None):
        x = self.positional(self.embedding(input_ids))
        output, weights = self.attention(query=x, key=x, value=x, mask=mask)
        batch, length, width = output.shape
        first = output.reshape(batch, length * width)[:, :width]
        return self.final(self.relu(self.fc1(first)))

    def attend(self, input_ids, mask=None):
        x = self.positional(self.embedding(input_ids))
        return self.attention(query=x, mask=mask)[-1]


@text_classifier.accepted_alternative(
    "Reads the first position at the very end: all positions are classified, and one is kept. This is "
    "good if you need a prediction for each token later, and wasteful here. (embed is your embeddings "
    "with their positions.)"
)
class AllPlacesThenTheFirst(_Classifier):
    def forward(self, input_ids, mask=None):
        output, _ = self.attention(self.embed(input_ids), None, None, mask)
        return self.final(torch.relu(self.fc1(output)))[:, 0, :]


@text_classifier.accepted_alternative(
    "Keeps the weights of the last call, so that a picture needs no second pass. This is convenient for a"
    " plot; in a model that is saved or run in parallel, state between calls causes trouble."
)
class RemembersItsWeights(_Classifier):
    def forward(self, input_ids, mask=None):
        output, self.weights = self.look(self.embed(input_ids), mask)
        return self.final(self.fc1(output.select(1, 0)).clamp(min=0))

    def attend(self, input_ids, mask=None):
        self(input_ids, mask)
        return self.weights


@text_classifier.accepted_alternative
class OnlyTheFirstQueryAsks(_Classifier):
    def forward(self, input_ids, mask=None):
        x = self.embed(input_ids)
        output, _ = self.attention(x[:, :1], x, x, mask=mask)
        return self.decide(output.squeeze(1))


@text_classifier.accepted_alternative
class AddsPositionsFromWithin(_Classifier):
    def run(self, input_ids, mask):
        x = F.embedding(input_ids, self.embedding.weight, padding_idx=0)
        if self.positional:
            x = self.positional(x)
        kwargs = {} if mask is None else {"mask": mask}
        output, weights = self.attention(x, **kwargs)
        hidden = F.linear(output[:, 0, :], self.fc1.weight, self.fc1.bias)
        return self.final(hidden * (hidden > 0)), weights

    def forward(self, input_ids, mask=None):
        return self.run(input_ids, mask)[0]

    def attend(self, input_ids, mask=None):
        with torch.no_grad():
            return self.run(input_ids, mask)[1]
