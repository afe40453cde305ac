"""The bug board: a layer with eight switches, each a bug, and eight tests, each a lamp.

The tests are those that people write: small, with convenient sizes. Which bug passes which is stored, in
`measured.json`, for one switch and for two; `bug_board` shows it.
"""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable, Collection
from functools import cache
from itertools import combinations
from pathlib import Path
from string import Template

import torch
from torch import Tensor, nn

from attention_lab.encoder import SENTENCE, Encoder, load_encoder
from attention_lab.measurements import stored_table

TEMPLATE = Path(__file__).with_name("board.html")
# The name of a bug, the line that it breaks, and what is there instead.
SWITCHES = {
    "softmax axis": ("softmax(scores, dim=-1)", "softmax(scores, dim=-2)"),
    "mask side": ("visible = ones(T, T).tril()", "visible = ones(T, T).triu()"),
    "mask after softmax": ("hide scores, then softmax", "softmax, then hide weights"),
    "no root": ("q @ k.mT / sqrt(D)", "q @ k.mT"),
    "view without transpose": ("q.view(B, T, H, D).transpose(1, 2)", "q.view(B, H, T, D)"),
    "one head twice": ("each head its own part", "the last head gets the part of the first"),
    "B = H broadcast": ("mask (B, 1, T, T)", "mask (B, T, T)"),
    "pasted positions": ("x + position[:T]", "x + position[:B, None]"),
}


class Layer(nn.Module):
    """Multi-head attention over tokens and their positions; each name in `bugs` breaks one line.

    forward(x, padding=None)      x: (B, T, E)      padding: bool (B, T), True = a token
        returns: output (B, T, E), weights (B, H, T, T)
    """

    def __init__(
        self, embed_dim: int, num_heads: int, longest: int, bugs: Collection[str] = (), causal: bool = True
    ) -> None:
        super().__init__()
        self.num_heads, self.bugs, self.causal = num_heads, bugs, causal
        self.position = nn.Parameter(torch.randn(longest, embed_dim))
        self.query, self.key, self.value, self.output = (nn.Linear(embed_dim, embed_dim) for _ in range(4))

    def forward(self, x: Tensor, padding: Tensor | None = None) -> tuple[Tensor, Tensor]:
        batch, length, _ = x.shape
        pasted = "pasted positions" in self.bugs
        x = x + (self.position[:batch, None] if pasted else self.position[:length])
        query, key, value = (self.split(layer(x)) for layer in (self.query, self.key, self.value))
        scores = query @ key.mT
        if "no root" not in self.bugs:
            scores = scores / math.sqrt(query.shape[-1])
        hidden = ~self.visible(length).expand(batch, -1, -1)
        if padding is not None:
            hidden = hidden | ~padding[:, None]
        if "B = H broadcast" not in self.bugs:
            hidden = hidden[:, None]
        axis = -2 if "softmax axis" in self.bugs else -1
        lowest = torch.finfo(scores.dtype).min
        if "mask after softmax" in self.bugs:
            weights = torch.softmax(scores, axis).masked_fill(hidden, 0.0)
        else:
            weights = torch.softmax(scores.masked_fill(hidden, lowest), axis).masked_fill(hidden, 0.0)
        return self.output((weights @ value).transpose(1, 2).flatten(2)), weights

    def split(self, x: Tensor) -> Tensor:
        """(B, T, E) -> (B, H, T, D)"""
        batch, length, width = x.shape
        size = width // self.num_heads
        if "view without transpose" in self.bugs:
            x = x.view(batch, self.num_heads, length, size)
        else:
            x = x.view(batch, length, self.num_heads, size).transpose(1, 2)
        return torch.cat([x[:, :-1], x[:, :1]], 1) if "one head twice" in self.bugs else x

    def visible(self, length: int) -> Tensor:
        """Bool (T, T), True = may attend."""
        everything = torch.ones(length, length, dtype=torch.bool)
        if not self.causal:
            return everything
        return everything.triu() if "mask side" in self.bugs else everything.tril()


def small(bugs: Collection[str]) -> tuple[Layer, Tensor]:
    """Return a layer with 2 heads of size 4, and 2 sentences of 5 tokens."""
    torch.manual_seed(42)
    return Layer(8, 2, 5, bugs).double(), torch.randn(2, 5, 8, dtype=torch.float64)


def has_shape(bugs: Collection[str]) -> bool:
    """2 sentences, 2 heads: is the output (B, T, E)?"""
    layer, x = small(bugs)
    return layer(x)[0].shape == x.shape


def sums_to_one(bugs: Collection[str]) -> bool:
    """2 sentences: does each row of weights sum to 1?"""
    layer, x = small(bugs)
    sums = layer(x)[1].sum(dim=-1)
    return torch.allclose(sums, torch.ones_like(sums))


def does_not_leak(bugs: Collection[str]) -> bool:
    """2 sentences: change the last token. Do the outputs before it stay?"""
    layer, x = small(bugs)
    changed = x.clone()
    changed[:, -1] += 1
    return torch.allclose(layer(x)[0][:, :-1], layer(changed)[0][:, :-1])


def reaches_back(bugs: Collection[str]) -> bool:
    """2 sentences: change the first token. Does the last output change?"""
    layer, x = small(bugs)
    changed = x.clone()
    changed[:, 0] += 1
    return not torch.allclose(layer(x)[0][:, -1], layer(changed)[0][:, -1])


def has_known_numbers(bugs: Collection[str]) -> bool:
    """1 sentence, 1 head, no positions: is the output the one worked out by hand?"""
    # Lesson 4's *blue* and *sea*, at size 4 and with a causal mask: only *sea* looks back, at 3 to 1.
    layer = Layer(4, 1, 2, bugs)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        layer.query.weight[0, 1] = 2 * math.log(3)  # of "sea"; over the root of 4 it is ln 3
        layer.key.weight[0, 0] = 1.0  # of "blue"
        layer.value.weight[0, :2] = torch.tensor([4.0, 8.0])
        layer.output.weight[0, 0] = 1.0
        output, _ = layer(torch.eye(2, 4)[None])
    return torch.allclose(output[0, :, 0], torch.tensor([4.0, 5.0]))


def has_gradients(bugs: Collection[str]) -> bool:
    """2 sentences: does a gradient reach every number of every parameter?"""
    layer, x = small(bugs)
    layer(x)[0].square().sum().backward()
    # A bias of the key changes no weight, so its gradient is rounding or nothing.
    named = {name: each for name, each in layer.named_parameters() if name != "key.bias"}
    return all(each.grad is not None and bool((each.grad.abs() > 1e-12).all()) for each in named.values())


def is_the_same_alone(bugs: Collection[str]) -> bool:
    """3 sentences with padding: is each output the one that its sentence gets alone?"""
    layer, _ = small(bugs)
    x, lengths = torch.randn(3, 5, 8, dtype=torch.float64), (5, 3, 4)
    padding = torch.arange(5) < torch.tensor(lengths)[:, None]
    together = layer(x, padding)[0]
    alone = (layer(each[None, :length])[0][0] for each, length in zip(x, lengths, strict=True))
    pairs = zip(together, alone, lengths, strict=True)
    return all(torch.allclose(one[:length], other) for one, other, length in pairs)


def is_torchs(bugs: Collection[str]) -> bool:
    """1 sentence, a trained layer's weights, no mask: is the output torch's?"""
    # Layer 0 of the course's small encoder.
    encoder = small_encoder()
    reference = nn.MultiheadAttention(encoder.embed_dim, encoder.num_heads, batch_first=True)
    layer = Layer(encoder.embed_dim, encoder.num_heads, 128, bugs, causal=False)
    parts = ("self.query", "self.key", "self.value", "output.dense")
    mine = (layer.query, layer.key, layer.value, layer.output)
    with torch.no_grad():
        for linear, part in zip(mine, parts, strict=True):
            for name, parameter in linear.named_parameters():
                parameter.copy_(encoder.weights[f"encoder.layer.0.attention.{part}.{name}"])
        layer.position.copy_(encoder.embeddings.position.weight)
        reference.in_proj_weight.copy_(torch.cat([each.weight for each in mine[:3]]))
        reference.in_proj_bias.copy_(torch.cat([each.bias for each in mine[:3]]))
        reference.out_proj.load_state_dict(layer.output.state_dict())
        x = encoder.embeddings.token(torch.tensor([encoder.tokenizer.encode(SENTENCE).ids]))
        given = x + layer.position[: x.shape[1]]
        return torch.allclose(layer(x)[0], reference(given, given, given)[0], atol=1e-4)


@cache
def small_encoder() -> Encoder:
    return load_encoder("small")


# A lamp and its test, whose docstring says what it does.
LAMPS: dict[str, Callable[[Collection[str]], bool]] = {
    "shape": has_shape,
    "row sums": sums_to_one,
    "leak": does_not_leak,
    "reach": reaches_back,
    "known numbers": has_known_numbers,
    "gradient": has_gradients,
    "batch of one": is_the_same_alone,
    "real weights": is_torchs,
}


def red_lamps(bugs: Collection[str]) -> list[str]:
    """Return the tests that a layer with these bugs fails; one that stops with an error has failed."""
    red = []
    for name, test in LAMPS.items():
        try:
            passed = test(bugs)
        except RuntimeError:
            passed = False
        red += [] if passed else [name]
    return red


def settings() -> list[tuple[str, ...]]:
    """Return no bug, each bug, and each two."""
    return [bugs for count in range(3) for bugs in combinations(SWITCHES, count)]


def results() -> list[dict[str, object]]:
    """Run all tests on each setting; `benchmarks/lesson_numbers.py 12` stores this."""
    return [{"bugs": " + ".join(bugs), "red": ", ".join(red_lamps(bugs))} for bugs in settings()]


class BugBoard:
    """The board as HTML: a script plays with the stored results, and without one there is a table."""

    def __init__(self) -> None:
        stored = stored_table("12", "board")
        self.red = {
            bugs: red.split(", ") if red else [] for bugs, red in zip(stored.bugs, stored.red, strict=True)
        }

    def __repr__(self) -> str:
        return f"The bug board: {len(self.red)} stored results. It needs a page that shows HTML."

    def _repr_html_(self) -> str:
        return Template(TEMPLATE.read_text("utf-8")).substitute(
            switches="".join(_entry(name, _code(*lines)) for name, lines in SWITCHES.items()),
            lamps="".join(
                _entry(name, html.escape(test.__doc__ or ""), lamp=True) for name, test in LAMPS.items()
            ),
            legend=", ".join(f"{place} {name}" for place, name in enumerate(LAMPS, 1)),
            table=self._table(),
            red=json.dumps(self.red),
        )

    def _table(self) -> str:
        names = list(SWITCHES)
        head = "".join(f'<th scope="col">{name}</th>' for name in names)
        rows = (
            f'<tr><th scope="row">{one}</th>'
            + "".join(f"<td>{self._cell(one, two)}</td>" for two in names)
            + "</tr>"
            for one in names
        )
        return f"<table><tr><td></td>{head}</tr>{''.join(rows)}</table>"

    def _cell(self, one: str, two: str) -> str:
        red = self.red[" + ".join(name for name in SWITCHES if name in (one, two))]
        star = "" if {*self.red[one], *self.red[two]} <= set(red) else " *"
        return " ".join(str(place) for place, name in enumerate(LAMPS, 1) if name in red) + star


def _entry(name: str, text: str, lamp: bool = False) -> str:
    """Return one switch, or one lamp with a place for its state."""
    state = '<span class="state"></span>' if lamp else "<span></span>"
    box = f'<input type="checkbox" value="{name}">'
    return f"<label>{box}<span>{name}</span>{state}<small>{text}</small></label>"


def _code(right: str, wrong: str) -> str:
    right, wrong = html.escape(right), html.escape(wrong)
    return f'<code data-right="{right}" data-wrong="{wrong}">{right}</code>'


def bug_board() -> BugBoard:
    """Show a layer with eight bugs to switch on, and eight tests: predict which fail, then run them."""
    return BugBoard()
