"""A student's prose as it is put into the notebook that people look at: it shows, and does nothing.

The formgrader's page, JupyterLab and the feedback page read markdown in ways of their own. So this does
not rely on any of them: an invisible space is put where markup would begin, whoever reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

INVISIBLE_SPACE = "\u200b"
# What the page would lay over the others' formulas, or make a link, a name or a style of.
FORMULA_COMMANDS = (
    "href|url|class|cssId|style|data|html\\w*|unicode|require|mmlToken|bbox|toggle|texttip|mathtip|"
    "def|gdef|edef|xdef|let|global|newcommand|renewcommand|providecommand|newenvironment|renewenvironment|"
    "Newextarrow|csname|input|include|includegraphics|special|write|catcode"
)
# Characters that are no text: readers of HTML and of addresses drop some of them without a trace.
NO_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff]")
MARKUP = re.compile(
    r"<(?=[A-Za-z/!?])"  # a tag, an address between angle brackets
    r"|&(?=#?\w+;)"  # an entity
    r"|!(?=\[)"  # a picture, which is fetched without being asked for
    r"|\](?=\((?!(?:https?://|mailto:)))"  # a link to anywhere but the web
    r"|\](?=:(?![ \t]*(?:https?://|mailto:)))"  # the same, defined elsewhere
    rf"|\\(?=(?:{FORMULA_COMMANDS})(?![A-Za-z]))"
    r"|(?<![^\s>])#{1,6}[ \t]*(?=[^#\s])"  # a heading, whose words become the name of a place in the page
    r"|(?<=\S)(?=\n[ \t>]*(?:=+|-+)[ \t]*$)"  # the same, underlined
    r"|(?:`{3}|~{3})[ \t]*(?=mermaid)",  # a diagram, which a script draws
    re.MULTILINE,
)
# Characters of one cell, and of a notebook: readers of markdown are slow on text that is made for it.
LONGEST = 20_000
MOST = 100_000


def neutralize_prose(texts: Iterable[str]) -> Iterator[str]:
    """A notebook's prose, cell by cell, see `tame`; whatever is long is not read as markdown at all."""
    read = 0
    for text in map(neutralize_markup, texts):
        read += len(text)
        yield text if len(text) <= LONGEST and read <= MOST else _as_code(text)


def neutralize_markup(text: str) -> str:
    """The text with nothing in it that is more than text, but emphasis, lists, formulas and web links."""
    return MARKUP.sub(rf"\g<0>{INVISIBLE_SPACE}", NO_TEXT.sub("", text))


def _as_code(text: str) -> str:
    """The text within a fence that nothing in it ends."""
    fence = "~" * (max((len(run) for run in re.findall("~+", text)), default=2) + 1)
    return f"{fence}\n{text}\n{fence}"
