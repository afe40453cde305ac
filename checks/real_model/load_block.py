"""What the grader checks about `load_block`; its mistakes are in a file of their own."""

import torch

from attention_lab.authoring import Exercise, SmallLayerDraw, case

load_block = Exercise(
    "load_block",
    results=("state_dict",),
    draw=SmallLayerDraw,
    mistakes_from=("load_block_mistakes",),
)

# Our name of each part, and BERT's.
PARTS = {
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.output": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
    "norm2": "output.LayerNorm",
}


def _layer(draw, layer, embed_dim, hidden_dim, dtype):
    """The sixteen tensors of one layer under BERT's names."""
    shapes = dict.fromkeys(PARTS.values(), (embed_dim, embed_dim))
    shapes |= {"intermediate.dense": (hidden_dim, embed_dim), "output.dense": (embed_dim, hidden_dim)}
    weights = {}
    for name, shape in shapes.items():
        norm = name.endswith("LayerNorm")
        prefix = f"encoder.layer.{layer}.{name}"
        weights[f"{prefix}.weight"] = draw.normal(*(shape[:1] if norm else shape), dtype=dtype)
        weights[f"{prefix}.bias"] = draw.normal(shape[0], dtype=dtype)
    return weights


def _weights(draw, layers, dtype=torch.float32, sizes=None, others=True):
    """A checkpoint with these layers in any order, and entries that belong to none."""
    embed_dim, hidden_dim = sizes or draw.sizes(2)
    weights = {}
    for layer in layers:
        weights |= _layer(draw, layer, embed_dim, hidden_dim, dtype)
    if others:
        weights["embeddings.word_embeddings.weight"] = draw.normal(embed_dim, embed_dim, dtype=dtype)
        weights["embeddings.LayerNorm.weight"] = draw.normal(embed_dim, dtype=dtype)
        weights["pooler.dense.weight"] = draw.normal(embed_dim, embed_dim, dtype=dtype)
        weights["pooler.dense.bias"] = draw.normal(embed_dim, dtype=dtype)
    return {name: weights[name] for name in draw.shuffled(tuple(weights))}


@load_block.group("one layer", points=2)
def one_layer(draw):
    yield case(_weights(draw, (0,), others=False), 0)
    yield case(_weights(draw, (0,)), 0)


@load_block.group("a layer among others", points=2)
def among_others(draw):
    layers = draw.shuffled((23, 25, 26, 29))
    yield case(_weights(draw, layers), layers[0])
    yield case(_weights(draw, layers), layers[1])


@load_block.group("layer 1 beside layers 10, 11 and 21", points=1)
def beside_ten(draw):
    layers = draw.shuffled((1, 10, 11, 21))
    yield case(_weights(draw, layers, sizes=(7, 9)), 1)
    yield case(_weights(draw, layers, sizes=(7, 9)), 11)


@load_block.group("other dtypes, several in one layer; as wide inside as outside, widths of 1", points=1)
def edges(draw):
    yield case(_weights(draw, (0, 1), torch.float64), 1)
    half = _weights(draw, (0, 1))
    yield case({name: each if "LayerNorm" in name else each.half() for name, each in half.items()}, 1)
    yield case(_weights(draw, (0,), torch.bfloat16, sizes=(1, 7)), 0)
    yield case(_weights(draw, (0,), sizes=(7, 1)), 0)
    (size,) = draw.sizes(1)
    yield case(_weights(draw, (0, 1), sizes=(size, size)), 0)


@load_block.group("unknown entries under the layer's own prefix", points=1)
def unknown_entries(draw):
    weights = _weights(draw, (23, 25), sizes=(9, 7))
    for name in ("attention.self.distance.weight", "attention.output.adapter.dense.weight", "output.scale"):
        weights[f"encoder.layer.23.{name}"] = draw.normal(9)
    yield case({name: weights[name] for name in draw.shuffled(tuple(weights))}, 23)


def telling(answer):
    """What happens where an entry is missing: which error, and whether it names one that is."""

    def told(weights, layer, missing):
        try:
            result = answer(weights, layer)
        except Exception as error:
            named = any(name in str(error) for name in missing)
            kind = type(error).__name__
            return {"error": kind, "names a missing entry in full": named}
        names = sorted(result) if isinstance(result, dict) else type(result).__name__
        return {"error": "none", "returned instead": names}

    return told


@load_block.group("a missing entry raises a KeyError with its name", points=1, withhold_points=True)
def missing(draw):
    for name in draw.shuffled(tuple(PARTS.values()))[:3]:
        weights = _weights(draw, (1, 2), sizes=(7, 9))
        entry = f"encoder.layer.1.{name}.{draw.shuffled(('weight', 'bias'))[0]}"
        del weights[entry]
        yield case(weights, 1, [entry], through=telling)
    weights = _weights(draw, (1, 12), sizes=(7, 9))
    absent = [f"encoder.layer.2.{name}.{kind}" for name in PARTS.values() for kind in ("weight", "bias")]
    yield case(weights, 2, absent, through=telling)


def load(weights, layer, parts=None, prefix="encoder.layer.{}."):
    """A correct answer; a mistake changes the names, or what is taken."""
    parts = PARTS if parts is None else parts
    start = prefix.format(layer)
    return {
        f"{part}.{kind}": weights[f"{start}{bert_part}.{kind}"]
        for part, bert_part in parts.items()
        for kind in ("weight", "bias")
    }


@load_block.accepted_alternative(
    "One entry per line: longer, and nothing to work out. In a project, this is the form that a reader can "
    "compare with the checkpoint."
)
def line_by_line(weights, layer):
    start = f"encoder.layer.{layer}"
    attention, output = f"{start}.attention.self", f"{start}.attention.output"
    return {
        "attention.query.weight": weights[f"{attention}.query.weight"],
        "attention.query.bias": weights[f"{attention}.query.bias"],
        "attention.key.weight": weights[f"{attention}.key.weight"],
        "attention.key.bias": weights[f"{attention}.key.bias"],
        "attention.value.weight": weights[f"{attention}.value.weight"],
        "attention.value.bias": weights[f"{attention}.value.bias"],
        "attention.output.weight": weights[f"{output}.dense.weight"],
        "attention.output.bias": weights[f"{output}.dense.bias"],
        "norm1.weight": weights[f"{output}.LayerNorm.weight"],
        "norm1.bias": weights[f"{output}.LayerNorm.bias"],
        "linear1.weight": weights[f"{start}.intermediate.dense.weight"],
        "linear1.bias": weights[f"{start}.intermediate.dense.bias"],
        "linear2.weight": weights[f"{start}.output.dense.weight"],
        "linear2.bias": weights[f"{start}.output.dense.bias"],
        "norm2.weight": weights[f"{start}.output.LayerNorm.weight"],
        "norm2.bias": weights[f"{start}.output.LayerNorm.bias"],
    }


@load_block.accepted_alternative(
    "The other way round: cut the layer's own entries out, rename those that are known, and look at the end "
    "whether one is missing."
)
def by_renaming(weights, layer):
    start, ours = f"encoder.layer.{layer}.", {bert_part: name for name, bert_part in PARTS.items()}
    state = {}
    for entry, tensor in weights.items():
        name, _, kind = entry.removeprefix(start).rpartition(".")
        if entry.startswith(start) and name in ours and kind in ("weight", "bias"):
            state[f"{ours[name]}.{kind}"] = tensor
    for name, bert_part in PARTS.items():
        for kind in ("weight", "bias"):
            if f"{name}.{kind}" not in state:
                raise KeyError(f"{start}{bert_part}.{kind} is not in the checkpoint")
    return state


@load_block.accepted_alternative
def clones(weights, layer):
    return {name: tensor.detach().clone() for name, tensor in load(weights, layer).items()}


@load_block.accepted_alternative
def views(weights, layer):
    return {name: tensor.view(tensor.shape) for name, tensor in load(weights, layer).items()}


@load_block.accepted_alternative
def by_a_loop(weights, layer):
    state = {}
    for part, bert_part in reversed(PARTS.items()):
        for kind in ("bias", "weight"):
            name = ".".join(("encoder", "layer", str(layer), bert_part, kind))
            if name not in weights:
                raise KeyError(name)
            state[part + "." + kind] = weights[name]
    return state
