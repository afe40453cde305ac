"""The exercise `load_decoder`, and the mistakes it can name."""

import torch

from attention_lab.authoring import Exercise, add_mistakes, case

from .layers import ModelDraw

load_decoder = Exercise(
    "load_decoder",
    results=("state_dict",),
    draw=ModelDraw,
)

# Our name of each part, and GGUF's.
PARTS = {
    "norm1": "attn_norm",
    "attention.query": "attn_q",
    "attention.key": "attn_k",
    "attention.value": "attn_v",
    "attention.output": "attn_output",
    "norm2": "ffn_norm",
    "mlp.gate": "ffn_gate",
    "mlp.up": "ffn_up",
    "mlp.down": "ffn_down",
}
# Query heads, key/value heads, head size.
MANY, DEFAULT, OTHER = (14, 7, 6), (9, 3, 6), (6, 2, 8)


def _layer(draw, layer, sizes, hidden_dim, dtype):
    """The nine tensors of one layer under GGUF's names."""
    heads, kv_heads, head_size = sizes
    width, kv_width = heads * head_size, kv_heads * head_size
    shapes = {"attn_norm": (width,), "ffn_norm": (width,)}
    shapes |= {"attn_q": (width, width), "attn_output": (width, width)}
    shapes |= {"attn_k": (kv_width, width), "attn_v": (kv_width, width)}
    shapes |= {
        "ffn_gate": (hidden_dim, width),
        "ffn_up": (hidden_dim, width),
        "ffn_down": (width, hidden_dim),
    }
    return {f"blk.{layer}.{name}.weight": draw.normal(*shape, dtype=dtype) for name, shape in shapes.items()}


def _tensors(draw, layers, sizes=MANY, dtype=torch.float32, hidden_dim=None, others=True):
    """A file with these layers in any order, and entries that belong to none."""
    tensors = {}
    hidden_dim = hidden_dim or draw.shuffled((13, 15))[0]
    for layer in layers:
        tensors |= _layer(draw, layer, sizes, hidden_dim, dtype)
    if others:
        width = sizes[0] * sizes[2]
        tensors["token_embd.weight"] = draw.normal(17, width, dtype=dtype)
        tensors["output_norm.weight"] = draw.normal(width, dtype=dtype)
        tensors["attn_q.weight"] = draw.normal(width, width, dtype=dtype)
    return {name: tensors[name] for name in draw.shuffled(tuple(tensors))}


@load_decoder.group("one layer of a GGUF file: rows stay", points=1.5)
def one_layer(draw):
    yield case(_tensors(draw, (0,), others=False), 0)
    yield case(_tensors(draw, (0,), DEFAULT), 0, "pairs")
    yield case(_tensors(draw, (0,)), layer=0, layout="pairs", num_heads=14, num_kv_heads=7)


@load_decoder.group("a layer among others, 1 beside 10, 11 and 21", points=1)
def among_others(draw):
    layers = draw.shuffled((1, 10, 11, 21))
    for layer in (1, 11):
        yield case(_tensors(draw, layers, (7, 1, 2)), layer)
    yield case(_tensors(draw, draw.shuffled((2, 12)), (7, 1, 6)), 12, "halves", 7, 1)


@load_decoder.group("another checkpoint: the rows of query and key, head by head", points=2)
def halves(draw):
    yield case(_tensors(draw, (0,)), 0, "halves", 14, 7)
    yield case(_tensors(draw, (0, 1), DEFAULT), 1, "halves")
    yield case(_tensors(draw, (0,), OTHER), 0, layout="halves", num_heads=6, num_kv_heads=2)


@load_decoder.group(
    "other dtypes, as many key/value heads as query heads, one for all, heads of two numbers", points=1
)
def edges(draw):
    for dtype, layout in ((torch.float64, "halves"), (torch.float16, "halves"), (torch.bfloat16, "pairs")):
        yield case(_tensors(draw, (0, 1), (7, 7, 6), dtype), 1, layout, 7, 7)
    yield case(_tensors(draw, (0,), (7, 1, 10)), 0, "halves", 7, 1)
    yield case(_tensors(draw, (0,), (1, 1, 14), hidden_dim=14), 0, "halves", 1, 1)
    yield case(_tensors(draw, (0,), (14, 7, 2)), 0, "halves", 14, 7)


@load_decoder.group("unknown entries under the layer's own prefix", points=0.5)
def unknown_entries(draw):
    tensors = _tensors(draw, (23, 25), (7, 1, 6))
    for name in (
        "attn_q.bias",
        "attn_q_norm.weight",
        "ffn_gate_inp.weight",
        "attn_output.scale",
        "attn_qkv.weight",
    ):
        tensors[f"blk.23.{name}"] = draw.normal(42)
    yield case({name: tensors[name] for name in draw.shuffled(tuple(tensors))}, 23, "halves", 7, 1)


def telling(answer):
    """What happens where something does not fit: which error, and whether it names a missing entry."""

    def told(tensors, layer, missing, given):
        try:
            result = answer(tensors, layer, **given)
        except Exception as error:
            report = {"error": type(error).__name__}
            named = any(name in str(error) for name in missing)
            return report | ({"names a missing entry in full": named} if missing else {})
        if not isinstance(result, dict):
            return {"error": "none", "returned instead": type(result).__name__}
        query, old = result.get("attention.query.weight"), tensors.get(f"blk.{layer}.attn_q.weight")
        moved = isinstance(query, torch.Tensor) and old is not None and not torch.equal(query, old)
        nothing = sum(tensor is None for tensor in result.values())
        rows = "in another order" if moved else "as they were"
        words = f"{len(result)} entries, {nothing} of them None, the query's rows {rows}"
        return {"error": "none", "returned instead": words}

    return told


@load_decoder.group("a missing entry raises a KeyError with its name", points=1, withhold_points=True)
def missing_entries(draw):
    for name, layout in zip(draw.shuffled(tuple(PARTS.values()))[:4], ("pairs", "halves") * 2, strict=True):
        tensors = _tensors(draw, (1, 2, 11), (2, 1, 2))
        entry = f"blk.1.{name}.weight"
        del tensors[entry]
        given = {"layout": layout, "num_heads": 2, "num_kv_heads": 1}
        yield case(tensors, 1, [entry], given, through=telling)
    absent = [f"blk.2.{name}.weight" for name in PARTS.values()]
    yield case(_tensors(draw, (1, 12), (7, 1, 2)), 2, absent, {}, through=telling)


@load_decoder.group("another layout raises a ValueError", points=1, withhold_points=True)
def other_layouts(draw):
    for layout in draw.shuffled(("neighbours", "half", "Pairs", "gguf")):
        tensors = _tensors(draw, (0,), (2, 1, 6))
        given = {"layout": layout, "num_heads": 2, "num_kv_heads": 1}
        yield case(tensors, 0, [], given, through=telling)


def _neighbours(rows, heads):
    """The rows of halves in the order of neighbours, head by head."""
    return rows.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2)


def _halves(rows, heads):
    """The other way round, lesson 10's `to_halves`."""
    return rows.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2)


def _query_and_key(num_heads, num_kv_heads):
    return {"attention.query": num_heads, "attention.key": num_kv_heads}


def _strict(layout):
    if layout not in ("pairs", "halves"):
        raise ValueError(f"no layout {layout!r}: it is 'pairs' or 'halves'")
    return layout == "halves"


def load(
    tensors, layer, layout="pairs", num_heads=9, num_kv_heads=3,
    parts=PARTS, name="blk.{}.{}.weight", order=_neighbours, heads=_query_and_key,
    reorders=_strict, look=dict.__getitem__,
):  # fmt: skip
    """A correct answer; a mistake changes the names, the order of rows, or what is done about a gap."""
    reordered = heads(num_heads, num_kv_heads) if reorders(layout) else {}
    state = {}
    for ours, theirs in parts.items():
        tensor = look(tensors, name.format(layer, theirs))
        state[f"{ours}.weight"] = order(tensor, reordered[ours]) if ours in reordered else tensor
    return state


@load_decoder.accepted_alternative(
    "A list of row numbers says what happens in words: of each head, the first row of both halves, then the "
    "second. Print it, and you see the permutation itself."
)
def by_row_numbers(tensors, layer, layout="pairs", num_heads=9, num_kv_heads=3):
    if layout != "pairs" and layout != "halves":
        raise ValueError(f"no layout {layout}")

    def take(name, heads=0):
        rows = tensors[f"blk.{layer}.{name}.weight"]
        if not heads or layout == "pairs":
            return rows.clone()
        half = len(rows) // heads // 2
        order = [
            2 * head * half + at + row for head in range(heads) for row in range(half) for at in (0, half)
        ]
        return rows[order]

    return {
        "norm1.weight": take("attn_norm"),
        "norm2.weight": take("ffn_norm"),
        "attention.query.weight": take("attn_q", num_heads),
        "attention.key.weight": take("attn_k", num_kv_heads),
        "attention.value.weight": take("attn_v"),
        "attention.output.weight": take("attn_output"),
        "mlp.gate.weight": take("ffn_gate"),
        "mlp.up.weight": take("ffn_up"),
        "mlp.down.weight": take("ffn_down"),
    }


@load_decoder.accepted_alternative(
    "Head by head, with both halves stacked: longer, and each step can be looked at. The file's entries are "
    "checked first, so that nothing is done by halves."
)
def head_by_head(tensors, layer, layout="pairs", num_heads=9, num_kv_heads=3):
    names = {f"{ours}.weight": f"blk.{layer}.{theirs}.weight" for ours, theirs in PARTS.items()}
    for name in names.values():
        if name not in tensors:
            raise KeyError(f"{name} is not in the file")
    state = {ours: tensors[theirs] for ours, theirs in names.items()}
    if layout == "halves":
        for ours, count in (("attention.query.weight", num_heads), ("attention.key.weight", num_kv_heads)):
            heads = [torch.stack(head.chunk(2), dim=1).flatten(0, 1) for head in state[ours].chunk(count)]
            state[ours] = torch.cat(heads)
    elif layout != "pairs":
        raise ValueError(layout)
    return state


@load_decoder.accepted_alternative
def with_a_permutation(tensors, layer, layout="pairs", num_heads=9, num_kv_heads=3):
    match layout:
        case "pairs":
            heads = {}
        case "halves":
            heads = {"attn_q": num_heads, "attn_k": num_kv_heads}
        case _:
            raise ValueError("the layout is pairs or halves")
    state = {}
    for ours, theirs in reversed(PARTS.items()):
        rows = tensors[".".join(("blk", str(layer), theirs, "weight"))]
        if theirs in heads:
            result = torch.empty_like(rows).view(heads[theirs], -1, rows.shape[1])
            old = rows.reshape(result.shape)
            result[:, 0::2], result[:, 1::2] = old[:, : old.shape[1] // 2], old[:, old.shape[1] // 2 :]
            rows = result.view(rows.shape)
        state[ours + ".weight"] = rows
    return state


def _exchanged(one, other):
    """The names with two of GGUF's changed over."""
    return PARTS | {one: PARTS[other], other: PARTS[one]}


def _found(tensors, found):
    """The first entry whose name is `found`."""
    return next(tensor for name, tensor in tensors.items() if found(name))


add_mistakes(
    load_decoder,
    load,
    key_and_value_exchanged=(
        "Key and value have changed places. Both have the same shape, so nothing raises an error. Load each "
        "under its own name.",
        {"parts": _exchanged("attention.key", "attention.value")},
    ),
    query_and_key_exchanged=(
        "Query and key have changed places: `attn_q` is the query, `attn_k` the key.",
        {"parts": _exchanged("attention.query", "attention.key")},
    ),
    query_and_output_exchanged=(
        "Query and output have changed places. Both are E by E, so nothing raises an error. Load each under "
        "its own name.",
        {"parts": _exchanged("attention.query", "attention.output")},
    ),
    norms_exchanged=(
        "The two norms have changed places: `attn_norm` is the one before the attention, `norm1`.",
        {"parts": _exchanged("norm1", "norm2")},
    ),
    gate_and_up_exchanged=(
        "`gate` and `up` have changed places. Both have the same shape, so nothing raises an error: the "
        "wrong one goes through silu. Load each under its own name.",
        {"parts": _exchanged("mlp.gate", "mlp.up")},
    ),
    up_and_down_exchanged=(
        "`up` and `down` have changed places: `ffn_down` leads from hidden_dim back to E.",
        {"parts": _exchanged("mlp.up", "mlp.down")},
    ),
    transposed=(
        "The matrices are transposed. They are (out, in) already, as in `nn.Linear`: take them as they are.",
        lambda tensors, layer, *given, **more: {
            name: tensor.mT if tensor.dim() == 2 else tensor
            for name, tensor in load(tensors, layer, *given, **more).items()
        },
    ),
    always_layer_zero=(
        "This is always layer 0: `layer` is not used. Put it into the name of every entry.",
        {"name": "blk.0.{1}.weight"},
    ),
    counted_from_one=(
        "This is the layer before the one that was asked for. The names count from 0, as `layer` does.",
        lambda tensors, layer, *given, **more: load(tensors, layer - 1, *given, **more),
    ),
    prefix_match=(
        "For layer 1 you also took entries of layer 10, 11 or 21: part of a name was compared. Use the full "
        "name, with its dots.",
        {
            "look": lambda tensors, name: [
                tensor
                for entry, tensor in tensors.items()
                if entry.startswith(name[: name.index(".", 4)])
                and entry.split(".")[2:] == name.split(".")[2:]
            ][-1]
        },
    ),
    suffix_match=(
        "Entries of other layers were taken: only the end of a name was compared. Use the full name, with "
        "the number of the layer.",
        {"look": lambda tensors, name: _found(tensors, lambda entry: entry.endswith(name.split(".", 2)[2]))},
    ),
    end_match=(
        "For layer 1 you also took entries of layer 11 or 21, because their names end with the same "
        "characters. Use the full name, from `blk.` on.",
        {
            "look": lambda tensors, name: _found(
                tensors, lambda entry: entry.endswith(name.removeprefix("blk."))
            )
        },
    ),
    by_order=(
        "The entries are taken by their position in the dict. Their order means nothing: find each by its "
        "name.",
        lambda tensors, layer, *given, **more: dict(
            zip(
                load(tensors, layer, *given, **more),
                [tensor for entry, tensor in tensors.items() if entry.startswith(f"blk.{layer}.")],
            )
        ),
    ),
    files_own_names=(
        "These are the file's names. The `load_state_dict` of your class expects the names of its own "
        "attributes: `attention.query.weight` and so on.",
        {
            "parts": {theirs: theirs for theirs in PARTS.values()},
            "heads": lambda q, k: {"attn_q": q, "attn_k": k},
        },
    ),
    without_the_ending=(
        "The names lack `.weight` at their end. The `load_state_dict` of your class expects it.",
        lambda tensors, layer, *given, **more: {
            name.removesuffix(".weight"): tensor
            for name, tensor in load(tensors, layer, *given, **more).items()
        },
    ),
    other_entries_kept=(
        "Entries that your class does not have came along under the names of the file. Return these nine "
        "and no others.",
        lambda tensors, layer, *given, **more: (
            {
                name: tensor
                for name, tensor in tensors.items()
                if name.startswith(f"blk.{layer}.")
                and name.removeprefix(f"blk.{layer}.") not in {f"{part}.weight" for part in PARTS.values()}
            }
            | load(tensors, layer, *given, **more)
        ),
    ),
    layout_ignored=(
        "`layout` changes nothing: rows stay as they are. In the layout of halves, put the rows of query and "
        "key into the order of neighbours.",
        {"order": lambda rows, heads: rows},
    ),
    always_reordered=(
        "The rows of query and key are put in another order in both layouts. In a GGUF file, whose rows are "
        "in pairs, they are right already.",
        {"reorders": lambda layout: _strict(layout) or True},
    ),
    layouts_exchanged=(
        'The layouts have changed places: rows stay with "pairs", and are reordered with "halves".',
        {"reorders": lambda layout: not _strict(layout)},
    ),
    halves_by_default=(
        'Without `layout`, rows are reordered. The default is "pairs", the order of GGUF files.',
        lambda tensors, layer, layout="halves", num_heads=9, num_kv_heads=3: load(
            tensors, layer, layout, num_heads, num_kv_heads
        ),
    ),
    the_other_direction=(
        "The permutation is the inverse of the right one: it is lesson 10's `to_halves` itself. Here rows "
        "come in halves, and the first of both halves go next to each other.",
        {"order": _halves},
    ),
    second_half_first=(
        "The two numbers of each pair are swapped, so the turn goes in the other direction. The row of the "
        "first half comes first.",
        {
            "order": lambda rows, heads: (
                rows.unflatten(0, (heads, 2, -1)).flip(1).transpose(1, 2).flatten(0, 2)
            )
        },
    ),
    across_heads=(
        "The rows were sorted across the whole matrix, so heads are mixed. Cut the rows into heads, and "
        "sort within each.",
        {"order": lambda rows, heads: _neighbours(rows, 1)},
    ),
    across_heads_the_other_direction=(
        "The inverse permutation was applied, and to all rows as one head. Work within each head, and put "
        "the first rows of both halves next to each other.",
        {"order": lambda rows, heads: _halves(rows, 1)},
    ),
    interleaved_heads=(
        "Heads have moved: the rows were cut with the heads as the last axis, so one head's rows come from "
        "all of them. Head 0 owns the first D rows.",
        {"order": lambda rows, heads: rows.unflatten(0, (2, -1, heads)).permute(2, 1, 0, 3).flatten(0, 2)},
    ),
    pairs_kept_together=(
        "The cut is right, but the axes were joined again without being swapped, or in the order they had: "
        "the rows are where they were. Swap the axis of the two halves with that of the pairs.",
        {"order": lambda rows, heads: rows.unflatten(0, (heads, 2, -1)).transpose(0, 1).flatten(0, 2)},
    ),
    columns_instead_of_rows=(
        "The columns were reordered instead of the rows. In a matrix (out, in) the rows belong to the "
        "outputs, which are cut into heads; the columns read the input, and its order stays.",
        {
            "order": lambda rows, heads: (
                rows
                if rows.shape[1] % (2 * heads)
                else rows.unflatten(1, (heads, 2, -1)).transpose(2, 3).flatten(1)
            )
        },
    ),
    kv_heads_ignored=(
        "The key is cut into `num_heads` heads, as the query is. It has `num_kv_heads`: fewer rows, and "
        "heads of the same size.",
        {"heads": lambda num_heads, num_kv_heads: _query_and_key(num_heads, num_heads)},
    ),
    query_heads_ignored=(
        "The query is cut into `num_kv_heads` heads, as the key is. It has `num_heads`.",
        {"heads": lambda num_heads, num_kv_heads: _query_and_key(num_kv_heads, num_kv_heads)},
    ),
    counts_exchanged=(
        "The numbers of heads have changed places: the query has `num_heads`, the key `num_kv_heads`.",
        {"heads": lambda num_heads, num_kv_heads: _query_and_key(num_kv_heads, num_heads)},
    ),
    counts_fixed=(
        "The numbers of heads are always 9 and 3. Use the two arguments.",
        {"heads": lambda num_heads, num_kv_heads: _query_and_key(9, 3)},
    ),
    query_only=(
        "Only the rows of the query are reordered. The keys are turned as well, so theirs have to follow.",
        {"heads": lambda num_heads, num_kv_heads: {"attention.query": num_heads}},
    ),
    key_only=(
        "Only the rows of the key are reordered. The queries are turned as well, so theirs have to follow.",
        {"heads": lambda num_heads, num_kv_heads: {"attention.key": num_kv_heads}},
    ),
    value_as_well=(
        "The rows of the value are reordered as well. Values are not turned: leave them as they are.",
        {
            "heads": lambda num_heads, num_kv_heads: (
                _query_and_key(num_heads, num_kv_heads) | {"attention.value": num_kv_heads}
            )
        },
    ),
    output_as_well=(
        "The rows of `attn_output` are reordered as well. What comes out of it is not turned: leave it as "
        "it is.",
        {
            "heads": lambda num_heads, num_kv_heads: (
                _query_and_key(num_heads, num_kv_heads) | {"attention.output": num_heads}
            )
        },
    ),
    any_layout_is_pairs=(
        "Another layout is treated as that of pairs. A slip of the pen then loads a model that writes "
        "nonsense: raise a ValueError.",
        {"reorders": lambda layout: layout == "halves"},
    ),
    any_layout_is_halves=(
        "Another layout is treated as that of halves. A slip of the pen then loads a model that writes "
        "nonsense: raise a ValueError.",
        {"reorders": lambda layout: layout != "pairs"},
    ),
    key_error_for_the_layout=(
        "Another layout raises a KeyError, as a dict does. Raise a ValueError: the argument has a value "
        "that does not exist.",
        {"reorders": lambda layout: {"pairs": False, "halves": True}[layout]},
    ),
    assertion_for_the_layout=(
        "Another layout raises an AssertionError, which Python leaves out under `-O`. Raise a ValueError.",
        {"reorders": lambda layout: _asserted(layout in ("pairs", "halves"), layout == "halves")},
    ),
    skips_what_is_missing=(
        "The result is right if no entry is missing. A missing one is left out silently: raise a KeyError "
        "with its full name instead.",
        lambda tensors, layer, *given, **more: load(
            tensors,
            layer,
            *given,
            parts={
                ours: theirs for ours, theirs in PARTS.items() if f"blk.{layer}.{theirs}.weight" in tensors
            },
            **more,
        ),
    ),
    value_error_for_what_is_missing=(
        "A missing entry raises a ValueError. Raise a KeyError: that is the error for a name that a dict "
        "does not have.",
        {"look": lambda tensors, name: tensors[name] if name in tensors else _no_value(name)},
    ),
    short_name_in_the_error=(
        "The KeyError for a missing entry holds only the end of the name. Give the full name, from `blk.` "
        "on: it says which layer is incomplete.",
        {"look": lambda tensors, name: tensors[name] if name in tensors else {}[name.split(".", 2)[2]]},
    ),
    float32_always=(
        "The tensors are converted to float32. Return them with the dtype that they have.",
        {"look": lambda tensors, name: tensors[name].float()},
    ),
)


def _asserted(holds, value):
    assert holds
    return value


def _no_value(name):
    raise ValueError(f"no {name} in the file")


@load_decoder.mistake(
    "A missing entry becomes None and no error is raised, as with `dict.get`. Read it with square brackets: "
    "they raise a KeyError with its full name."
)
def none_for_what_is_missing(tensors, layer, layout="pairs", num_heads=9, num_kv_heads=3):
    heads = _query_and_key(num_heads, num_kv_heads) if _strict(layout) else {}
    state = {ours: tensors.get(f"blk.{layer}.{theirs}.weight") for ours, theirs in PARTS.items()}
    for ours, count in heads.items():
        state[ours] = _neighbours(state[ours], count)
    return {f"{ours}.weight": tensor for ours, tensor in state.items()}


@load_decoder.mistake(
    "The entries are removed from `tensors`, so a second call does not find them. Read them, and leave the "
    "dict as it is."
)
def takes_them_out(tensors, layer, layout="pairs", num_heads=9, num_kv_heads=3):
    state = load(tensors, layer, layout, num_heads, num_kv_heads)
    for entry in [entry for entry in tensors if entry.startswith(f"blk.{layer}.")]:
        del tensors[entry]
    return state


@load_decoder.mistake(
    "The reordered rows were written into the tensors of the file, so a second call reorders them again. "
    "Put them into a new tensor."
)
def writes_into_the_file(tensors, layer, layout="pairs", num_heads=9, num_kv_heads=3):
    state = load(tensors, layer, layout, num_heads, num_kv_heads)
    for ours, theirs in PARTS.items():
        tensors[f"blk.{layer}.{theirs}.weight"].copy_(state[f"{ours}.weight"].clone())
    return state
