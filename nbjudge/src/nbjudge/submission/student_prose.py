"""A student's prose as it is put into the notebook that people look at: it shows, and does nothing.

The formgrader's page, JupyterLab and the feedback page read markdown in ways of their own. So this does
not rely on any of them: an invisible space is put where any of them would see markup. A formula
may use the commands of `formula_commands`; an invisible space follows the backslash of every other command,
so that no reader takes it for a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from nbjudge.submission.formula_commands import COMMANDS, ENVIRONMENTS

INVISIBLE_SPACE = "\u200b"
# Characters that are no text: readers of HTML and of addresses drop some of them without a trace.
NO_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff]")
MARKUP = re.compile(
    r"<(?=[A-Za-z/!?])"  # a tag, an address between angle brackets
    r"|&(?=#?\w+;)"  # an entity
    r"|!(?=\[)"  # a picture, which is fetched without being asked for
    r"|\](?=\((?!(?:https?://|mailto:)))"  # a link to anywhere but the web
    r"|\](?=:(?![ \t]*(?:https?://|mailto:)))"  # the same, defined elsewhere
    r"|(?<![^\s>])#{1,6}[ \t]*(?=[^#\s])"  # a heading, whose words become the name of a place in the page
    r"|(?<=\S)(?=\n[ \t>]*(?:=+|-+)[ \t]*$)"  # the same, underlined
    r"|(?:`{3}|~{3})[ \t]*(?=mermaid)",  # a diagram, which a script draws
    re.MULTILINE,
)
# A command of TeX; or a line break with a length, which may be as small as a line.
COMMAND = re.compile(
    r"\\(?=(?P<name>[A-Za-z]+)(?P<after>\s*(?:\{[^{}\n]{0,40}\})?(?:\{[^{}\n]{0,40}\})?))"
    r"|\\(?=(?P<back>!))"
    r"|\\\\\*?(?=\s*\[[\s{]*(?P<length>[-+]?[\d.,]+\s*[a-z]{2})[\s}]*\])"
)
SMALL_LENGTH = re.compile(r"1?\d(?:\.\d+)?(?:pt|px|mu)|[01]?(?:\.\d+)?(?:em|ex)|\d(?:\.\d+)?mm")
# What must follow some commands.
ARGUMENTS = {
    "begin": re.compile(
        rf"\{{(?!array)(?:{'|'.join(map(re.escape, sorted(ENVIRONMENTS)))})\}}(?:\{{.*)?"
        r"|\{array\}\{[clr|: ]{1,40}\}"
    ),
    "tag": re.compile(r"\{[\w .,'()*-]{1,20}\}.*"),
    **dict.fromkeys(("label", "ref", "eqref"), re.compile(r"\{[\w:. -]{1,40}\}.*")),
}
# Each steps back by up to a third of a letter: a few bring letters closer, many lead out of the formula.
BACKWARDS = frozenset({"!", "negthinspace", "negmedspace", "negthickspace"})
MOST_BACKWARDS = 20
# From each of these a reader of markdown or TeX searches to the end of the text, or goes one level deeper.
OPENING = re.compile(r"\\(?:begin|left)(?![A-Za-z])|\\\\[\[(]")
MOST_OPENINGS = 200
DEEPEST = 30  # braces within each other
# Characters of one cell, and of a notebook: readers of markdown are slow on text that is made for it.
LONGEST = 20_000
LONGEST_BLANK = 100  # a reader that looks for a line break behind spaces begins again at each of them
LONG_BLANK = re.compile(rf"[ \t]{{{LONGEST_BLANK},}}")
MOST = 100_000


def neutralize_prose(texts: Iterable[str]) -> Iterator[str]:
    """A notebook's prose, cell by cell, see `neutralize_markup`; what is long or deep becomes code."""
    read = 0
    for text in map(neutralize_markup, texts):
        read += len(text)
        yield text if len(text) <= LONGEST and read <= MOST and _is_simple(text) else _as_code(text)


def neutralize_markup(text: str) -> str:
    """The text with nothing in it that is more than text, but emphasis, lists, formulas and web links."""
    text = LONG_BLANK.sub(lambda blank: blank[0][:LONGEST_BLANK], NO_TEXT.sub("", text))
    return _without_commands(MARKUP.sub(rf"\g<0>{INVISIBLE_SPACE}", text))


def _without_commands(text: str) -> str:
    """The text with a space within each command of TeX that no formula may use."""
    backwards = 0

    def checked(found: re.Match[str]) -> str:
        nonlocal backwards
        name = found["name"] or found["back"]
        backwards += name in BACKWARDS
        if found["length"] is not None:
            is_allowed = SMALL_LENGTH.fullmatch(found["length"]) is not None
        elif name in BACKWARDS:
            is_allowed = backwards <= MOST_BACKWARDS
        else:
            is_allowed = name in COMMANDS and (
                name not in ARGUMENTS or ARGUMENTS[name].fullmatch(found["after"].strip()) is not None
            )
        return found[0] if is_allowed else found[0] + INVISIBLE_SPACE

    return COMMAND.sub(checked, text)


def _is_simple(text: str) -> bool:
    """Whether little in it is nested, or opens something that a reader looks for the end of."""
    depth = deepest = 0
    for brace in re.findall(r"[{}]", text):
        depth = max(0, depth + (1 if brace == "{" else -1))
        deepest = max(deepest, depth)
    return deepest <= DEEPEST and len(OPENING.findall(text)) <= MOST_OPENINGS


def _as_code(text: str) -> str:
    """The text within a fence that nothing in it ends."""
    fence = "~" * (max((len(run) for run in re.findall("~+", text)), default=2) + 1)
    return f"{fence}\n{text}\n{fence}"
