"""A dialect of SQLAlchemy for the gradebook, with which nbgrader's statements are compiled once.

nbgrader opens the gradebook nine times per submission, each time with an engine of its own, which compiles
its statements and looks for all tables again. Its part of grading a notebook takes 180 ms of a processor
then, 115 ms with compiled statements, and 95 ms if the tables are remembered as well. One engine per
gradebook in nbgrader would make this module unnecessary.
"""

from __future__ import annotations

import os
from typing import Any

from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import Engine

DRIVER = "nbjudge"  # `sqlite+nbjudge:///gradebook.db`
_compiled: dict[Any, Any] = {}  # a few dozen statements of nbgrader's
_tables: set[tuple[int, int, str]] = set()  # those that a gradebook is known to have, by device and inode


class SQLite(SQLiteDialect_pysqlite):
    """SQLAlchemy's dialect for SQLite with equal instances, so that their engines share one cache."""

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def has_table(self, connection: Any, table_name: str, schema: Any = None, **options: Any) -> bool:
        """Look for a table once per file, because nbgrader does it whenever it opens the file."""
        file = connection.engine.url.database
        about = os.stat(file) if file and os.path.exists(file) else None
        table = None if about is None else (about.st_dev, about.st_ino, table_name)
        if table in _tables:
            return True
        found = bool(super().has_table(connection, table_name, schema, **options))
        if found and table is not None:
            _tables.add(table)
        return found

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        engine.update_execution_options(compiled_cache=_compiled)


def with_shared_sql(url: str) -> str:
    """Return the URL of the same gradebook with shared statements; of another database as it is."""
    before, colon, place = url.partition(":")
    if before not in ("sqlite", "sqlite+pysqlite"):
        return url
    registry.register(f"sqlite.{DRIVER}", __name__, SQLite.__name__)
    return f"sqlite+{DRIVER}{colon}{place}"
