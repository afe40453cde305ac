"""`check`: the cell under each answer, and what a notebook does for it: it starts the tutor early.

The tutor calls the answer with fresh inputs, as a grading run does, and says which groups of cases agree and
what differs. Nothing of it is graded. The name `check` is kept for the tutor.
"""

from __future__ import annotations

import ast
import asyncio
import hashlib
import inspect
import linecache
import re
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython import get_ipython

from nbjudge.tutor.learner import TutorMissingError
from nbjudge.tutor.learner.answering import CallOutcome, answer, load_ahead, respond
from nbjudge.tutor.learner.connection import Connection
from nbjudge.tutor.learner.record import LearnerRecord
from nbjudge.tutor.learner.result import CheckPanel, OnePage, Sentence, WrittenAnswer, is_notebook, one_page

if TYPE_CHECKING:
    from nbjudge.tutor.messages import AnyRequest, Reply


# By the text, because a cell with a SyntaxError has no tree.
DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)|^(\w+)[ \t]*=(?!=)", re.MULTILINE)
STOPPED = "The last run of the cell with `{name}` stopped with {error}"
LONGEST = 200  # characters of an error


class FailedRuns:
    """Is told when a cell begins and ends, and says of an answer whether its cell's last run failed."""

    def __init__(self) -> None:
        self._before: dict[str, Any] = {}  # what the names of the running cell held
        # By name: the error, whether the name is as before, its value.
        self._failed: dict[str, tuple[str, bool, Any]] = {}

    def begin(self, source: str, names: dict[str, Any]) -> None:
        """A cell begins to run."""
        defined = ("".join(found) for found in DEFINED.findall(source))
        self._before = {name: names.get(name) for name in defined}

    def end(self, error: BaseException | None, names: dict[str, Any]) -> None:
        """It has ended, perhaps with an error."""
        for name, before in self._before.items():
            value = names.get(name)
            self._failed.pop(name, None)
            if error is not None and not isinstance(error, NotImplementedError):
                text = f"{type(error).__name__}: {error}".partition("\n")[0][:LONGEST].rstrip(".: ")
                self._failed[name] = text, value is before, value
        self._before = {}

    def note(self, name: str, names: dict[str, Any], is_right: bool) -> str:
        """Return what to say beside the check of an answer; mostly nothing.

        If the run that failed has defined it all the same, the error explains only what is wrong.
        """
        error, is_older, value = self._failed.get(name, ("", False, None))
        if not error or names.get(name) is not value or (is_right and not is_older):
            return ""
        older = ": an earlier definition was checked." if is_older and value is not None else "."
        return STOPPED.format(name=name, error=error) + older


connection, failed_runs, record = Connection(), FailedRuns(), LearnerRecord()
DIED = (
    "The last check, of `{exercise}`, ended together with the kernel: you restarted it, or the answer took "
    "too much memory, or something in it ends Python."
)
STARTING = "The tutor is still starting, so this check takes some seconds longer."


def use_record(learner_record: LearnerRecord) -> None:
    """Keep the learner's record in another file from now on."""
    global record
    record, connection.last_words = learner_record, learner_record.last_words


def check(exercise: str = "") -> CheckPanel | Sentence | WrittenAnswer | OnePage:
    """Check the answer to an exercise, and show what is right about it and what is not.

    Parameters
    ----------
    exercise
        The name of the exercise. Without one, and once all answers of the assignment are right, the
        assignment's code is shown on one page.

    Returns
    -------
    CheckPanel or Sentence or WrittenAnswer or OnePage
        The panel's buttons help further, step by step. In a terminal they are its methods: `.mistake()`,
        `.help()` and `.solution()`. Its `points` are those that the same cases are worth in a grading run.
    """
    folder = Path.cwd()
    try:
        connection.begin(folder.name)
        if not exercise:
            return one_page(folder.name, record, converse)
        from nbjudge.tutor.messages import CheckRequest, CheckResult, WrittenExercise

        code = code_of(exercise)
        request = CheckRequest(folder=folder.name, exercise=exercise, code=code, program=connection.digest)
        reply, notes = converse(request)
    except TutorMissingError as error:
        return Sentence(str(error))
    if died := record.take_last_words():
        notes.append(DIED.format(exercise=died))
    if isinstance(reply, WrittenExercise):
        return WrittenAnswer(exercise, folder, converse)
    if not isinstance(reply, CheckResult):
        return Sentence(getattr(reply, "sentence", ""))
    if reply.remark:
        notes.append(reply.remark)
    is_right = reply.points == reply.max_points
    if failed := failed_runs.note(exercise, vars(sys.modules["__main__"]), is_right):
        notes.insert(0, failed)
    if not reply.stopped:  # else it is not a try: there is no result yet
        record.add_check(exercise, folder.name, code, reply.points, reply.max_points)
    return CheckPanel(reply, notes, record, folder.name, converse)


def converse(request: AnyRequest, names: dict[str, Any] | None = None) -> tuple[Reply, list[str]]:
    """Send a request to the tutor, and make the calls that it asks for until it has a result.

    The answer is looked up in `names`, by default in the notebook's. Returns the result, and notes on what
    the answer did meanwhile. Raises TutorMissingError if there is no tutor.
    """
    from nbjudge.tutor.messages import LARGEST_TEXT, CallReply, CallRequest

    names, notes = vars(sys.modules["__main__"]) if names is None else names, list[str]()
    if connection.is_starting and not connection.has_announced_start and has_reader():
        print(STARTING)
        connection.has_announced_start = True
    reply = connection.send(request)
    while isinstance(reply, CallRequest):
        calls = (reply.text or b"").decode("ascii")
        work = partial(respond, connection.program_for(reply), calls, names)
        answered = answer(work)
        notes += [note for note in answered.notes if note not in notes]
        if len(answered.text or "") > LARGEST_TEXT:
            answered = CallOutcome(lost="timeout")
        text = None if answered.text is None else answered.text.encode(errors="replace")
        reply = connection.send(
            CallReply(folder=request.folder, conversation=reply.conversation, text=text, lost=answered.lost)
        )
    return reply, notes


def has_reader() -> bool:
    """Return whether someone sits at the notebook: programs that run notebooks cannot answer a prompt."""
    return bool(getattr(getattr(get_ipython(), "kernel", None), "_allow_stdin", False))


def code_of(exercise: str) -> str:
    """Return a short digest of the answer's source, by which another try is known."""
    value = vars(sys.modules["__main__"]).get(exercise)
    try:
        source = _source_of_class(value) if inspect.isclass(value) else inspect.getsource(value)  # type: ignore[arg-type]
    except (OSError, TypeError, SyntaxError):
        source = repr(value)
    return hashlib.sha256(source.strip().encode()).hexdigest()[:16]


def _source_of_class(value: type) -> str:
    """The text of a cell's class, which `inspect` looks for in a file; its methods know their cell."""
    method = next((member for member in vars(value).values() if inspect.isfunction(member)), None)
    if method is None:
        raise OSError("no method tells where it was written")
    lines = linecache.getlines(method.__code__.co_filename)
    for node in ast.parse("".join(lines)).body:
        if isinstance(node, ast.ClassDef) and node.name == value.__name__:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return "".join(lines[first - 1 : node.end_lineno])
    raise OSError("its cell has no such class")


IDLE_SECONDS = 0.5  # after the set-up cell, if no other cell runs
TAKEN = (
    "The name `check` is the tutor's again. What you had called so is now `{other}`: give it another name, "
    "or the cells below cannot ask the tutor."
)


def begin_notebook(
    course: Path | None = None,
    record: LearnerRecord | None = None,
    when_idle: Callable[[], object] | None = None,
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
        The learner's record; by default it is lost when the kernel ends.
    when_idle
        Called once between two cells after the set-up cell, to import what later cells need.
    """
    connection.course = course or connection.course
    if record is not None:
        use_record(record)
    shell = get_ipython()
    if shell is None or not is_notebook(shell):
        return
    with suppress(TutorMissingError):
        connection.begin(Path.cwd().name)
    if not getattr(shell, "_nbjudge_keeps_check", False):
        shell._nbjudge_keeps_check = True
        shell.events.register("pre_run_cell", lambda run: failed_runs.begin(run.raw_cell, shell.user_ns))
        shell.events.register(
            "post_run_cell",
            lambda run: failed_runs.end(run.error_before_exec or run.error_in_exec, shell.user_ns),
        )
        shell.events.register("post_run_cell", lambda *_: _keep_the_name(shell.user_ns))
        _load_after_the_set_up_cell(shell, when_idle)


def _keep_the_name(names: dict[str, Any]) -> None:
    """Give `check` back its meaning where a learner's cell has taken the name."""
    if names.get("check", check) is not check:
        other = next(name for number in count(1) if (name := f"my_check_{number}") not in names)
        names[other], names["check"] = names["check"], check
        print(TAKEN.format(other=other))


def _load_after_the_set_up_cell(shell: Any, when_idle: Callable[[], object] | None) -> None:
    """Load between two cells what the first check needs, and what the course wants loaded."""

    def set_up_cell_has_run(*_: object) -> None:
        shell.events.unregister("post_run_cell", set_up_cell_has_run)
        with suppress(RuntimeError):  # without an event loop, the first check loads it
            asyncio.get_running_loop().call_later(IDLE_SECONDS, load)

    def load() -> None:
        if connection.tutor is None or threading.current_thread() is not threading.main_thread():
            return
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted import stays broken
        try:
            load_ahead(connection.first_program())
            if when_idle is not None:
                when_idle()
        finally:
            signal.signal(signal.SIGINT, before)
        if connection.is_starting:  # its program comes when it is ready
            asyncio.get_running_loop().call_later(IDLE_SECONDS, load)

    shell.events.register("post_run_cell", set_up_cell_has_run)
