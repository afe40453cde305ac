"""Make text from a submission plain before it enters a sentence, a log, a page or a terminal.

A file's name, an error's words and a student's id may hold anything. Whatever is said of a submission
goes through here once, where the sentence is made, and through `as_html` where it becomes markup.
"""

from __future__ import annotations

import html
import logging
import re
import traceback
from collections.abc import Callable, Sequence
from typing import Any

LONGEST_NAME = 60  # characters of a file's name that are shown
LONGEST_WORDS = 100  # characters of foreign text within a sentence
LONGEST_SENTENCE = 2_000
MOST_LISTED = 3  # names in a sentence
TRACEBACK = "Traceback (most recent call last):"
OURS = re.compile(r"nbjudge\.[\w.]+: ")  # how Python names an error whose words are a sentence
# What turns on colours, moves the cursor or names a window (ECMA-48).
TERMINAL_CODES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-_])")
# Control characters, those that end a line or turn the direction of reading, and halves of characters.
NOT_SHOWN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")

_MARK = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
# Letters of living languages have two marks at most; more of them are drawn over the lines above and below.
TOO_MANY_MARKS = re.compile(rf"({_MARK}{{2}}){_MARK}+")


def shown_name(name: str) -> str:
    """A file's name in quotes, on one line, short; what cannot be shown of it as an escape."""
    name = TOO_MANY_MARKS.sub(r"\1", name)
    if len(name) > LONGEST_NAME:
        name = f"{name[: LONGEST_NAME - 20]}…{name[-19:]}"  # the end says what kind of file it is
    return repr(name)


def first_few(parts: Sequence[str], between: str = ", ") -> str:
    """The first of several names or clauses, and how many more there are."""
    more = f" and {len(parts) - MOST_LISTED} more" if len(parts) > MOST_LISTED else ""
    return between.join(parts[:MOST_LISTED]) + more


def cell_label(position: int, source: str) -> str:
    """Name a cell by its position, from 1, and its first line, because Jupyter shows authors no ids."""
    return f"cell {position} (“{plain_line(source.strip().partition(chr(10))[0], LONGEST_NAME)}”)"


def plain_line(text: str, longest: int = LONGEST_WORDS) -> str:
    """Foreign text on one line, without control characters."""
    line = " ".join(plain_lines(text[: 4 * longest]).split())
    return line if len(line) <= longest else f"{line[:longest]} …"


def plain_lines(text: str) -> str:
    """Foreign text without colours and control characters except line ends."""
    text = without_terminal_codes(text.replace("\r\n", "\n"))
    return TOO_MANY_MARKS.sub(r"\1", NOT_SHOWN.sub("\N{REPLACEMENT CHARACTER}", text))


def without_terminal_codes(text: str) -> str:
    return TERMINAL_CODES.sub("", text)


def as_html(text: str) -> str:
    """The text on one line of HTML, none of which is markup or a formula."""
    escaped = html.escape(plain_line(text, LONGEST_SENTENCE), quote=False)
    # Formulas are looked for in a page's text, between these, and never across elements.
    return re.sub(r"[$\\]", r"<span>\g<0></span>", escaped)


def sentence_as_html(sentence: str, code: Callable[[str], str] = "<code>{}</code>".format) -> str:
    """A sentence as HTML, with the parts in backticks as code.

    Parameters
    ----------
    sentence
        Plain text; markup in it is escaped.
    code
        Turns the escaped text between two backticks into HTML.
    """
    return re.sub(r"`([^`]+)`", lambda found: code(found[1]), html.escape(sentence))


def words_of_failure(traceback_: str) -> str:
    """The last line of a traceback: of an error of ours the sentence only."""
    last = plain_line(traceback_.strip().rpartition("\n")[2], LONGEST_SENTENCE)
    return OURS.sub("", last)


def keep_plain(log: Any) -> None:
    """Let only plain text into a log from now on, and to the terminal that shows it."""
    if not any(isinstance(each, _PlainLog) for each in log.filters):
        log.addFilter(_PlainLog())


class _PlainLog(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if message.startswith(TRACEBACK) and OURS.match(message.strip().rpartition("\n")[2]):
            message = words_of_failure(message)
        record.msg, record.args = plain_lines(message), None
        if record.exc_info:
            record.exc_text = plain_lines("".join(traceback.format_exception(*record.exc_info)))
        return True
