"""The course's drawings of parts and shapes, as SVG: the same four tokens and the same colours in each.

Lines and words take the colour of the page, so that a drawing reads in light and dark alike. Query, key,
value and result each have a colour of their own, and the words say the same, so that nothing depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from IPython.display import HTML

COLOURS = {"query": "#2f6f8f", "key": "#c26a1b", "value": "#3d8f5a", "weights": "#7d5fb2", "part": "#7d8994"}
TOKENS = ("I", "am", "learning", "this")
ROW = 30  # pixels of a box's line


def drawing(name: str) -> HTML:
    """Show one of the course's drawings.

    Parameters
    ----------
    name
        One of "shapes", "weighted_sum", "scaled_dot_product", "multi_head" and "transformer".

    Returns
    -------
    IPython.display.HTML
        The drawing as SVG, with a text that says what it shows.

    Raises
    ------
    ValueError
        If there is no drawing of this name; the message lists the names.
    """
    if name not in DRAWINGS:
        raise ValueError(f"There is no drawing {name!r}: there are {', '.join(DRAWINGS)}.")
    return HTML(DRAWINGS[name]().svg())


class _Canvas:
    """Boxes, tables, arrows and words, each at its place in pixels."""

    def __init__(self, width: int, height: int, says: str) -> None:
        self.size, self.says, self.parts = (width, height), says, list[str]()

    def svg(self) -> str:
        width, height = self.size
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{escape(self.says)}" style="max-width:{width}px;width:100%;color:inherit" '
            'font-family="system-ui, DejaVu Sans, sans-serif" font-size="14">'
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="currentColor"/></marker></defs>'
            f"{''.join(self.parts)}</svg>"
        )

    def words(self, x: float, y: float, text: str, anchor: str = "middle", bold: bool = False) -> None:
        weight = ' font-weight="bold"' if bold else ""
        self.parts.append(
            f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="currentColor"{weight}>{escape(text)}</text>'
        )

    def box(self, x: float, y: float, width: float, height: float, text: str, kind: str = "part") -> None:
        """A part: its words in the middle, on a pale ground of its colour."""
        colour = COLOURS[kind]
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="5" fill="{colour}" '
            f'fill-opacity=".18" stroke="{colour}" stroke-width="1.5"/>'
        )
        lines = text.split("\n")
        for line, part in enumerate(lines):
            self.words(x + width / 2, y + height / 2 + 5 + 17 * (line - (len(lines) - 1) / 2), part)

    def table(self, x: float, y: float, rows: int, columns: int, kind: str, cell: int = 24) -> None:
        """A tensor: a square for each number."""
        for row in range(rows):
            for column in range(columns):
                self.parts.append(
                    f'<rect x="{x + cell * column}" y="{y + cell * row}" width="{cell}" height="{cell}" '
                    f'fill="{COLOURS[kind]}" fill-opacity=".25" stroke="{COLOURS[kind]}"/>'
                )

    def arrow(self, *points: tuple[float, float], width: float = 1.5, tip: bool = True) -> None:
        path = " ".join(f"{x},{y}" for x, y in points)
        end = ' marker-end="url(#tip)"' if tip else ""
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="currentColor" stroke-width="{width}"{end}/>'
        )


def _shapes() -> _Canvas:
    canvas = _Canvas(
        740,
        320,
        "x with 4 rows of 3 numbers times a weight matrix of 3 by 2 gives a query table of 4 by 2. "
        "Query, 4 by 2, times key transposed, 2 by 4, gives a table of 4 by 4 scores.",
    )
    canvas.words(120, 24, "x  (T, E)", bold=True)
    canvas.table(84, 40, 4, 3, "part")
    for row, token in enumerate(TOKENS):
        canvas.words(76, 57 + 24 * row, token, anchor="end")
    canvas.words(178, 92, "@")
    canvas.words(234, 24, "W_query  (E, D)", bold=True)
    canvas.table(210, 40, 3, 2, "query")
    canvas.words(306, 92, "=")
    canvas.words(372, 24, "query  (T, D)", bold=True)
    canvas.table(348, 40, 4, 2, "query")
    canvas.words(470, 80, "E vanishes: each token keeps its row,", anchor="start")
    canvas.words(470, 100, "and gets D numbers instead of E.", anchor="start")
    canvas.words(108, 194, "query  (T, D)", bold=True)
    canvas.table(84, 210, 4, 2, "query")
    canvas.words(154, 262, "@")
    canvas.words(226, 194, "key.mT  (D, T)", bold=True)
    canvas.table(178, 210, 2, 4, "key")
    canvas.words(306, 262, "=")
    canvas.words(396, 194, "scores  (T, T)", bold=True)
    canvas.table(348, 210, 4, 4, "weights")
    canvas.words(470, 250, "D vanishes: row i holds the scores", anchor="start")
    canvas.words(470, 270, "of query i with every key.", anchor="start")
    return canvas


def _weighted_sum() -> _Canvas:
    shares = (0.2407, 0.1987, 0.3146, 0.2459)  # the query of "learning": seed 42, unscaled
    canvas = _Canvas(
        640,
        270,
        "The values of the four tokens I, am, learning and this, each multiplied by its weight "
        "0.24, 0.20, 0.31 and 0.25, are added up to the output of the token learning.",
    )
    for place, (token, share) in enumerate(zip(TOKENS, shares, strict=True)):
        x = 40 + 150 * place
        canvas.words(x + 50, 20, token, bold=True)
        canvas.box(x, 32, 100, ROW, f"value {place + 1}", "value")
        canvas.arrow((x + 50, 62), (320 + 20 * (place - 1.5), 176), width=share * 16, tip=False)
        side = -1 if place < len(TOKENS) / 2 else 1  # outside of the line
        canvas.words(
            x + 50 + (270 - x) * 0.3 + 14 * side, 112, f"× {share:.2f}", "end" if side < 0 else "start"
        )
    canvas.box(230, 178, 180, ROW + 6, "output of “learning”", "weights")
    canvas.words(320, 240, "0.24 value 1 + 0.20 value 2 + 0.31 value 3 + 0.25 value 4")
    return canvas


def _stack(
    canvas: _Canvas, x: float, top: float, width: float, parts: Sequence[tuple[str, str]], step: int
) -> None:
    """Parts above each other, with an arrow upwards between neighbours; the last is at the bottom."""
    for place, (text, kind) in enumerate(parts):
        y = top + step * place
        canvas.box(x, y, width, ROW, text, kind)
        if place:
            canvas.arrow((x + width / 2, y), (x + width / 2, y - step + ROW + 2))


def _scaled_dot_product() -> _Canvas:
    canvas = _Canvas(
        540,
        350,
        "From below: query and key are multiplied, the scores are divided by the root of d_k, "
        "masked where a mask is given, made into weights by the softmax; weights times value is the output.",
    )
    parts = [
        ("weights @ value", "value"),
        ("softmax over the keys", "weights"),
        ("mask: hidden scores to −∞", "part"),
        ("divide by √d_k", "part"),
        ("query @ key.mT", "query"),
    ]
    _stack(canvas, 60, 44, 210, parts, 54)
    canvas.words(165, 18, "output  (T_q, d_v)", bold=True)
    canvas.arrow((165, 44), (165, 24))
    for x, text, kind in ((60, "query", "query"), (180, "key", "key"), (435, "value", "value")):
        canvas.box(x, 312, 90, ROW, text, kind)
    canvas.arrow((105, 312), (130, 292))
    canvas.arrow((225, 312), (200, 292))
    canvas.arrow((480, 312), (480, 59), (272, 59))
    for row, text in enumerate(("", "weights  (T_q, T_k)", "optional", "", "scores  (T_q, T_k)")):
        canvas.words(284, 64 + 54 * row, text, anchor="start")
    return canvas


def _multi_head() -> _Canvas:
    canvas = _Canvas(
        700,
        360,
        "Query, key and value each pass three linear layers, one for each head; each head attends by itself; "
        "their outputs are set side by side and pass one more linear layer.",
    )
    canvas.words(260, 18, "output  (B, T, E)", bold=True)
    canvas.box(170, 34, 180, ROW, "linear: output  (E, E)")
    canvas.box(170, 92, 180, ROW, "side by side  (B, T, H·D)")
    canvas.arrow((260, 34), (260, 24))
    canvas.arrow((260, 92), (260, 66))
    for head in range(3):
        x = 30 + 160 * head
        canvas.box(x, 160, 140, 44, f"head {head}: attention\n(B, T, D)", "weights")
        canvas.arrow((x + 70, 160), (210 + 50 * head, 124))
        for place, kind in enumerate(("query", "key", "value")):
            canvas.box(x + 48 * place, 236, 44, ROW, f"W_{kind[0]}", kind)
            canvas.arrow((x + 22 + 48 * place, 236), (x + 22 + 48 * place, 206))
    for place, kind in enumerate(("query", "key", "value")):
        canvas.box(120 + 100 * place, 312, 90, ROW, kind, kind)
    canvas.words(516, 256, "H heads, each with", anchor="start")
    canvas.words(516, 274, "its own three layers", anchor="start")
    canvas.words(260, 296, "each goes to its layer in every head")
    canvas.words(500, 112, "E = H · D", anchor="start")
    return canvas


def _transformer() -> _Canvas:
    canvas = _Canvas(
        640,
        560,
        "Encoder on the left: embedding and positions, then N times self-attention and a feed-forward "
        "layer, each added to its input and normalised. Decoder on the right: the same with a causal mask, "
        "and between the two a cross-attention whose keys and values are the encoder's output; a linear "
        "layer and a softmax at the end.",
    )
    encoder = [
        ("add & normalise", "part"),
        ("feed-forward", "part"),
        ("add & normalise", "part"),
        ("self-attention", "query"),
    ]
    decoder = [
        ("add & normalise", "part"),
        ("feed-forward", "part"),
        ("add & normalise", "part"),
        ("cross-attention", "key"),
        ("add & normalise", "part"),
        ("causal self-attention", "query"),
    ]
    _stack(canvas, 50, 232, 190, encoder, 46)
    _stack(canvas, 390, 140, 190, decoder, 46)
    for x, top in ((34, 216), (374, 124)):
        canvas.parts.append(
            f'<rect x="{x}" y="{top}" width="222" height="{418 - top}" rx="10" fill="none" '
            'stroke="currentColor" stroke-dasharray="5 4"/>'
        )
    canvas.words(30, 320, "N ×", anchor="end")
    canvas.words(604, 280, "× N", anchor="start")
    for x in (50, 390):
        canvas.box(x, 446, 190, ROW, "add positions", "value")
        canvas.box(x, 494, 190, ROW, "embedding")
        canvas.arrow((x + 95, 446), (x + 95, 402))
        canvas.arrow((x + 95, 494), (x + 95, 478))
    canvas.words(145, 548, "the sentence to translate")
    canvas.words(485, 548, "its translation so far")
    canvas.box(390, 76, 190, ROW, "linear to the vocabulary")
    canvas.box(390, 30, 190, ROW, "softmax", "weights")
    canvas.arrow((485, 140), (485, 108))
    canvas.arrow((485, 76), (485, 62))
    canvas.words(485, 18, "the next token")
    canvas.arrow((145, 232), (145, 190), (316, 190), (316, 293), (388, 293))
    canvas.words(150, 182, "keys and values", anchor="start")
    canvas.words(145, 120, "encoder", bold=True)
    canvas.words(350, 60, "decoder", bold=True, anchor="end")
    return canvas


DRAWINGS: dict[str, Callable[[], _Canvas]] = {
    "shapes": _shapes,
    "weighted_sum": _weighted_sum,
    "scaled_dot_product": _scaled_dot_product,
    "multi_head": _multi_head,
    "transformer": _transformer,
}
