"""What the grader asks about `PositionalEncoding`, and the mistakes it can name."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention_lab.grading.exercise import Exercise, Tolerance, ask, build

positional_encoding = Exercise(
    "PositionalEncoding",
    results=("result",),
    axes=(("tokens", "embed_dim"),),
    # Right formulas of the table differ by this much in float32, over 256 positions.
    tolerance=Tolerance(float32=(1e-4, 1e-4), float64=(1e-4, 1e-4)),
)
DTYPES = (torch.float32, torch.float64)


def _table(max_len, embed_dim):
    even = torch.arange(0, embed_dim, 2)
    angles = torch.arange(max_len).unsqueeze(1) / 10000 ** (even / embed_dim)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :embed_dim]  # (max_len, E)


def _kept_as_asked(cases, values):
    """A non-persistent buffer `pe` with the table in it: None, a mistake's name or a sentence."""
    for case, made in zip(cases, values, strict=True):
        embed_dim, max_len = case.build.args
        if "pe" in made["parameters"]:
            return "a_parameter"
        if "pe" not in made["buffer values"]:
            return "a_plain_attribute"
        if made["state"]:
            return "saved_in_state_dict"
        pe = made["buffer values"]["pe"]
        if tuple(pe.shape) not in ((max_len, embed_dim), (1, max_len, embed_dim)):
            return (
                f"The buffer `pe` has shape {tuple(pe.shape)}; asked for are (max_len, E), here "
                f"({max_len}, {embed_dim}), or the same with a leading 1."
            )
        table = _table(max_len, embed_dim)
        if not torch.allclose(pe.double().reshape(table.shape), table.double(), rtol=1e-4, atol=1e-4):
            return "The buffer `pe` does not hold the table of `sinusoidal_encoding(max_len, embed_dim)`."
    return None


@positional_encoding.group("shorter than the table, twice the same", points=2)
def shorter(draw):
    for dtype in DTYPES:
        batch, length, width, more = draw.sizes(4)
        made = build(width, length + more, double=dtype == torch.float64, look=("result", "result again"))
        yield ask(draw.normal(batch, length, width, dtype=dtype), build=made)
    batch, width = draw.sizes(2)
    yield ask(draw.normal(batch, 1, 2 * width), build=build(2 * width, batch + 1, eval=True))


@positional_encoding.group("as long as the table, even and odd widths", points=1)
def full(draw):
    batch, length, half = draw.sizes(3)
    for width in (2 * half, 2 * half + 1):
        yield ask(draw.normal(batch, length, width), build=build(width, length))
    yield ask(draw.normal(length, length, length), build=build(length, length))
    yield ask(draw.normal(batch, 256, half), build=build(half))


@positional_encoding.group("a buffer that no checkpoint carries", points=1, verify=_kept_as_asked)
def kept(draw):
    looks = ("parameters", "buffer values", "state")
    width, *lengths = draw.sizes(3)
    for max_len in lengths:
        yield ask(build=build(width, max_len, look=looks))


@positional_encoding.group("a text that is too long is refused", points=1)
def too_long(draw):
    batch, width, *lengths = draw.sizes(4)
    long, short = max(lengths), min(lengths)
    yield ask(draw.normal(batch, long, width), build=build(width, short), refuses=(long, short))
    yield ask(draw.normal(batch, short, width), build=build(width, 1), refuses=(short, 1))
    yield ask(draw.normal(1, 257, width), build=build(width), refuses=(257, 256))


@positional_encoding.group("gradients reach the embeddings, and nothing else", points=1)
def gradients(draw):
    for dtype in DTYPES:
        batch, length, width, more = draw.sizes(4)
        x = draw.normal(batch, length, width, dtype=dtype)
        yield ask(x, build=build(width, length + more, double=dtype == torch.float64), gradients=True)


class _Encoding(nn.Module):
    """Right as it stands: most mistakes below change one thing about it."""

    def __init__(self, embed_dim, max_len=256):
        super().__init__()
        self.keep(_table(max_len, embed_dim))

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


@positional_encoding.mistake(
    "`pe` is a parameter: an optimizer would train it, and a count of the parameters includes it. The table "
    "is fixed; register it as a buffer."
)
class a_parameter(_Encoding):
    def keep(self, table):
        self.pe = nn.Parameter(table)


@positional_encoding.mistake(
    "`buffers()` lists no `pe`: a plain attribute (or one of another name) stays behind when the module "
    "moves to another device or dtype. Register the table as a buffer called `pe`."
)
class a_plain_attribute(_Encoding):
    def keep(self, table):
        self.pe = table


@positional_encoding.mistake(
    "`state_dict()` is not empty: the table would be saved with every checkpoint, and another `max_len` "
    "could not load it. It can be computed at any time, so register the buffer as one that is not "
    "persistent."
)
class saved_in_state_dict(_Encoding):
    def keep(self, table):
        self.register_buffer("pe", table)


@positional_encoding.mistake(
    "All tokens of a sentence get the same position: that of their sentence in the batch. x is (B, T, E), "
    "so the positions run along its second dimension, and row t of `pe` goes to token t."
)
class position_in_the_batch(_Encoding):
    def add(self, x):
        # Over the end of the table, so that it goes on wherever the batch is larger.
        return x + self.pe[torch.arange(x.shape[0]) % len(self.pe)].unsqueeze(1)


@positional_encoding.mistake(
    "A text longer than `max_len` is silently cut: it loses its last tokens, and nobody is told. Raise a "
    "ValueError whose sentence holds both numbers, T and `max_len`."
)
class too_long_is_cut(_Encoding):
    def forward(self, x):
        return self.add(x[:, : len(self.pe)])


@positional_encoding.mistake(
    "A text longer than `max_len` runs into torch's own error, or is broadcast if `max_len` is 1. Look at T "
    "before you add, and raise a ValueError whose sentence holds both numbers, T and `max_len`."
)
class not_refused(_Encoding):
    def refuse(self, x):
        pass


@positional_encoding.mistake(
    "A text shorter than `max_len` fails, or grows: you add all `max_len` rows of the table, and x has only "
    "T tokens. Cut the table to its first T rows at each call."
)
class whole_table(_Encoding):
    def add(self, x):
        return x + self.pe


@positional_encoding.mistake(
    "The last rows of the table are added, not the first: the same word at the start of a text gets another "
    "position whenever the text grows. Token 0 gets row 0."
)
class counted_from_the_end(_Encoding):
    def add(self, x):
        return x + self.pe[len(self.pe) - x.shape[1] :]


@positional_encoding.mistake(
    "Every token gets the same row of the table, that of the last one: an index picks one row, a slice "
    "picks many. Each of the T tokens needs a row of its own."
)
class one_row_for_all(_Encoding):
    def add(self, x):
        return x + self.pe[x.shape[1] - 1]


@positional_encoding.mistake(
    "What comes out is the table alone: the words are gone, every sentence looks the same. Add the rows of "
    "the table to x and return the sum."
)
class words_forgotten(_Encoding):
    def add(self, x):
        return self.pe[: x.shape[1]].expand_as(x)


@positional_encoding.mistake(
    "The positions are added in place: the tensor of the caller is changed, and a second call adds them "
    "twice. Return a new tensor."
)
class added_in_place(_Encoding):
    def add(self, x):
        x += self.pe[: x.shape[1]]
        return x


@positional_encoding.mistake(
    "x is multiplied by the square root of its width before the positions are added. The paper's model does "
    "that where it embeds the words; this module only adds the positions."
)
class embeddings_scaled(_Encoding):
    def add(self, x):
        return x * math.sqrt(x.shape[-1]) + self.pe[: x.shape[1]]


@positional_encoding.also_right
class WithALeadingOne(_Encoding):
    def keep(self, table):
        self.register_buffer("pe", table.unsqueeze(0), persistent=False)

    def forward(self, x):
        if x.size(1) > self.pe.size(1):
            raise ValueError(f"max_len is {self.pe.size(1)}, the text has {x.size(1)} tokens")
        return torch.add(x, self.pe.narrow(1, 0, x.size(1)).type_as(x))


@positional_encoding.also_right
class LookedUp(_Encoding):
    def add(self, x):
        places = torch.arange(x.shape[1], device=x.device)
        return F.embedding(places.expand(x.shape[:2]), self.pe) + x


@positional_encoding.also_right
class TokenByToken(_Encoding):
    def add(self, x):
        return torch.stack([x[:, place] + self.pe[place] for place in range(x.shape[1])], dim=1)
