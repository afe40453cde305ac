"""How the commands of a term show what they change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nbjudge.plain_text import plain_line

NOTHING_CHANGED = "Nothing was changed (--dry-run)."


def show(
    console: Console,
    sentences: Iterable[str],
    headings: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
    dry_run: bool = False,
) -> None:
    """Print a table, if it has rows, and then sentences; a student's words are no markup."""
    if rows:
        table = Table(*headings, box=SIMPLE_HEAD, show_edge=False)
        for row in rows:
            table.add_row(*(Text(plain_line(cell, 300)) for cell in row))
        console.print(table)
    for sentence in filter(None, (*sentences, NOTHING_CHANGED if dry_run else "")):
        console.print(Text(plain_line(sentence, 2_000)), soft_wrap=True)
