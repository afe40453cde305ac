"""Fingerprints of an answer: what is left of it when names, comments, order and layout are taken away.

Each statement of code, or sentence of prose, is read by itself. A fingerprint is a token with the ones
before it in its statement, so that another order of definitions and lines between them change none. Student
code is neither run nor given to Python's parser: one expression that never goes back reads it, whether it is
valid or not.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

LONGEST_ANSWER = 20_000  # characters; what is behind them is not compared
LONGEST_STATEMENT = 2_000  # tokens; a bracket that is never closed ends there
CODE_LENGTH, PROSE_LENGTH = 8, 3  # tokens of a fingerprint
TOKEN = re.compile(
    r"""(?P<skipped>\#[^\n]*+|[ \t\f\r]++|\\\n)
    |(?P<text>(?i:[rbuft]{0,2}+)(?:(?P<quotes>"{3}|'{3})(?s:.*?)(?:(?P=quotes)|\Z)
        |"(?:[^"\\\n]|\\.)*+"?+|'(?:[^'\\\n]|\\.)*+'?+))
    |(?P<name>[^\W\d]\w*+) |(?P<number>\d[\w.]*+|\.\d\w*+) |(?P<line>[\n;])
    |(?P<sign>\*\*|//|->|[-+*/%@&|^<>=!:]=|<<|>>|.)""",
    re.VERBOSE,
)
IMPORT = re.compile(r"^[ \t]*+(?:import|from)\b([^\n#]*+)", re.MULTILINE)
DEFINED = re.compile(r"^[ \t]*+(?:async[ \t]++)?+(?:def|class)[ \t]++(\w++)", re.MULTILINE)
ATTRIBUTE = re.compile(r"^[ \t]*+\w++\.(\w++)[ \t]*+(?::[^=\n]*+)?+=(?!=)", re.MULTILINE)
WORD = re.compile(r"\w++|(?P<end>[.!?:;\n])")
LANGUAGE = frozenset(keyword.kwlist) | frozenset(dir(builtins))


class Token(NamedTuple):
    """A normalised token and its place in the text."""

    text: str
    start: int
    end: int


class Fingerprint(NamedTuple):
    """A token with those before it (`value`), and those before it alone (`context`), as hashes."""

    value: int
    context: int
    start: int
    end: int


@dataclass(frozen=True)
class Names:
    """The names that say what code does: of the language, of libraries and of the assignment.

    Any other name may be changed without a change of what is done: `own` ones are attributes and functions
    that the code defines itself.
    """

    known: frozenset[str] = LANGUAGE
    own: frozenset[str] = frozenset()

    @classmethod
    def of_assignment(cls, texts: Iterable[str]) -> Names:
        """The names that the texts of an assignment import or define."""
        texts = list(texts)
        return cls(LANGUAGE.union(*map(_imported, texts), *map(DEFINED.findall, texts)))

    def of_work(self, texts: Iterable[str]) -> Names:
        """The names in the code of one student."""
        texts = [text[:LONGEST_ANSWER] for text in texts]
        own = frozenset[str]().union(*map(ATTRIBUTE.findall, texts), *map(DEFINED.findall, texts))
        return Names(self.known.union(*map(_imported, texts)), own - self.known)


def _imported(code: str) -> set[str]:
    return {name for line in IMPORT.findall(code) for name in re.findall(r"\w++", line)}


def fingerprints(text: str, names: Names | None) -> Iterator[Fingerprint]:
    """The fingerprints of an answer; `names` is None for prose."""
    length = PROSE_LENGTH if names is None else CODE_LENGTH
    for statement in statements(text, names):
        tokens = [""] * (length - 1) + [token.text for token in statement]
        for at, token in enumerate(statement):
            context = tuple(tokens[at : at + length - 1])
            start = statement[max(0, at - length + 1)].start
            yield Fingerprint(hash((*context, token.text)), hash(context), start, token.end)


def statements(text: str, names: Names | None) -> Iterator[list[Token]]:
    """The statements of an answer's code, or the sentences of its prose, as normalised tokens."""
    text = text[:LONGEST_ANSWER]
    return _sentences(text) if names is None else _code_statements(text, names)


def _sentences(text: str) -> Iterator[list[Token]]:
    sentence = list[Token]()
    for found in WORD.finditer(text):
        if found["end"] is None:
            sentence.append(Token(found[0].lower(), *found.span()))
        elif sentence:
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def _code_statements(text: str, names: Names) -> Iterator[list[Token]]:
    for tokens in _lines(text):
        if any(found.lastgroup != "text" for found in tokens):  # else a docstring
            yield _normalised(tokens, names)


def _lines(text: str) -> Iterator[list[re.Match[str]]]:
    """The tokens of each logical line: it goes on within brackets."""
    line, depth = list[re.Match[str]](), 0
    for found in TOKEN.finditer(text):
        if found["line"] is None:
            depth = max(0, depth + _step(found))
            line += [found] if found["skipped"] is None else []
        if line and ((found["line"] is not None and depth == 0) or len(line) >= LONGEST_STATEMENT):
            yield line
            line, depth = [], 0
    if line:
        yield line


def _step(found: re.Match[str]) -> int:
    """How much deeper within brackets the text is behind a token."""
    return 0 if found["sign"] is None else (found[0] in "([{") - (found[0] in ")]}")


def _normalised(line: list[re.Match[str]], names: Names) -> list[Token]:
    """The tokens of a line: texts without their words, and free names numbered by their first place."""
    numbers, tokens, depth = dict[str, int](), list[Token](), 0
    defines = line[0][0] in ("def", "async")
    for at, found in enumerate(line):
        name, before, following = (
            found[0],
            line[at - 1][0] if at else "",
            [each[0] for each in line[at + 1 : at + 2]],
        )
        is_argument = depth > 0 and not defines and before in "(," and "=" in following
        is_kept = name not in names.own if before == "." else is_argument or name in names.known
        depth += _step(found)
        if found["text"] is not None:
            name = "''"
        elif found["name"] is not None and not is_kept:
            name = f"name {numbers.setdefault(name, len(numbers))}"
        tokens.append(Token(name, *found.span()))
    return tokens
