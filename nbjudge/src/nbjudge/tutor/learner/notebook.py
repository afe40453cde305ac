"""Listens to the cells of a notebook: starts the tutor early, and keeps the name `check` for it."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from IPython import get_ipython

from nbjudge.tutor.learner import TutorMissingError, checking
from nbjudge.tutor.learner.answering import load_ahead
from nbjudge.tutor.learner.record import LearnerRecord
from nbjudge.tutor.learner.result import is_notebook

IDLE_SECONDS = 0.5  # after the set-up cell, if no other cell runs
TAKEN = (
    "The name `check` is the tutor's again. What you had called so is now `{other}`: give it another name, "
    "or the cells below cannot ask the tutor."
)


def begin_notebook(
    course: Path | None = None, record: Path | None = None, when_idle: Callable[[], object] | None = None
) -> None:
    """Start the tutor while the learner reads, and keep the name `check` for it.

    `from nbjudge.tutor import check` calls it. A course's own package that knows more calls it before.
    Without a tutor, the first `check` will say so.

    Parameters
    ----------
    course
        The folder with the course's checks and source notebooks; by default the one in the environment
        variable `NBJUDGE_COURSE`, or the nearest one around the notebook.
    record
        The file that keeps the learner's record; by default it is lost when the kernel ends.
    when_idle
        Called once between two cells after the set-up cell, to import what later cells need.
    """
    checking.connection.course = course or checking.connection.course
    if record is not None:
        checking.use_record(LearnerRecord(record))
    shell = get_ipython()
    if shell is None or not is_notebook(shell):
        return
    with suppress(TutorMissingError):
        checking.connection.begin(Path.cwd().name)
    if not getattr(shell, "_nbjudge_keeps_check", False):
        shell._nbjudge_keeps_check = True
        failed_runs = checking.failed_runs
        shell.events.register("pre_run_cell", lambda run: failed_runs.begin(run.raw_cell, shell.user_ns))
        shell.events.register("post_run_cell", lambda run: failed_runs.end(_error_of(run), shell.user_ns))
        shell.events.register("post_run_cell", lambda *_: _keep_the_name(shell.user_ns))
        _load_after_the_set_up_cell(shell, when_idle)


def _error_of(run: Any) -> BaseException | None:
    """The error that a cell's run ended with, before or while it was executed."""
    error: BaseException | None = run.error_before_exec or run.error_in_exec
    return error


def _keep_the_name(names: dict[str, Any]) -> None:
    """Give `check` back its meaning where a learner's cell has taken the name."""
    if names.get("check", checking.check) is not checking.check:
        other = next(name for number in count(1) if (name := f"my_check_{number}") not in names)
        names[other], names["check"] = names["check"], checking.check
        print(TAKEN.format(other=other))


def _load_after_the_set_up_cell(shell: Any, when_idle: Callable[[], object] | None) -> None:
    """Load between two cells what the first check needs, and what the course wants loaded."""

    def set_up_cell_has_run(*_: object) -> None:
        shell.events.unregister("post_run_cell", set_up_cell_has_run)
        with suppress(RuntimeError):  # without an event loop, the first check loads it
            asyncio.get_running_loop().call_later(IDLE_SECONDS, load)

    def load() -> None:
        if not checking.connection.has_begun or threading.current_thread() is not threading.main_thread():
            return
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted import stays broken
        try:
            load_ahead(checking.connection.first_program())
            if when_idle is not None:
                when_idle()
        finally:
            signal.signal(signal.SIGINT, before)
        if checking.connection.is_starting:  # its program comes when it is ready
            asyncio.get_running_loop().call_later(IDLE_SECONDS, load)

    shell.events.register("post_run_cell", set_up_cell_has_run)
