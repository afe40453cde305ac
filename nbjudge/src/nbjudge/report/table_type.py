"""A table as plain Python: named columns, and a row for each thing that is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]  # a value by column: text, a number, a list of students, or None where there is none


@dataclass(frozen=True)
class Table:
    """Rows that all have a value, or None, for each of the columns, in the columns' order."""

    columns: tuple[str, ...]
    rows: list[Row]

    def without(self, *columns: str) -> Table:
        """The table without some of its columns."""
        return table_of([name for name in self.columns if name not in columns], self.rows)


def table_of(columns: Sequence[str], rows: Sequence[Row]) -> Table:
    """A table of these columns: what else a row has is left out, what it lacks is None."""
    return Table(tuple(columns), [{name: row.get(name) for name in columns} for row in rows])


def counted(column: str, values: Iterable[str]) -> Table:
    """How many times each value of a column is there, the most frequent first."""
    times = Counter(values).most_common()
    return Table((column, "times"), [{column: value, "times": count} for value, count in times])
