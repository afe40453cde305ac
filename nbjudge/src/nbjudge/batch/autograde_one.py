"""Grade one submission with nbgrader's own `Autograde`; an executor runs the notebook."""

from __future__ import annotations

import logging
from pathlib import Path

from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from nbjudge.course.folders import invalid_id_reason
from nbjudge.grading.job import Executor
from nbjudge.plain_text import TRACEBACK, keep_plain, plain_line, words_of_failure

FAILED = "nbgrader could not grade it; the log says why"


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
        converter = AutogradeOneSubmission(coursedir=coursedir, config=config, log=log)
        converter.force, converter.only = force, student
        converter.executor = executor
        try:
            converter.start()
        except NbGraderException:
            return log.last_words or FAILED
        return ""

    def log_warning(self, sentence: str) -> None:
        """Write into the log what is true for the whole class."""
        _StudentLog(self._assignment, self._handler).warning("%s", sentence)

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
