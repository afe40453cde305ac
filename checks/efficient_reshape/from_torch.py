"""The exercise `from_torch`, and the mistakes it can name."""

import torch
import torch.nn as nn

from attention_lab.authoring import Exercise, SmallDraw, add_mistakes, case, made_by

from_torch = Exercise(
    "from_torch",
    results=("state_dict",),
    draw=SmallDraw,
)


def torchs_layer(embed_dim, num_heads, bias, state):
    layer = nn.MultiheadAttention(embed_dim, num_heads, bias=bias, batch_first=True)
    layer.to(state["out_proj.weight"]).load_state_dict(state)
    return layer


def _mha(draw, embed_dim, num_heads, bias, dtype=torch.float32):
    """torch's layer, with weights and biases of the judge's."""
    shapes = {"in_proj_weight": (3 * embed_dim, embed_dim), "out_proj.weight": (embed_dim, embed_dim)}
    if bias:
        shapes |= {"in_proj_bias": (3 * embed_dim,), "out_proj.bias": (embed_dim,)}
    state = {name: draw.normal(*shape, dtype=dtype) for name, shape in shapes.items()}
    return made_by(torchs_layer, embed_dim=embed_dim, num_heads=num_heads, bias=bias, state=state)


@from_torch.group("without bias", points=2)
def without_bias(draw):
    for _ in range(2):
        heads, head_size = draw.heads()
        yield case(_mha(draw, heads * head_size, heads, bias=False))


@from_torch.group("with bias", points=2)
def with_bias(draw):
    for _ in range(2):
        heads, head_size = draw.heads()
        yield case(_mha(draw, heads * head_size, heads, bias=True))


@from_torch.group("float64, one head, heads of one number", points=1)
def edges(draw):
    heads, size, other = draw.heads(1)
    yield case(_mha(draw, heads * size, heads, bias=True, dtype=torch.float64))
    yield case(_mha(draw, other, 1, bias=True))
    yield case(_mha(draw, size, size, bias=False))
    yield case(_mha(draw, 1, 1, bias=True))


def _state(mha, weights, biases, *, out_bias=True):
    """A state_dict from three weights and three biases, in the order query, key, value."""
    names = ("query", "key", "value")
    state = {f"{name}.weight": weight for name, weight in zip(names, weights, strict=True)}
    state["output.weight"] = mha.out_proj.weight
    if biases is not None:
        state |= {f"{name}.bias": bias for name, bias in zip(names, biases, strict=True)}
    if mha.out_proj.bias is not None and out_bias:
        state["output.bias"] = mha.out_proj.bias
    return state


def _thirds(mha):
    bias = mha.in_proj_bias
    return mha.in_proj_weight.chunk(3), None if bias is None else bias.chunk(3)


def _reordered(mha, order):
    weights, biases = _thirds(mha)
    return _state(mha, [weights[i] for i in order], biases and [biases[i] for i in order])


add_mistakes(
    from_torch,
    key_before_query=(
        "Query and key are swapped: `query.weight` holds the second third of the packed rows. Torch packs "
        "query, key, value, in that order.",
        lambda mha: _reordered(mha, (1, 0, 2)),
    ),
    value_before_key=(
        "Key and value are swapped: `key.weight` holds the last third of the packed rows. Torch packs query, "
        "key, value, in that order.",
        lambda mha: _reordered(mha, (0, 2, 1)),
    ),
    value_key_query=(
        "The packed rows are read from the end: `query.weight` holds the last third, which is the value's. "
        "Torch packs query, key, value, in that order.",
        lambda mha: _reordered(mha, (2, 1, 0)),
    ),
)


@from_torch.mistake(
    "The weights are transposed. Torch's packed weight is (out, in), and so is that of a Linear: take the "
    "thirds as they are."
)
def transposed(mha):
    weights, biases = _thirds(mha)
    state = _state(mha, [weight.T for weight in weights], biases)
    return state | {"output.weight": mha.out_proj.weight.T}


@from_torch.mistake(
    "The packed weight is cut along its inputs: your `query.weight` has as many rows as all three "
    "together. The three projections are stacked as rows, (3·E, E), so cut the first axis."
)
def cut_along_the_inputs(mha):
    _, biases = _thirds(mha)
    return _state(mha, mha.in_proj_weight.tensor_split(3, dim=1), biases)


@from_torch.mistake(
    "You took every third row, as if query, key and value took turns. Torch stacks them whole: all E rows "
    "of the query, then all of the key, then all of the value."
)
def every_third_row(mha):
    bias = mha.in_proj_bias
    biases = None if bias is None else [bias[i::3] for i in range(3)]
    return _state(mha, [mha.in_proj_weight[i::3] for i in range(3)], biases)


@from_torch.mistake(
    "The rows are cut head by head, as if each head kept its query, key and value rows together (other "
    "libraries do that). Torch packs all heads' queries first, then all keys, then all values: cut into "
    "thirds."
)
def packed_head_by_head(mha):
    embed_dim, heads = mha.embed_dim, mha.num_heads
    weight = mha.in_proj_weight.view(heads, 3, embed_dim // heads, embed_dim)
    weights = [weight[:, i].reshape(embed_dim, embed_dim) for i in range(3)]
    if mha.in_proj_bias is None:
        return _state(mha, weights, None)
    bias = mha.in_proj_bias.view(heads, 3, embed_dim // heads)
    return _state(mha, weights, [bias[:, i].reshape(embed_dim) for i in range(3)])


add_mistakes(
    from_torch,
    no_biases=(
        "Right without bias, but where `mha` has biases they are not in your state_dict. Add four more "
        "entries: one each for query, key, value and output.",
        lambda mha: _state(mha, _thirds(mha)[0], None, out_bias=False),
    ),
    no_output_bias=(
        "The bias of the output projection is missing: where `mha` has biases, the state_dict needs "
        "`output.bias` as well.",
        lambda mha: _state(mha, *_thirds(mha), out_bias=False),
    ),
    always_expects_biases=(
        "Right with biases, but it fails on an `mha` made with bias=False, where `in_proj_bias` and "
        "`out_proj.bias` are None. Test for None before you cut them, and leave those entries out.",
        lambda mha: _state(mha, mha.in_proj_weight.chunk(3), mha.in_proj_bias.chunk(3)),
    ),
    no_output_projection=(
        "The output projection is missing: `output.weight` (torch calls it `out_proj`) mixes the heads at "
        "the end, and belongs to the layer too.",
        lambda mha: {
            name: tensor
            for name, tensor in _state(mha, *_thirds(mha)).items()
            if not name.startswith("output")
        },
    ),
    torchs_own_state_dict=(
        "These are torch's own names. Your class has `query`, `key`, `value` and `output`: cut "
        "`in_proj_weight` into three and rename everything.",
        lambda mha: mha.state_dict(),
    ),
)


@from_torch.accepted_alternative(
    "split cuts into pieces of a given size, chunk into a given number of pieces: here you know the size, "
    "E. There is no loop over weight and bias, so each entry can be seen."
)
def by_splitting(mha):
    parts = zip(("query", "key", "value"), mha.in_proj_weight.detach().split(mha.embed_dim))
    state = {f"{name}.weight": rows for name, rows in parts} | {"output.weight": mha.out_proj.weight.detach()}
    if mha.in_proj_bias is None:
        return state
    parts = zip(("query", "key", "value"), mha.in_proj_bias.detach().split(mha.embed_dim))
    return state | {f"{name}.bias": row for name, row in parts} | {"output.bias": mha.out_proj.bias.detach()}


@from_torch.accepted_alternative(
    "Cuts by row numbers, so the order query, key, value is visible in the numbers; clone makes the parts "
    "independent of torch's layer."
)
def by_slices(mha):
    size, packed = mha.embed_dim, mha.state_dict()
    state = {}
    for kind in ("weight", "bias"):
        if f"in_proj_{kind}" in packed:
            for place, name in enumerate(("query", "key", "value")):
                rows = packed[f"in_proj_{kind}"][place * size : (place + 1) * size]
                state[f"{name}.{kind}"] = rows.clone()
            state[f"output.{kind}"] = packed[f"out_proj.{kind}"]
    return state
