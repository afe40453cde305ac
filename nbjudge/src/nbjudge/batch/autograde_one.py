"""Grade one submission with nbgrader's own `Autograde`; an executor runs the notebook."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import Engine
from traitlets.config import Config

from nbjudge.course.folders import invalid_id_reason
from nbjudge.grading.job import Executor
from nbjudge.plain_text import TRACEBACK, keep_plain, plain_line, words_of_failure

FAILED = "nbgrader could not grade it; the log says why"
DRIVER = "nbjudge"  # `sqlite+nbjudge:///gradebook.db`
_compiled: dict[Any, Any] = {}  # a few dozen statements of nbgrader's
_tables: set[tuple[int, int, str]] = set()  # those that a gradebook is known to have, by device and inode


class AutogradeOneSubmission(Autograde):  # type: ignore[misc]
    """nbgrader's converter, for a submission that `SubmissionExporter` finds: that of the student `only`."""

    only = ""
    executor: Executor | None = None  # grades its notebook; without one, this process does

    def init_notebooks(self) -> None:
        """Nothing: nbgrader's own search gives up on a folder without a notebook."""
        self.assignments: dict[str, list[str]] = {}
        self.notebooks: list[str] = []


class Autograder:
    """Sends the submissions to one assignment through nbgrader's `Autograde`, one by one."""

    def __init__(self, config: Config, root: Path, assignment: str, log: Path) -> None:
        self._config, self._root, self._assignment = config, root, assignment
        self._handler = logging.FileHandler(log, encoding="utf-8")
        self._handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))
        # Those of the libraries would tear the progress bar.
        logging.captureWarnings(True)
        logging.getLogger("py.warnings").addHandler(self._handler)

    def autograde(self, student: str, force: bool, executor: Executor) -> str:
        """Do all that `nbgrader autograde ASSIGNMENT --student STUDENT` does.

        Returns what went wrong, in a sentence, and nothing as a rule. Raises GradingStoppedError where no
        submission at all can be graded or recorded.
        """
        reason = invalid_id_reason(student)
        if reason is not None:
            return reason
        config = Config(self._config)
        log = _StudentLog(student, self._handler)
        coursedir = CourseDirectory(config=config, log=log)
        coursedir.root = str(self._root)
        coursedir.assignment_id = self._assignment
        coursedir.student_id = student
        coursedir.db_url = with_shared_sql(coursedir.db_url)
        converter = AutogradeOneSubmission(coursedir=coursedir, config=config, log=log)
        converter.force, converter.only = force, student
        converter.executor = executor
        try:
            converter.start()
        except NbGraderException:
            return log.last_words or FAILED
        return ""

    def close(self) -> None:
        logging.getLogger("py.warnings").removeHandler(self._handler)
        logging.captureWarnings(False)
        self._handler.close()


class _StudentLog(logging.Logger):
    """nbgrader's words about one student: into the log with the name, the last error kept."""

    def __init__(self, student: str, handler: logging.Handler) -> None:
        super().__init__(plain_line(student), logging.INFO)
        self.addHandler(handler)
        keep_plain(self)
        self.last_words = ""

    def handle(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        # An error of nbgrader's comes as a traceback between sentences that say only that there was one.
        if record.levelno >= logging.ERROR and message.startswith(TRACEBACK):
            self.last_words = words_of_failure(message)
        super().handle(record)


class SQLite(SQLiteDialect_pysqlite):
    """SQLAlchemy's dialect for SQLite with equal instances, so that their engines share one cache.

    nbgrader opens the gradebook nine times per submission, each time with an engine of its own, and an engine
    compiles each statement again. The dialect also remembers which tables there are.
    """

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
