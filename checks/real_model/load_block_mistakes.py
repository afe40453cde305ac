"""The mistakes that the grader can name in `load_block`."""

import torch

from .load_block import PARTS, load, load_block


def _exchanged(one, other):
    """The names with two of BERT's changed over."""
    return PARTS | {one: PARTS[other], other: PARTS[one]}


@load_block.mistake(
    "Query and key have changed places. Both are square, so no shape shows it, and the table of scores comes "
    "out transposed. Load each under its own name."
)
def query_and_key_exchanged(weights, layer):
    return load(weights, layer, _exchanged("attention.query", "attention.key"))


@load_block.mistake(
    "Key and value have changed places. Both have the same shape, so nothing raises an error. Load each "
    "under its own name."
)
def key_and_value_exchanged(weights, layer):
    return load(weights, layer, _exchanged("attention.key", "attention.value"))


@load_block.mistake(
    "The two norms have changed places: `attention.output.LayerNorm` is the one after the attention, `norm1`."
)
def norms_exchanged(weights, layer):
    return load(weights, layer, _exchanged("norm1", "norm2"))


@load_block.mistake(
    "`attention.output` and `linear2` have changed places: `attention.output.dense` mixes the heads, "
    "`output.dense` is the second feed-forward layer."
)
def outputs_exchanged(weights, layer):
    return load(weights, layer, _exchanged("attention.output", "linear2"))


@load_block.mistake(
    "The feed-forward layers have changed places: `intermediate.dense` leads from E to hidden_dim and is "
    "`linear1`."
)
def linears_exchanged(weights, layer):
    return load(weights, layer, _exchanged("linear1", "linear2"))


@load_block.mistake(
    "The weights are transposed. BERT's checkpoints hold (out, in), as `nn.Linear` does: take them as "
    "they are. GPT-2's checkpoints are the ones that need a transpose."
)
def transposed(weights, layer):
    return {name: tensor.mT if tensor.dim() == 2 else tensor for name, tensor in load(weights, layer).items()}


@load_block.mistake(
    "For layer 1 you also took entries of layer 10, 11 or 21, because their names begin with the same "
    "characters. Use the prefix `encoder.layer.1.`, with the dot at its end."
)
def prefix_match(weights, layer):
    state = load(weights, layer)
    for entry, tensor in weights.items():
        if entry.startswith(f"encoder.layer.{layer}"):
            name, _, kind = entry.rpartition(".")
            for part, bert_part in PARTS.items():
                if name.split(".", 3)[-1] == bert_part:
                    state[f"{part}.{kind}"] = tensor
    return state


@load_block.mistake(
    "`attention.output` holds what belongs to `linear2`: two entries end in `output.dense`. Compare the "
    "whole name."
)
def suffix_match(weights, layer):
    return load(weights, layer, PARTS | {"attention.output": "output.dense"})


@load_block.mistake(
    "`norm1` holds what belongs to `norm2`: two entries end in `output.LayerNorm`. Compare the whole name."
)
def norm_suffix_match(weights, layer):
    return load(weights, layer, PARTS | {"norm1": "output.LayerNorm"})


@load_block.mistake("This is always layer 0: `layer` is not used. Put it into the name of every entry.")
def always_layer_zero(weights, layer):
    return load(weights, 0)


@load_block.mistake(
    "This is the layer before the one that was asked for. The names count from 0, as `layer` does."
)
def counted_from_one(weights, layer):
    return load(weights, layer - 1)


@load_block.mistake(
    "The entries are taken by their position in the dict. Their order means nothing: find each by its name."
)
def by_order(weights, layer):
    block_tensors = [
        tensor for entry, tensor in weights.items() if entry.startswith(f"encoder.layer.{layer}.")
    ]
    return dict(zip(load(weights, layer), block_tensors))


@load_block.mistake(
    "The biases are missing. Each of the eight parts has a weight and a bias: sixteen entries in total."
)
def no_biases(weights, layer):
    return {name: tensor for name, tensor in load(weights, layer).items() if name.endswith("weight")}


@load_block.mistake("The norms are missing: `norm1` and `norm2` have a trained weight and bias too.")
def no_norms(weights, layer):
    return {name: tensor for name, tensor in load(weights, layer).items() if not name.startswith("norm")}


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
    "An unknown entry under the layer's prefix raises an error. Read the sixteen entries that you need, and "
    "ignore the others."
)
def refuses_unknown_entries(weights, layer):
    known = {f"{bert_part}.{kind}" for bert_part in PARTS.values() for kind in ("weight", "bias")}
    start = f"encoder.layer.{layer}."
    for entry in weights:
        if entry.startswith(start) and entry.removeprefix(start) not in known:
            raise ValueError(f"what is {entry}?")
    return load(weights, layer)


@load_block.mistake(
    "These are BERT's names. The `load_state_dict` of your class expects the names of its own attributes: "
    "`attention.query.weight` and so on."
)
def berts_own_names(weights, layer):
    start = f"encoder.layer.{layer}."
    return {name.removeprefix(start): tensor for name, tensor in weights.items() if name.startswith(start)}


@load_block.mistake(
    "All tensors come back in the dtype of one of them. A checkpoint may hold several dtypes, such as norms "
    "in float32 beside weights in float16: return each tensor as it is."
)
def one_dtype_for_all(weights, layer):
    dtype = weights[f"encoder.layer.{layer}.output.LayerNorm.bias"].dtype
    return {name: tensor.to(dtype) for name, tensor in load(weights, layer).items()}


@load_block.mistake(
    "The tensors of a checkpoint come back as float32, those in float64 too. Return them as they are; "
    "`load_state_dict` converts them."
)
def always_float32(weights, layer):
    return {name: tensor.to(torch.float32) for name, tensor in load(weights, layer).items()}


@load_block.mistake(
    "The entries are removed from `weights`, so a second call does not find them. Read them, and leave the "
    "dict as it is."
)
def takes_them_out(weights, layer):
    state = load(weights, layer)
    for entry in [entry for entry in weights if entry.startswith(f"encoder.layer.{layer}.")]:
        del weights[entry]
    return state
