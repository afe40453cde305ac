"""The exercise `load_decoder`, and the mistakes it can name."""

import torch

from attention_lab.authoring import Exercise, add_mistakes, case

from .layers import ModelDraw

load_decoder = Exercise("load_decoder", results=("state_dict",), draw=ModelDraw)

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
    square, rows_of_keys, rows_of_hidden = (width, width), (kv_width, width), (hidden_dim, width)
    shapes = {"attn_norm": (width,), "ffn_norm": (width,), "attn_q": square, "attn_output": square}
    shapes |= {"attn_k": rows_of_keys, "attn_v": rows_of_keys}
    shapes |= {"ffn_gate": rows_of_hidden, "ffn_up": rows_of_hidden, "ffn_down": rows_of_hidden[::-1]}
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
    yield case(_tensors(draw, draw.shuffled((2, 12))), 12, "halves", 14, 7)


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
    tensors = _tensors(draw, (23, 25))
    for name in ("q.bias", "q_norm.weight", "output.scale", "qkv.weight"):
        tensors[f"blk.23.attn_{name}"] = draw.normal(84)
    yield case({name: tensors[name] for name in draw.shuffled(tuple(tensors))}, 23, "halves", 14, 7)


def telling(answer):
    """What happens where something does not fit: which error, and whether it names a missing entry."""

    def told(tensors, layer, missing, given):
        try:
            result = answer(tensors, layer, **given)
        except Exception as error:
            named = any(name in str(error) for name in missing)
            words = " with the full name of a missing entry" if named else ""
            return {"error": f"{type(error).__name__}{words}"}
        if not isinstance(result, dict):
            return {"error": "no error", "returned instead": type(result).__name__}
        query, old = result.get("attention.query.weight"), tensors.get(f"blk.{layer}.attn_q.weight")
        moved = isinstance(query, torch.Tensor) and old is not None and not torch.equal(query, old)
        nothing = sum(tensor is None for tensor in result.values())
        rows = "in another order" if moved else "as they were"
        words = f"{len(result)} entries, {nothing} of them None, the query's rows {rows}"
        return {"error": "no error", "returned instead": words}

    return told


@load_decoder.group("a missing entry raises a KeyError with its name", points=1, withhold_points=True)
def missing_entries(draw):
    for name, layout in zip(draw.shuffled(tuple(PARTS.values()))[:4], ("pairs", "halves") * 2, strict=True):
        tensors = _tensors(draw, (1, 2, 11), (6, 2, 12))
        entry = f"blk.1.{name}.weight"
        del tensors[entry]
        given = {"layout": layout, "num_heads": 6, "num_kv_heads": 2}
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


def _query_and_key(num_heads, num_kv_heads):
    return {"attention.query": num_heads, "attention.key": num_kv_heads}


def _strict(layout):
    if layout not in ("pairs", "halves"):
        raise ValueError(f"no layout {layout!r}: it is 'pairs' or 'halves'")
    return layout == "halves"


def load(
    tensors, layer, layout="pairs", num_heads=9, num_kv_heads=3,
    *, parts=PARTS, name="blk.{}.{}.weight", order=_neighbours, heads=_query_and_key,
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
    "A list of row numbers: of each head, the first row of both halves, then the second, and so on. "
    "(`PARTS` is the table of names: yours without `.weight`, and the file's.)"
)
def by_row_numbers(tensors, layer, layout="pairs", num_heads=9, num_kv_heads=3):
    if layout != "pairs" and layout != "halves":
        raise ValueError(f"no layout {layout}")

    def take(name):
        rows = tensors[f"blk.{layer}.{name}.weight"]
        count = {"attn_q": num_heads, "attn_k": num_kv_heads}.get(name)
        if not count or layout == "pairs":
            return rows.clone()
        size = len(rows) // count
        order = []
        for start in range(0, len(rows), size):
            for row in range(start, start + size // 2):
                order += [row, row + size // 2]
        return rows[order]

    return {f"{ours}.weight": take(theirs) for ours, theirs in PARTS.items()}


@load_decoder.accepted_alternative(
    "Head by head, with both halves stacked: longer, and each step can be looked at. (`PARTS` as before.)"
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


def _exchanged(one, other):
    """The names with two of GGUF's changed over."""
    return PARTS | {one: PARTS[other], other: PARTS[one]}


add_mistakes(
    load_decoder,
    load,
    key_and_value_exchanged=(
        "Key and value have changed places. Load each under its own name.",
        {"parts": _exchanged("attention.key", "attention.value")},
    ),
    query_and_key_exchanged=(
        "Query and key have changed places: `attn_q` is the query, `attn_k` the key.",
        {"parts": _exchanged("attention.query", "attention.key")},
    ),
    norms_exchanged=(
        "The two norms have changed places: `attn_norm` is the one before the attention, `norm1`.",
        {"parts": _exchanged("norm1", "norm2")},
    ),
    gate_and_up_exchanged=(
        "`gate` and `up` have changed places, so the wrong one goes through silu. Load each under its name.",
        {"parts": _exchanged("mlp.gate", "mlp.up")},
    ),
    transposed=(
        "The matrices are transposed. They are (out, in) already, as in `nn.Linear`.",
        {"look": lambda tensors, name: tensors[name].mT if tensors[name].dim() == 2 else tensors[name]},
    ),
    always_layer_zero=(
        "This is always layer 0: `layer` is not used. Put it into the name of every entry.",
        {"name": "blk.0.{1}.weight"},
    ),
    prefix_match=(
        "For layer 1 you also took entries of layer 10, 11 or 21. Use the full name, with its dots.",
        {
            "look": lambda tensors, name: [
                tensors[entry]
                for entry in tensors
                if entry.startswith(name[: name.index(".", 4)])
                and entry.split(".")[2:] == name.split(".")[2:]
            ][-1]
        },
    ),
    files_own_names=(
        "These are the file's names. `load_state_dict` expects those of your class's attributes.",
        {
            "parts": {theirs: theirs for theirs in PARTS.values()},
            "heads": lambda q, k: {"attn_q": q, "attn_k": k},
        },
    ),
    other_entries_kept=(
        "Entries that your class does not have came along. Return these nine and no others.",
        lambda tensors, layer, *given, **more: (
            load(tensors, layer, *given, **more)
            | {
                entry: tensor
                for entry, tensor in tensors.items()
                if entry.startswith(f"blk.{layer}.") and entry.split(".", 2)[2][:-7] not in PARTS.values()
            }
        ),
    ),
    layout_ignored=(
        "`layout` changes nothing: rows stay as they are. Reorder those of query and key in halves.",
        {"order": lambda rows, heads: rows},
    ),
    always_reordered=(
        "The rows of query and key are reordered in both layouts. In pairs, as in GGUF, they are right.",
        {"reorders": lambda layout: _strict(layout) or True},
    ),
    layouts_exchanged=(
        'The layouts have changed places: rows stay with "pairs", and are reordered with "halves".',
        {"reorders": lambda layout: not _strict(layout)},
    ),
    halves_by_default=(
        'Without `layout`, rows are reordered. The default is "pairs", the order of GGUF files.',
        lambda tensors, layer, layout="halves", *heads, **more: load(tensors, layer, layout, *heads, **more),
    ),
    the_other_direction=(
        "The permutation is the inverse of the right one: that is lesson 10's `to_halves` itself.",
        {"order": lambda rows, heads: rows.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2)},
    ),
    across_heads=(
        "Rows of several heads were sorted together. Cut the rows into heads, and sort within each.",
        {"order": lambda rows, heads: _neighbours(rows, 1)},
    ),
    kv_heads_ignored=(
        "The key is cut into `num_heads` heads, as the query is. It has `num_kv_heads`, of the same size.",
        {"heads": lambda num_heads, num_kv_heads: _query_and_key(num_heads, num_heads)},
    ),
    query_in_kv_heads=(
        "The query is cut into `num_kv_heads` heads, as the key is. It has `num_heads`, of the same size.",
        {"heads": lambda num_heads, num_kv_heads: _query_and_key(num_kv_heads, num_kv_heads)},
    ),
    counts_fixed=(
        "The numbers of heads are always 9 and 3. Use the two arguments.",
        {"heads": lambda num_heads, num_kv_heads: _query_and_key(9, 3)},
    ),
    query_only=(
        "Only the rows of the query are reordered. The keys are turned as well, so theirs have to follow.",
        {"heads": lambda num_heads, num_kv_heads: {"attention.query": num_heads}},
    ),
    value_as_well=(
        "The rows of the value are reordered as well. Values are not turned: leave them as they are.",
        {"heads": lambda q, k: _query_and_key(q, k) | {"attention.value": k}},
    ),
    any_layout_is_pairs=(
        "Another layout is treated as that of pairs. Raise a ValueError.",
        {"reorders": lambda layout: layout == "halves"},
    ),
    any_layout_is_halves=(
        "Another layout is treated as that of halves. Raise a ValueError.",
        {"reorders": lambda layout: layout != "pairs"},
    ),
    none_for_what_is_missing=(
        "A missing entry becomes None and no error is raised, as with `dict.get`. Read it with brackets.",
        {"look": lambda tensors, name: tensors.get(name)},
    ),
    short_name_in_the_error=(
        "The KeyError for a missing entry holds only the end of the name. Give the full name.",
        {"look": lambda tensors, name: tensors[name] if name in tensors else {}[name.split(".", 2)[2]]},
    ),
    takes_them_out=(
        "The entries are removed from `tensors`, so a second call does not find them. Read them only.",
        {"look": lambda tensors, name: tensors.pop(name)},
    ),
    writes_into_the_file=(
        "The reordered rows were written into the tensors of the file. Put them into a new tensor.",
        {"order": lambda rows, heads: rows.copy_(_neighbours(rows, heads).clone())},
    ),
)


@load_decoder.mistake("A missing entry is left out silently. Raise a KeyError with its full name instead.")
def skips_what_is_missing(tensors, layer, *given, **more):
    present = {ours: part for ours, part in PARTS.items() if f"blk.{layer}.{part}.weight" in tensors}
    return load(tensors, layer, *given, parts=present, **more)
