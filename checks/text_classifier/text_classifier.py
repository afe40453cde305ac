"""The exercise `TextClassifier`, on the given layers and on one of the judge's own."""

import torch

from attention_lab.authoring import Exercise, LayerDraw, Tolerance, build, case

from .text_classifier_attention import EFFICIENT, NAIVE, TORCHS, attention, positions, unheard_of

text_classifier = Exercise(
    "TextClassifier",
    results=("logits", "attend"),
    axes=(("texts", "classes"), ("queries", "keys")),
    # The unheard-of layer takes the sine of scores of about a hundred: what these lose in float32, by
    # the order in which a processor adds, it hands on many times over, up to 1e-4 in the logits.
    tolerance=Tolerance(float32=(1e-3, 2e-3)),
    draw=LayerDraw,
    mistakes_from=("text_classifier_mistakes", "text_classifier_mistakes_in_parts"),
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
