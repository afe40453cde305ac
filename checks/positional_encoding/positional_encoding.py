"""The exercise `PositionalEncoding`, and the mistakes it can name."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.authoring import FLOATS, Exercise, Tolerance, add_mistakes, build, case

from .sinusoidal_encoding import LONG, TOLERANCE_WHERE_LONG, differs, mistake_with, sinusoidal_encoding

positional_encoding = Exercise(
    "PositionalEncoding",
    results=("result",),
    axes=(("tokens", "embed_dim"),),
    # Right formulas of the table differ by some 2e-5 in float32 over 256 positions.
    tolerance=Tolerance(float32=(1e-4, 1e-4), float64=(1e-4, 1e-4)),
)


def _table(max_len, embed_dim):
    even = torch.arange(0, embed_dim, 2)
    angles = torch.arange(max_len).unsqueeze(1) / 10000 ** (even / embed_dim)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :embed_dim]  # (max_len, E)


def _check_buffer(cases, values):
    """A non-persistent buffer `pe` with the table in it, nothing random: None, a mistake or a sentence."""
    for drawn_case, report in zip(cases, values, strict=True):
        embed_dim, max_len = drawn_case.build.args
        if "pe" in report["parameters"]:
            return "a_parameter"
        if "pe" not in report["buffer values"]:
            return "a_plain_attribute"
        if report["state"]:
            return "saved_in_state_dict"
        pe = report["buffer values"]["pe"]
        if tuple(pe.shape) not in ((max_len, embed_dim), (1, max_len, embed_dim)):
            return (
                f"The buffer `pe` has shape {tuple(pe.shape)}; asked for are (max_len, E), here "
                f"({max_len}, {embed_dim}), or the same with a leading 1."
            )
        table = _table(max_len, embed_dim)
        pe = pe.reshape(table.shape)
        if differs(pe, table, 1e-4 if max_len <= 256 else TOLERANCE_WHERE_LONG):
            return mistake_with(pe, max_len, embed_dim) or (
                "The buffer `pe` does not hold the table of `sinusoidal_encoding(max_len, embed_dim)`."
            )
        if _others_vanish(report["result"], report["result again"]):
            return "drops_out"
    return None


def _others_vanish(first, second):
    """Return whether two results of the same call have their zeros in different places."""
    tensors = isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor)
    return tensors and first.shape == second.shape and bool(((first == 0) != (second == 0)).any())


@positional_encoding.group("shorter than the table, twice the same", points=2)
def shorter(draw):
    for dtype in FLOATS:
        batch, width, *lengths = draw.sizes(4)
        length, max_len = sorted(lengths)
        layer = build(width, max_len, double=dtype == torch.float64, look=("result", "result again"))
        yield case(draw.normal(batch, length, width, dtype=dtype), build=layer)
    batch, width, max_len = draw.sizes(3)
    yield case(draw.normal(batch, 1, width), build=build(width, max_len, eval=True))


@positional_encoding.group("as long as the table, even and odd widths", points=1)
def full(draw):
    batch, length = draw.sizes(2)
    (even,) = draw.even_sizes(1)
    for width in (even, even + 1):
        yield case(draw.normal(batch, length, width), build=build(width, length))
    yield case(draw.normal(length, length, length), build=build(length, length))
    yield case(draw.normal(batch, 256, length), build=build(length))


@positional_encoding.group(
    "a buffer that no checkpoint carries, no dropout", points=1, verify=_check_buffer, withhold_points=True
)
def buffer(draw):
    looks = ("parameters", "buffer values", "state", "result", "result again")
    batch, width, *lengths = draw.sizes(4)
    for max_len in lengths:
        yield case(draw.normal(batch, max_len, width), build=build(width, max_len, look=looks))
    yield case(draw.normal(1, batch, width), build=build(width, draw.shuffled(LONG)[0], look=looks))


@positional_encoding.group("a text that is too long is refused", points=1)
def too_long(draw):
    batch, width, *lengths = draw.sizes(4)
    long, short = max(lengths), min(lengths)
    yield case(draw.normal(batch, long, width), build=build(width, short), refuses=(long, short))
    yield case(draw.normal(batch, short, width), build=build(width, 1), refuses=(short, 1))
    yield case(draw.normal(1, 257, width), build=build(width), refuses=(257, 256))


@positional_encoding.group("gradients reach the embeddings, and nothing else", points=1)
def gradients(draw):
    for dtype in FLOATS:
        batch, width, *lengths = draw.sizes(4)
        x = draw.normal(batch, min(lengths), width, dtype=dtype)
        yield case(x, build=build(width, max(lengths), double=dtype == torch.float64), gradients=True)


class _Encoding(nn.Module):
    """A correct layer: most mistakes change one thing about it."""

    table = staticmethod(_table)

    def __init__(self, embed_dim, max_len=256):
        super().__init__()
        self.keep(self.table(max_len, embed_dim))

    def keep(self, table):
        self.register_buffer("pe", table, persistent=False)

    def refuse(self, x):
        if x.shape[1] > len(self.pe):
            raise ValueError(f"{x.shape[1]} tokens, and positions for {len(self.pe)}")

    def add(self, x):
        return x + self.pe[: x.shape[1]]

    def forward(self, x):
        self.refuse(x)
        return self.add(x)


@positional_encoding.accepted_alternative(
    "The table has an axis for the batch, (1, max_len, E), as in torch's tutorial; narrow cuts without "
    "copying, and type_as adapts to a model in half precision."
)
class WithALeadingOne(_Encoding):
    def keep(self, table):
        self.register_buffer("pe", table.unsqueeze(0), persistent=False)

    def forward(self, x):
        if x.size(1) > self.pe.size(1):
            raise ValueError(f"max_len is {self.pe.size(1)}, the text has {x.size(1)} tokens")
        return torch.add(x, self.pe.narrow(1, 0, x.size(1)).type_as(x))


@positional_encoding.accepted_alternative(
    "Positions are looked up in the table like words: for learned positions you write exactly this with "
    "an nn.Embedding. (Only the addition is shown.)"
)
class LookedUp(_Encoding):
    def add(self, x):
        places = torch.arange(x.shape[1], device=x.device)
        return F.embedding(places.expand(x.shape[:2]), self.pe) + x


@positional_encoding.accepted_alternative
class TokenByToken(_Encoding):
    def add(self, x):
        return torch.stack([x[:, place] + self.pe[place] for place in range(x.shape[1])], dim=1)


@positional_encoding.mistake(
    "`pe` is a parameter, so an optimizer trains it, and it is counted as one. The table is fixed: "
    "register it as a buffer."
)
class a_parameter(_Encoding):
    def keep(self, table):
        self.pe = nn.Parameter(table)


@positional_encoding.mistake(
    "`buffers()` lists no `pe`: a plain attribute (or a buffer of another name) stays behind when the "
    "module moves to another device or dtype. Register the table as a buffer called `pe`."
)
class a_plain_attribute(_Encoding):
    def keep(self, table):
        self.pe = table


@positional_encoding.mistake(
    "`state_dict()` is not empty: every checkpoint would contain the table, and a model with another "
    "`max_len` could not load it. Register the buffer as one that is not persistent."
)
class saved_in_state_dict(_Encoding):
    def keep(self, table):
        self.register_buffer("pe", table)


@positional_encoding.mistake(
    "All tokens of a sentence get the same position, that of their sentence in the batch. x is (B, T, E): "
    "the positions run along its second dimension, and row t of `pe` goes to token t."
)
class position_in_the_batch(_Encoding):
    def add(self, x):
        # Over the end of the table, so that it goes on wherever the batch is larger.
        return x + self.pe[torch.arange(x.shape[0]) % len(self.pe)].unsqueeze(1)


add_mistakes(
    positional_encoding,
    _Encoding,
    too_long_is_cut=(
        "A text longer than `max_len` is silently cut: it loses its last tokens. Raise a ValueError whose "
        "message contains both numbers, T and `max_len`.",
        {"forward": lambda self, x: self.add(x[:, : len(self.pe)])},
    ),
    not_refused=(
        "A text longer than `max_len` raises torch's own error, or is broadcast if `max_len` is 1. Test T "
        "before you add, and raise a ValueError whose message contains both numbers, T and `max_len`.",
        {"refuse": lambda self, x: None},
    ),
    whole_table=(
        "A text shorter than `max_len` fails, or gets longer: you add all `max_len` rows of the table, and x "
        "has only T tokens. Take the first T rows of the table at each call.",
        {"add": lambda self, x: x + self.pe},
    ),
    as_many_rows_as_texts=(
        "As many rows of the table are taken as there are texts in the batch: x is (B, T, E), so `len(x)`, "
        "its first size, is B. Take T rows, its second size.",
        {"add": lambda self, x: x + self.pe[: x.shape[0]]},
    ),
    counted_from_the_end=(
        "You add the last rows of the table, not the first, so the same word at the start of a text gets "
        "another position when the text gets longer. Token 0 gets row 0.",
        {"add": lambda self, x: x + self.pe[len(self.pe) - x.shape[1] :]},
    ),
    one_row_for_all=(
        "Every token gets the same row of the table, that of the last one: an index picks one row, a slice "
        "picks many. Each of the T tokens needs a row of its own.",
        {"add": lambda self, x: x + self.pe[x.shape[1] - 1]},
    ),
    words_forgotten=(
        "You return the table alone: the words are gone, and every sentence looks the same. Add the rows of "
        "the table to x and return the sum.",
        {"add": lambda self, x: self.pe[: x.shape[1]].expand_as(x)},
    ),
    drops_out=(
        "Some numbers are 0, and different ones at each call: the module contains a dropout, which works in "
        "training mode. The paper's model applies dropout to what this module returns; the module itself "
        "only adds the positions.",
        {"add": lambda self, x: F.dropout(x + self.pe[: x.shape[1]], 0.1, self.training)},
    ),
    embeddings_scaled=(
        "x is multiplied by the square root of its width before the positions are added. The paper's model "
        "does that in its embedding; this module only adds the positions.",
        {"add": lambda self, x: x * math.sqrt(x.shape[-1]) + self.pe[: x.shape[1]]},
    ),
)


IN_THE_TABLE = "The positions are added correctly, but the table `pe` is wrong. {message}"


def _with_the_table_of(mistake):
    return type(mistake.name, (_Encoding,), {"table": staticmethod(mistake.answer)})


for _mistake in sinusoidal_encoding.mistakes:
    _message = IN_THE_TABLE.format(message=_mistake.message)
    positional_encoding.mistake(_message)(_with_the_table_of(_mistake))
