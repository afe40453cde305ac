"""A table as a CSV file that a spreadsheet can open without running anything in it."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Sequence
from pathlib import Path

# What makes a spreadsheet read a cell as a formula. https://owasp.org/www-community/attacks/CSV_Injection
FORMULA = re.compile("[=+\\-@＝＋－＠]")
# Ids and addresses such as +4912, -7 or @ada: without brackets, quotes and the like nothing can be called.
PLAIN_IDENTIFIER = re.compile(r"[\w.+@-]*", re.ASCII)


def escape_formula(text: str) -> str:
    """The text on one line; with an apostrophe before it if a spreadsheet would take it for a formula."""
    line = " ".join(text.split())
    return f"'{line}" if FORMULA.match(line) else line


def escape_identifier(text: str) -> str:
    """An id, a login or an address. It stays as it is where it can do no harm, so that it is found."""
    return text if PLAIN_IDENTIFIER.fullmatch(text) else escape_formula(text)


def write_table(file: Path, rows: Sequence[Sequence[str]]) -> None:
    """Write the rows (RFC 4180, UTF-8) in the place of what the file held, whole or not at all.

    Raises SystemExit, with a sentence, where the file cannot be written.
    """
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    draft = file.with_name(f"{file.name}.part-{os.getpid()}")
    try:
        draft.write_bytes(text.getvalue().encode("utf-8", "replace"))
        draft.replace(file)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise SystemExit(
            f"Nothing was exported: {file} cannot be written ({error.strerror}). "
            "Name another file with `--to`."
        ) from error
