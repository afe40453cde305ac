"""What a cell showed, as text and pictures; HTML, scripts and widgets of any notebook stay out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from nbformat import NotebookNode

from nbjudge.plain_text import without_terminal_codes
from nbjudge.record.graded_cell import is_verdict

LONGEST_TEXT = 50_000  # characters of one output; a page is for reading
INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]")
BASE64 = re.compile(r"[A-Za-z0-9+/]+=*")
PICTURES = ("image/png", "image/jpeg")


@dataclass(frozen=True)
class RenderedOutput:
    """One output: the address of a picture, or text; `stopped` where it is an error."""

    text: str = ""
    picture: str = ""
    stopped: bool = False


def shown(cell: NotebookNode, *, brief_errors: str | None = None) -> list[RenderedOutput]:
    """The outputs of a cell but the verdict; `brief_errors` is put before errors without the lines around."""
    return [each for output in cell.get("outputs", []) for each in _shown(cell, output, brief_errors)]


def _shown(cell: NotebookNode, output: NotebookNode, brief_errors: str | None) -> Iterator[RenderedOutput]:
    if is_verdict(cell, output):
        return
    if output.output_type == "stream":
        yield RenderedOutput(_plain(output.text))
    elif output.output_type == "error":
        text = "\n".join(output.traceback)
        if brief_errors is not None:
            text = f"{brief_errors}{output.ename}: {output.evalue}".rstrip(": ")
        yield RenderedOutput(_plain(text), stopped=True)
    else:
        yield from _data(output.get("data", {}))


def _data(data: NotebookNode) -> Iterator[RenderedOutput]:
    for kind in PICTURES:
        picture = "".join(str(data.get(kind, "")).split())
        if picture and BASE64.fullmatch(picture):
            yield RenderedOutput(_plain(data.get("text/plain", "")), f"data:{kind};base64,{picture}")
            return
    if "text/plain" in data:
        yield RenderedOutput(_plain(data["text/plain"]))


def _plain(text: str) -> str:
    """Text without colours, cursor movements and marks that turn the direction of reading."""
    rest = len(text) - LONGEST_TEXT
    if rest > 0:
        text = f"{text[:LONGEST_TEXT]}\n… ({rest:,} more characters are left out)"
    text = without_terminal_codes(text.replace("\r\n", "\n"))
    # Of a line that was written over again and again, such as a progress bar, the last state.
    text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return INVISIBLE.sub("\N{REPLACEMENT CHARACTER}", text)
