"""`check`: the cell under each answer.

The tutor examines the answer: it asks many questions with fresh numbers, as a grading run does, and says
which groups of cases agree and what differs. Nothing of it is graded, and nothing leaves this machine.
"""

from __future__ import annotations

import ast
import asyncio
import hashlib
import importlib
import inspect
import linecache
import signal
import sys
import threading
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython import get_ipython

from attention_lab.tutor import panel
from attention_lab.tutor.answering import CallOutcome, answer, load_ahead, respond
from attention_lab.tutor.connection import Connection
from attention_lab.tutor.failed_runs import FailedRuns
from attention_lab.tutor.learner_record import LearnerRecord
from attention_lab.tutor.location import TutorMissingError
from attention_lab.tutor.result import CheckPanel, OnePage, Sentence, WrittenAnswer, one_page

if TYPE_CHECKING:
    from nbjudge.tutor.messages import AnyRequest, Reply

IDLE_SECONDS = 0.5  # after the set-up cell, if no other cell runs
_connection, _failed_runs = Connection(), FailedRuns()
DIED = (
    "The last check, of `{exercise}`, ended together with the kernel: you restarted it, or the answer took "
    "too much memory, or something in it ends Python."
)
STARTING = "The tutor is still starting, so this check takes some seconds longer."
TAKEN = (
    "The name `check` is the tutor's again. What you had called so is now `{other}`: give it another name, "
    "or the cells below cannot ask the tutor."
)


def check(exercise: str = "") -> CheckPanel | Sentence | WrittenAnswer | OnePage:
    """Look at the answer called `exercise`, and show what is right about it and what is not.

    Without a name, and once all answers of the lesson are right, it shows the lesson's code on one page.

    The panel's buttons help further, step by step. In a terminal they are its methods: `.mistake()`,
    `.help()` and `.solution()`. The result's `points` are those that the same questions are worth in a
    grading run.
    """
    lesson = Path.cwd()
    record = LearnerRecord.for_lesson(lesson)
    _connection.last_words = record.last_words
    try:
        _connection.begin(lesson.name)
    except TutorMissingError as error:
        return Sentence(str(error))
    if not exercise:
        return one_page(lesson.name, record, converse)
    from nbjudge.tutor.messages import CheckRequest, CheckResult, WrittenExercise

    code = code_of(exercise)
    try:
        reply, notes = converse(
            CheckRequest(folder=lesson.name, exercise=exercise, code=code, program=_connection.digest)
        )
    except TutorMissingError as error:
        return Sentence(str(error))
    died = record.take_last_words()
    if died:
        notes.append(DIED.format(exercise=died))
    if isinstance(reply, WrittenExercise):
        return WrittenAnswer(exercise, lesson, converse)
    if not isinstance(reply, CheckResult):
        return Sentence(getattr(reply, "sentence", ""))
    if reply.remark:
        notes.append(reply.remark)
    is_right = reply.points == reply.max_points
    if failed := _failed_runs.note(exercise, vars(sys.modules["__main__"]), is_right):
        notes.insert(0, failed)
    if reply.stopped:  # it is not a try: there is no result yet
        exercise_history = record.exercise(exercise)
    else:
        exercise_history = record.add_check(exercise, lesson.name, code, reply.points, reply.max_points)
    return CheckPanel(reply, notes, exercise_history, record, lesson.name, converse)


def converse(request: AnyRequest) -> tuple[Reply, list[str]]:
    """Send a request to the tutor, and make the calls that it asks for until it has a result.

    Parameters
    ----------
    request
        The request for a check or for help.

    Returns
    -------
    tuple of Reply and list of str
        The result, and notes on what the answer did meanwhile.

    Raises
    ------
    TutorMissingError
        If there is no tutor.
    """
    from nbjudge.tutor.messages import LARGEST_TEXT, CallReply, CallRequest

    notes = list[str]()
    if _connection.is_starting and not _connection.has_announced_start and _has_reader():
        print(STARTING)
        _connection.has_announced_start = True
    reply = _connection.send(request)
    while isinstance(reply, CallRequest):
        calls = (reply.text or b"").decode("ascii")
        work = partial(respond, _connection.program_for(reply), calls, vars(sys.modules["__main__"]))
        answered = answer(work)
        notes += [note for note in answered.notes if note not in notes]
        if len(answered.text or "") > LARGEST_TEXT:
            answered = CallOutcome(lost="timeout")
        text = None if answered.text is None else answered.text.encode(errors="replace")
        reply = _connection.send(
            CallReply(folder=request.folder, conversation=reply.conversation, text=text, lost=answered.lost)
        )
    return reply, notes


def _has_reader() -> bool:
    """Whether someone sits at the notebook: programs that run notebooks cannot answer a prompt."""
    return bool(getattr(getattr(get_ipython(), "kernel", None), "_allow_stdin", False))


def code_of(exercise: str) -> str:
    """A short digest of the answer's source, by which another try is known."""
    value = vars(sys.modules["__main__"]).get(exercise)
    try:
        source = _source_of_class(value) if inspect.isclass(value) else inspect.getsource(value)  # type: ignore[arg-type]
    except (OSError, TypeError, SyntaxError):
        source = repr(value)
    return hashlib.sha256(source.strip().encode()).hexdigest()[:16]


def _source_of_class(value: type) -> str:
    """The text of a cell's class, which `inspect` looks for in a file; its methods know their cell."""
    method = next((each for each in vars(value).values() if inspect.isfunction(each)), None)
    if method is None:
        raise OSError("no method tells where it was written")
    lines = linecache.getlines(method.__code__.co_filename)
    for node in ast.parse("".join(lines)).body:
        if isinstance(node, ast.ClassDef) and node.name == value.__name__:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            return "".join(lines[first - 1 : node.end_lineno])
    raise OSError("its cell has no such class")


def notebook_begins() -> None:
    """In a notebook: the tutor starts while the learner reads, and `check` keeps its name.

    Without a tutor, the first `check` will say so.
    """
    shell = get_ipython()
    if shell is None or not panel.is_notebook(shell):
        return
    _connection.last_words = LearnerRecord.for_lesson(Path.cwd()).last_words
    with suppress(TutorMissingError):
        _connection.begin(Path.cwd().name)
    if not getattr(shell, "_attention_lab_keeps_check", False):
        shell._attention_lab_keeps_check = True
        shell.events.register("pre_run_cell", lambda run: _failed_runs.begin(run.raw_cell, shell.user_ns))
        shell.events.register("post_run_cell", lambda run: _failed_runs.end(_error_of(run), shell.user_ns))
        shell.events.register("post_run_cell", lambda *_: _keep_the_name(shell.user_ns))
        shell.events.register("post_run_cell", _set_up_cell_has_run)


def _error_of(run: Any) -> BaseException | None:
    """The error that a cell's run ended with, before or while it was executed."""
    error: BaseException | None = run.error_before_exec or run.error_in_exec
    return error


def _set_up_cell_has_run(*_: object) -> None:
    get_ipython().events.unregister("post_run_cell", _set_up_cell_has_run)
    with suppress(RuntimeError):  # without an event loop, the first check loads it
        asyncio.get_running_loop().call_later(IDLE_SECONDS, _load_when_idle)


def _load_when_idle() -> None:
    """Load between two cells what the first check and the first picture need."""
    if not _connection.has_begun or threading.current_thread() is not threading.main_thread():
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted import stays broken
    try:
        load_ahead(_connection.first_program())
        if "attention_lab.plots" in sys.modules:
            importlib.import_module("seaborn")
    finally:
        signal.signal(signal.SIGINT, before)
    if _connection.is_starting:  # its program comes when it is ready
        asyncio.get_running_loop().call_later(IDLE_SECONDS, _load_when_idle)


def _keep_the_name(names: dict[str, Any]) -> None:
    """Give `check` back its meaning where a learner's cell has taken the name."""
    if names.get("check", check) is not check:
        other = next(name for number in count(1) if (name := f"my_check_{number}") not in names)
        names[other], names["check"] = names["check"], check
        print(TAKEN.format(other=other))
