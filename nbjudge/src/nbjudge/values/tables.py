"""pandas' tables and their columns as kinds of values.

A column travels as the array that it is, or entry by entry where it holds texts, truth values with gaps and
the like. What an index is called travels with it; how often its dates come, or the order of a
category's values, does not.

Part of what runs in the student's kernel, see `nbjudge.kernel.protocol`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nbjudge.values.kinds import LONGEST_LIST, Kind, kind_of, register

# Columns of these dtypes are sent entry by entry; all others are arrays of NumPy's.
BY_ENTRY = {"object", "str", "string", "category", "boolean", "Float32", "Float64"}
BY_ENTRY |= {f"{sign}{bits}" for sign in ("Int", "UInt") for bits in (8, 16, 32, 64)}
MOST_COLUMNS = 1_000
MOST_SHOWN = 4  # columns or rows in a sentence
NESTED = 4  # how deep a message's tree may be below a table


class PandasKind(Kind):
    """The base of tables and columns."""

    library = "pandas"
    names = {"pd": "pandas"}

    def copy(self, value: Any, with_gradient: bool) -> Any:
        return value.copy(deep=True)

    def identical(self, value: Any, other: Any) -> bool:
        return type(value) is type(other) and _are_equal(value, other, check_exact=True)

    def same(self, value: Any, other: Any, tolerance: Any, equal_nan: bool) -> bool:
        rtol, atol = tolerance.float64
        return _are_equal(value, other, rtol=rtol, atol=atol, check_freq=False, check_categorical=False)

    def _column_tree(self, column: Any, message: Any) -> list[Any] | None:
        """Its dtype, and its entries; of a column or an index."""
        dtype = str(column.dtype)
        if dtype in BY_ENTRY:
            if len(column) > LONGEST_LIST:
                return None
            missing = column.isna()
            entries = [None if gone else entry for entry, gone in zip(column.tolist(), missing, strict=True)]
            return [dtype, message.tree(entries, NESTED)]
        numbers = column.to_numpy()
        owner = kind_of(numbers)
        node = {"other": ""} if owner is None else owner.to_tree(numbers, message)
        return None if "other" in node else ["array", node]

    def _column(self, content: Any, message: Any, length: int) -> Any:
        import numpy
        import pandas

        dtype, node = content
        entries = message.value(node, NESTED)
        of_numbers = dtype == "array" and isinstance(entries, numpy.ndarray) and entries.ndim == 1
        by_entry = dtype in BY_ENTRY and type(entries) is list
        if not (of_numbers or by_entry) or len(entries) != length:
            raise ValueError("no column that is read")
        return pandas.Series(entries, dtype=None if dtype == "array" else dtype)

    def _index_tree(self, index: Any, message: Any) -> list[Any] | None:
        """Its name and what it holds; a plain count of rows is sent as that."""
        name = index.name if isinstance(index.name, str) else None
        plain = hasattr(index, "step") and (index.start, index.step) == (0, 1)
        if plain or hasattr(index, "levels"):
            return [name, len(index), None] if plain else None
        tree = self._column_tree(index, message)
        return None if tree is None else [name, len(index), tree]

    def _index(self, content: Any, message: Any) -> Any:
        import pandas

        name, length, tree = content
        if type(length) is not int or not 0 <= length <= 2**22:
            raise ValueError("no index that is read")
        name = name if isinstance(name, str) else None
        if tree is None:
            return pandas.RangeIndex(length, name=name)
        return pandas.Index(self._column(tree, message, length), name=name)

    def _dtypes_differ(self, name: str, value: Any, expected: Any) -> Iterator[str]:
        if str(value.dtype) != str(expected.dtype):
            yield f"{name} has dtype {value.dtype}, expected {expected.dtype}."

    def _entries_differ(self, name: str, value: Any, expected: Any) -> Iterator[str]:
        """The first entry that differs by more than rounding."""
        import pandas

        for label, actual, wanted in zip(expected.index, value.tolist(), expected.tolist(), strict=True):
            both_missing = pandas.isna(actual) is True and pandas.isna(wanted) is True
            close = isinstance(actual, float) and isinstance(wanted, float) and abs(actual - wanted) <= 1e-5
            if not (both_missing or close or actual == wanted):
                yield f"{name} is {_entry(actual)} in the row {_entry(label)}, and {_entry(wanted)} is right."
                return

    def _rows_differ(self, name: str, value: Any, expected: Any) -> Iterator[str]:
        if len(value) != len(expected):
            yield f"{name} has {len(value)} rows, expected {len(expected)}."
        elif list(value.index) != list(expected.index):
            actual, wanted = (_some(index) for index in (value.index, expected.index))
            if sorted(map(str, value.index)) == sorted(map(str, expected.index)):
                yield f"{name} has its rows in another order: its index is {actual}, not {wanted}."
            else:
                yield f"{name} has the index {actual}, expected {wanted}."


class Columns(PandasKind):
    """`pandas.Series`."""

    message_tag = "column"
    type_names = ("Series",)
    noun = "Series"

    def to_tree(self, value: Any, message: Any) -> dict[str, Any]:
        column, index = self._column_tree(value, message), self._index_tree(value.index, message)
        if column is None or index is None:
            return {"other": f"a Series of dtype {value.dtype}, or with an index, that cannot be sent"}
        return {self.message_tag: [value.name if isinstance(value.name, str) else None, column, index]}

    def from_tree(self, content: Any, message: Any) -> Any:
        name, column, index = content
        labels = self._index(index, message)
        series = self._column(column, message, len(labels))
        series.index = labels
        return series.rename(name if isinstance(name, str) else None)

    def differences(self, name: str, value: Any, expected: Any) -> Iterator[str]:
        yield from self._rows_differ(name, value, expected)
        if len(value) == len(expected):
            yield from self._entries_differ(name, value, expected)
        yield from self._dtypes_differ(name, value, expected)
        if value.name != expected.name:
            yield f"{name} is called {value.name!r}, expected {expected.name!r}."
        yield from super().differences(name, value, expected)

    def describe(self, value: Any) -> str:
        return f"a Series of {len(value)} ({value.dtype})"


class Tables(PandasKind):
    """`pandas.DataFrame`."""

    message_tag = "table"
    type_names = ("DataFrame",)
    noun = "DataFrame"

    def to_tree(self, value: Any, message: Any) -> dict[str, Any]:
        names = [name for name in value.columns if isinstance(name, str)]
        index = self._index_tree(value.index, message)
        if index is None or len(names) != len(value.columns) or len(names) > MOST_COLUMNS:
            return {"other": f"{self.describe(value)}, whose index or whose columns' names cannot be sent"}
        columns = [self._column_tree(value.iloc[:, at], message) for at in range(len(names))]
        if None in columns:
            return {"other": f"a DataFrame whose column {names[columns.index(None)]!r} cannot be sent"}
        return {self.message_tag: [names, columns, index]}

    def from_tree(self, content: Any, message: Any) -> Any:
        import pandas

        names, columns, index = content
        labels = self._index(index, message)
        if len(names) != len(columns) or len(names) > MOST_COLUMNS:
            raise ValueError("no table that is read")
        table = pandas.DataFrame(
            {at: self._column(column, message, len(labels)) for at, column in enumerate(columns)},
            index=pandas.RangeIndex(len(labels)),
        )
        table.columns = pandas.Index([str(name) for name in names])
        table.index = labels
        return table

    def differences(self, name: str, value: Any, expected: Any) -> Iterator[str]:
        actual, wanted = list(value.columns), list(expected.columns)
        missing = [column for column in wanted if column not in actual]
        extra = [column for column in actual if column not in wanted]
        if missing or extra:
            lacks = f"lacks {_some(missing)}" if missing else ""
            has = f"has {_some(extra)} too many" if extra else ""
            yield f"Of the columns, {name} {' and '.join(filter(None, (lacks, has)))}."
        elif actual != wanted:
            yield f"{name} has its columns in the order {_some(actual)}, expected {_some(wanted)}."
        yield from self._rows_differ(name, value, expected)
        for column in (
            wanted if actual == wanted and len(value) == len(expected) and value.columns.is_unique else ()
        ):
            called = f"{name}'s column {column!r}"
            yield from self._entries_differ(called, value[column], expected[column])
            yield from self._dtypes_differ(called, value[column], expected[column])
        yield from super().differences(name, value, expected)

    def describe(self, value: Any) -> str:
        return f"a DataFrame of {len(value)} rows and {len(value.columns)} columns"


def _are_equal(value: Any, other: Any, **how: Any) -> bool:
    from pandas.testing import assert_frame_equal, assert_series_equal

    compare: Any = assert_frame_equal if hasattr(value, "columns") else assert_series_equal
    try:
        compare(value, other, **how)
    except AssertionError:
        return False
    return True


def _some(entries: Any) -> str:
    listed = list(entries[: MOST_SHOWN + 1])
    shown = ", ".join(_entry(entry) for entry in listed[:MOST_SHOWN])
    return f"[{shown}{', …' if len(listed) > MOST_SHOWN else ''}]"


def _entry(entry: Any) -> str:
    text = (
        f"{entry:.4g}" if isinstance(entry, float) else repr(entry) if isinstance(entry, str) else str(entry)
    )
    return text if len(text) <= 40 else f"{text[:37]}..."


register(Columns())
register(Tables())
