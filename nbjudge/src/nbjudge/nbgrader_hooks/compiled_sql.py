"""Share compiled SQL statements between the connections of one run to a SQLite gradebook.

nbgrader opens the gradebook nine times per submission, each time with an engine of its own, and an engine
compiles each statement again. `SQLite` is SQLAlchemy's dialect for SQLite, except that all its instances are
equal and their engines share one cache.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import Engine

DRIVER = "nbjudge"  # `sqlite+nbjudge:///gradebook.db`
_compiled: dict[Any, Any] = {}  # a few dozen statements of nbgrader's


class SQLite(SQLiteDialect_pysqlite):
    """The dialect of a URL with this driver."""

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        engine.update_execution_options(compiled_cache=_compiled)


def with_shared_sql(url: str) -> str:
    """Return the URL of the same gradebook with shared statements; a URL of another database stays as it is.

    Parameters
    ----------
    url
        What nbgrader opens.
    """
    before, colon, place = url.partition(":")
    if before not in ("sqlite", "sqlite+pysqlite"):
        return url
    registry.register(f"sqlite.{DRIVER}", __name__, SQLite.__name__)
    return f"sqlite+{DRIVER}{colon}{place}"
