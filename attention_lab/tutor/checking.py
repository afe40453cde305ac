"""`check`: the cell under each answer.

The tutor examines the answer: it asks many questions with fresh numbers, as a grading run does, and says
which groups of cases agree and what differs. Nothing of it is graded, and nothing leaves this machine.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import linecache
import sys
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from IPython import get_ipython

from attention_lab.tutor import panel
from attention_lab.tutor.answering import Answered, answer
from attention_lab.tutor.connection import Connection
from attention_lab.tutor.history import Memory
from attention_lab.tutor.local import TutorMissing
from attention_lab.tutor.one_page import OnePage, one_page
from attention_lab.tutor.result import Look, Sentence, Written
from attention_lab.tutor.wire import LARGEST_ANSWER, Question, respond

_connection = Connection()
DIED = (
    "The last check, of `{exercise}`, ended together with the kernel: you restarted it, or the answer took "
    "too much memory, or something in it ends Python."
)
TAKEN = (
    "The name `check` is the tutor's again. What you had called so is now `{other}`: give it another name, "
    "or the cells below cannot ask the tutor."
)


def check(exercise: str = "") -> Look | Sentence | Written | OnePage:
    """Look at the answer called `exercise`, and show what is right about it and what is not.

    Without a name, and once all answers of the lesson are right, it shows the lesson's code on one page.

    The panel's buttons help further, step by step. In a terminal they are its methods: `.mistake()`,
    `.help()` and `.solution()`. The result's `points` are those that the same questions are worth in a
    grading run.
    """
    lesson = Path.cwd()
    memory = Memory.around(lesson)
    if not exercise:
        return one_page(lesson.name, memory, converse)
    _connection.last_words = memory.last_words
    try:
        code = code_of(exercise)
        reply, notes = converse("check", lesson.name, exercise=exercise, code=code)
    except TutorMissing as error:
        return Sentence(str(error))
    died = memory.ended_the_kernel()
    if died:
        notes.append(DIED.format(exercise=died))
    if reply.get("written"):
        return Written(exercise, lesson, converse)
    if "findings" not in reply:
        return Sentence(reply.get("error") or reply["said"])
    if reply.get("remark"):
        notes.append(reply["remark"])
    if reply["stopped"]:  # it is not a try: there is no result yet
        remembered = memory.of(exercise)
    else:
        remembered = memory.examined(exercise, lesson.name, code, reply["points"], reply["max_points"])
    return Look(reply, notes, remembered, memory, lesson.name, converse)


def converse(action: str, folder: str, **request: Any) -> tuple[dict[str, Any], list[str]]:
    """Ask the tutor something, and answer its questions until it has a reply; and what was noticed meanwhile.

    Raises TutorMissing where there is none.
    """
    notes = list[str]()
    reply = _connection.ask(action, folder, **request)
    while question := Question.of(reply):
        program = _connection.program(question.program, folder)
        answered = answer(partial(respond, program, question.request, vars(sys.modules["__main__"])))
        notes += [note for note in answered.notes if note not in notes]
        if len(answered.text or "") > LARGEST_ANSWER:
            answered = Answered(lost="late")
        message = {"conversation": question.conversation, "said": answered.text, "lost": answered.lost}
        reply = _connection.ask("answer", folder, **message)
    return reply, notes


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
    _connection.last_words = Memory.around(Path.cwd()).last_words
    with suppress(TutorMissing):
        _connection.begin(Path.cwd().name)
    if not getattr(shell, "_attention_lab_keeps_check", False):
        shell._attention_lab_keeps_check = True
        shell.events.register("post_run_cell", lambda *_: _keep_the_name(shell.user_ns))


def _keep_the_name(names: dict[str, Any]) -> None:
    """Give `check` back its meaning where a learner's cell has taken the name."""
    if names.get("check", check) is not check:
        other = next(name for number in count(1) if (name := f"my_check_{number}") not in names)
        names[other], names["check"] = names["check"], check
        print(TAKEN.format(other=other))
