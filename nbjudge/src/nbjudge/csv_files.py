"""CSV files: one writer for reports, exports and the board, in the format that `c.CsvFiles` sets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from nbjudge.settings import DECIMAL_SIGNS, SEPARATORS, CsvSettings

# What makes a spreadsheet read a cell as a formula: https://owasp.org/www-community/attacks/CSV_Injection
# The wide forms are those of Chinese and Japanese keyboards. Quotes before the sign do not help.
_FORMULA_SIGN = "=+\\-@\uff1d\uff0b\uff0d\uff20"
_FORMULA = re.compile(rf"[\s'\"]*[{_FORMULA_SIGN}]")
_ALL_SEPARATORS = ",;\t|"
# Ids and addresses such as +4912, -7 or @ada: without brackets, quotes and the like nothing can be called.
_PLAIN_IDENTIFIER = re.compile(r"[\w.+@-]*", re.ASCII)
_BYTE_ORDER_MARK = "\ufeff"


class Verbatim(str):
    """Text that is written as it is, such as a platform's sign for "no grade"."""


class CsvFormat(CsvSettings):
    """The separators and numbers of a CSV file: `CsvFormat(config=...)` as a course sets it.

    A spreadsheet in a country with a decimal comma (most of Europe and South America) expects semicolons, and
    reads 22.5 as a date.

    Attributes
    ----------
    byte_order_mark
        Whether the file begins with the mark by which Excel recognizes UTF-8.
    """

    byte_order_mark = True

    def text(self, rows: Iterable[Sequence[Any]]) -> str:
        """Write rows as the text of a CSV file (RFC 4180) that no spreadsheet takes for formulas.

        Parameters
        ----------
        rows
            Of each field a text, a number, a list of texts, or None where there is nothing.

        Returns
        -------
        str
            A line for each row. Text is quoted, numbers are not.
        """
        separator = SEPARATORS[self.separator]
        lines = (separator.join(map(self._field, row)) + "\r\n" for row in rows)
        return (_BYTE_ORDER_MARK if self.byte_order_mark else "") + "".join(lines)

    def _field(self, value: Any) -> str:
        if isinstance(value, bool | int):
            return str(value)
        if isinstance(value, float):
            return str(round(value, 6)).replace(".", DECIMAL_SIGNS[self.decimal])
        if isinstance(value, list):
            value = "; ".join(value)
        text = value if isinstance(value, Verbatim) else self._escape(value or "")
        return '"' + text.replace('"', '""') + '"'

    def _escape(self, text: str) -> str:
        """On one line; with an apostrophe wherever a spreadsheet may take a part of it for a formula.

        Quotes keep a field together only for a program that separates by the same sign as the file.
        """
        others = _ALL_SEPARATORS.replace(SEPARATORS[self.separator], "")
        line = " ".join(text.split())
        line = re.sub(rf"([{others}][\s'\"]*)(?=[{_FORMULA_SIGN}])", r"\1'", line)
        return f"'{line}" if is_formula(line) else line


# Learning platforms demand a comma and a point, whatever a course sets for its own spreadsheets.
PLATFORM = CsvFormat()
PLATFORM.byte_order_mark = False


def is_formula(text: str) -> bool:
    """Return whether a spreadsheet may take a field that begins like this for a formula."""
    return bool(_FORMULA.match(text))


def identifier(text: str) -> str:
    """An id, a login or an address; written as it is where nothing can be called in it, so that a platform
    finds it.
    """
    return Verbatim(text) if _PLAIN_IDENTIFIER.fullmatch(text) else text
