"""The exercise `load_block`, and the mistakes it can name."""

import torch

from attention_lab.authoring import Exercise, SmallLayerDraw, add_mistakes, case

load_block = Exercise(
    "load_block",
    results=("state_dict",),
    draw=SmallLayerDraw,
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
    """Return what happens where an entry is missing: which error, and whether it names one that is."""

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
def by_a_loop(weights, layer):
    state = {}
    for part, bert_part in reversed(PARTS.items()):
        for kind in ("bias", "weight"):
            name = ".".join(("encoder", "layer", str(layer), bert_part, kind))
            if name not in weights:
                raise KeyError(name)
            state[part + "." + kind] = weights[name]
    return state


def _exchanged(one, other):
    """The names with two of BERT's changed over."""
    return PARTS | {one: PARTS[other], other: PARTS[one]}


def prefix_match(weights, layer):
    state = load(weights, layer)
    for entry, tensor in weights.items():
        if entry.startswith(f"encoder.layer.{layer}"):
            name, _, kind = entry.rpartition(".")
            for part, bert_part in PARTS.items():
                if name.split(".", 3)[-1] == bert_part:
                    state[f"{part}.{kind}"] = tensor
    return state


add_mistakes(
    load_block,
    query_and_key_exchanged=(
        "Query and key have changed places. Both are square, so no shape shows it, and the table of scores "
        "comes out transposed. Load each under its own name.",
        lambda weights, layer: load(weights, layer, _exchanged("attention.query", "attention.key")),
    ),
    key_and_value_exchanged=(
        "Key and value have changed places. Both have the same shape, so nothing raises an error. Load each "
        "under its own name.",
        lambda weights, layer: load(weights, layer, _exchanged("attention.key", "attention.value")),
    ),
    norms_exchanged=(
        "The two norms have changed places: `attention.output.LayerNorm` is the one after the attention, "
        "`norm1`.",
        lambda weights, layer: load(weights, layer, _exchanged("norm1", "norm2")),
    ),
    outputs_exchanged=(
        "`attention.output` and `linear2` have changed places: `attention.output.dense` mixes the heads, "
        "`output.dense` is the second feed-forward layer.",
        lambda weights, layer: load(weights, layer, _exchanged("attention.output", "linear2")),
    ),
    linears_exchanged=(
        "The feed-forward layers have changed places: `intermediate.dense` leads from E to hidden_dim and is "
        "`linear1`.",
        lambda weights, layer: load(weights, layer, _exchanged("linear1", "linear2")),
    ),
    transposed=(
        "The weights are transposed. BERT's checkpoints hold (out, in), as `nn.Linear` does: take them as "
        "they are. GPT-2's checkpoints are the ones that need a transpose.",
        lambda weights, layer: {
            name: tensor.mT if tensor.dim() == 2 else tensor for name, tensor in load(weights, layer).items()
        },
    ),
    prefix_match=(
        "For layer 1 you also took entries of layer 10, 11 or 21, because their names begin with the same "
        "characters. Use the prefix `encoder.layer.1.`, with the dot at its end.",
        prefix_match,
    ),
    suffix_match=(
        "`attention.output` holds what belongs to `linear2`: two entries end in `output.dense`. Compare the "
        "whole name.",
        lambda weights, layer: load(weights, layer, PARTS | {"attention.output": "output.dense"}),
    ),
    norm_suffix_match=(
        "`norm1` holds what belongs to `norm2`: two entries end in `output.LayerNorm`. Compare the whole "
        "name.",
        lambda weights, layer: load(weights, layer, PARTS | {"norm1": "output.LayerNorm"}),
    ),
    always_layer_zero=(
        "This is always layer 0: `layer` is not used. Put it into the name of every entry.",
        lambda weights, layer: load(weights, 0),
    ),
    counted_from_one=(
        "This is the layer before the one that was asked for. The names count from 0, as `layer` does.",
        lambda weights, layer: load(weights, layer - 1),
    ),
    by_order=(
        "The entries are taken by their position in the dict. Their order means nothing: find each by its "
        "name.",
        lambda weights, layer: dict(
            zip(
                load(weights, layer),
                [tensor for entry, tensor in weights.items() if entry.startswith(f"encoder.layer.{layer}.")],
            )
        ),
    ),
    no_biases=(
        "The biases are missing. Each of the eight parts has a weight and a bias: sixteen entries in total.",
        lambda weights, layer: {
            name: tensor for name, tensor in load(weights, layer).items() if name.endswith("weight")
        },
    ),
)


@load_block.mistake(
    "The result is right if no entry is missing. A missing one is left out silently: raise a KeyError with "
    "its full name instead."
)
def skips_what_is_missing(weights, layer):
    names = {f"{part}.{kind}": f"encoder.layer.{layer}.{bert}.{kind}" for part, bert in PARTS.items()
             for kind in ("weight", "bias")}  # fmt: skip
    return {name: weights[entry] for name, entry in names.items() if entry in weights}


@load_block.mistake(
    "A missing entry becomes None and no error is raised, as with `dict.get`. Read it with square brackets: "
    "they raise a KeyError with its full name."
)
def none_for_what_is_missing(weights, layer):
    return {f"{part}.{kind}": weights.get(f"encoder.layer.{layer}.{bert}.{kind}")
            for part, bert in PARTS.items() for kind in ("weight", "bias")}  # fmt: skip


@load_block.mistake(
    "A missing entry raises a ValueError. Raise a KeyError: that is the error for a name that a dict does"
    " not have."
)
def value_error_for_what_is_missing(weights, layer):
    try:
        return load(weights, layer)
    except KeyError as error:
        raise ValueError(f"the checkpoint has no {error}") from error


@load_block.mistake(
    "The KeyError for a missing entry holds only the end of the name. Give the full name, from "
    "`encoder.layer.` on: it says which layer is incomplete."
)
def short_name_in_the_error(weights, layer):
    start = f"encoder.layer.{layer}."
    own = {entry.removeprefix(start): tensor for entry, tensor in weights.items() if entry.startswith(start)}
    return load(own, layer, prefix="")


@load_block.mistake(
    "These are BERT's names. The `load_state_dict` of your class expects the names of its own attributes: "
    "`attention.query.weight` and so on."
)
def berts_own_names(weights, layer):
    start = f"encoder.layer.{layer}."
    return {name.removeprefix(start): tensor for name, tensor in weights.items() if name.startswith(start)}


@load_block.mistake(
    "The entries are removed from `weights`, so a second call does not find them. Read them, and leave the "
    "dict as it is."
)
def takes_them_out(weights, layer):
    state = load(weights, layer)
    for entry in [entry for entry in weights if entry.startswith(f"encoder.layer.{layer}.")]:
        del weights[entry]
    return state
