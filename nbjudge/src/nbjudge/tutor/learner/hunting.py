"""`hunt`: a wrong answer that a learner finds with a call of their own, and then fixes.

The tutor makes the calls, of the wrong answer and of the right one. A fix runs in this kernel, beside the
learner's own answer, and is checked as that is.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from IPython import get_ipython
from IPython.display import display

from nbjudge.tutor.learner import TutorMissingError, checking
from nbjudge.tutor.learner.answering import names_of
from nbjudge.tutor.learner.result import CheckPanel, Help, OnePage, Sentence, frame

if TYPE_CHECKING:
    from nbjudge.tutor.hunt_calls import HuntCall
    from nbjudge.tutor.messages import HuntShown, HuntStep, Part

STATES = {"fixed": "✓ fixed", "found": "found", "seen": "given up"}
TASK = (
    "Wrong answer {number} to `{exercise}`{state}. It raises nothing and is wrong somewhere. Store it, "
    "`bug = hunt({exercise!r}, {number})`, and find a call that shows it: `bug({arguments})` makes that call "
    "of this code and of the right one. `bug.hint()` helps; `bug.fix()` gives you a cell to fix it in."
)
NOW_FIX = "Now fix it: `bug.fix()`."
NO_CODE = "Line {line} of the fix is no Python ({reason}): correct it and run the cell again."
STOPS = "The fix stops with {error}: correct it and run the cell again."
NOT_DEFINED = "The fix has to define `{exercise}`, as the code that you were given does."
WHICH = "Begin the cell with `%%fix EXERCISE` or `%%fix EXERCISE NUMBER`, as `bug.fix()` writes it."
FIX_BELOW = "The cell below has the code: change as little as you can, and run it."
NO_HUNTS = "There are no hunts here."

_shown = dict[str, int]()  # by exercise: the number of the hunt that was shown last


def hunt(exercise: str, number: int = 0, early: bool = False) -> Hunt | Sentence:
    """Show a wrong answer to an exercise, whose mistake is for you to find and to fix.

    Parameters
    ----------
    exercise
        The name of the exercise.
    number
        Which of its wrong answers; without a number, the first that you have not fixed.
    early
        Whether to show it although your own answer is not right yet: it is close to a right one.

    Returns
    -------
    Hunt or Sentence
        Called like the answer, ``bug(sample)``, it shows whether the call tells it from the right answer.
    """
    shell = get_ipython()
    if shell is not None:
        shell.register_magic_function(fix, "cell", "fix")
    reply = _ask("show", exercise, number, early=early, program=checking.connection.digest)
    if not hasattr(reply, "code"):
        return _sentence(reply)
    _shown[reply.exercise] = reply.number
    return Hunt(reply, early)


def hunts() -> HuntTable | Sentence:
    """Show which hunts there are, by lesson, and which you have found and fixed."""
    reply = _ask("list", "")
    if not hasattr(reply, "hunts"):
        return _sentence(reply)
    rows = []
    for folder, exercises in reply.hunts.items():
        for name, ids in exercises.items():
            states = checking.record.exercise(name).hunts
            counts = Counter(states[each] for each in ids if each in states)
            rows.append((folder, name, len(ids), ", ".join(f"{counts[s]} {STATES[s]}" for s in counts)))
    return HuntTable(rows) if rows else Sentence(NO_HUNTS)


class Hunt:
    """A wrong answer. Call it like the answer that it stands for."""

    def __init__(self, shown: HuntShown, early: bool) -> None:
        from nbjudge.tutor.hunt_calls import given

        self._shown, self._early, self._hints = shown, early, 0
        self.code = shown.code
        self.given = SimpleNamespace(**{name: given(name) for name in shown.given})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Make this call of the wrong answer and of the right one; of a class, then call what it returns."""
        from nbjudge.tutor.hunt_calls import call_of

        return call_of(self._shown.is_class, self._send, list(args), kwargs)

    def hint(self) -> Help | Sentence:
        """Return the next hint."""
        self._hints += 1
        return self._help("hint", self._hints - 1)

    def give_up(self) -> Help | Sentence:
        """Return the smallest call that shows the mistake, and the mistake itself."""
        self._note("seen")
        return self._help("give_up", 0)

    def fix(self) -> Sentence:
        """Put the code into a new cell, for you to fix."""
        text = f"%%fix {self._shown.exercise} {self._shown.number}\n{self.code}"
        shell = get_ipython()
        if shell is None or not hasattr(shell, "set_next_input"):
            return Sentence(text)
        shell.set_next_input(text)
        return Sentence(FIX_BELOW)

    def _send(self, call: HuntCall) -> Tried | Sentence:
        pack = names_of(checking.connection.program_for(self._shown))["pack"]
        text = pack(vars(call)).encode()
        reply = self._ask("call", text=text)
        if not hasattr(reply, "is_found"):
            return _sentence(reply)
        parts = list(reply.parts)
        if reply.is_found:
            self._note("found")
            parts += _text(NOW_FIX)
        return Tried(parts, "Found" if reply.is_found else "Your call", reply.is_allowed, reply.is_found)

    def _help(self, step: HuntStep, given: int) -> Help | Sentence:
        reply = self._ask(step, given=given)
        parts = getattr(reply, "parts", None)
        return _sentence(reply) if parts is None else Help(parts, self._title)

    def _ask(self, step: HuntStep, **fields: Any) -> Any:
        return _ask(step, self._shown.exercise, self._shown.number, self._early, **fields)

    def _note(self, state: str) -> None:
        checking.record.add_hunt(self._shown.exercise, Path.cwd().name, self._shown.id, state)

    @property
    def _title(self) -> str:
        return f"Hunt {self._shown.number} in {self._shown.exercise}"

    @property
    def _parts(self) -> list[Part]:
        shown = self._shown
        state = STATES.get(checking.record.exercise(shown.exercise).hunts.get(shown.id, ""), "")
        task = TASK.format(
            number=shown.number,
            exercise=shown.exercise,
            state=f" ({state})" if state else "",
            arguments="…)(…" if shown.is_class else "…",
        )
        return [*_text(task), *shown.parts]

    def __repr__(self) -> str:
        return "\n\n".join([self.code, repr(Help(self._parts, self._title))])

    def _repr_html_(self) -> str:
        return Help(self._parts, self._title)._repr_html_()

    def _ipython_display_(self) -> None:
        """Display the code in the notebook's own colours, and the task below."""
        display(OnePage(self.code))
        display(Help(self._parts, self._title))


class Tried(Help):
    """What came of a call: whether the statement allows it, and whether it shows the mistake."""

    def __init__(self, parts: Sequence[Part], label: str, is_allowed: bool, is_found: bool) -> None:
        super().__init__(parts, label)
        self.is_allowed, self.is_found = is_allowed, is_found


class Fixed(Help):
    """The check of a fix, and, once it is right, the mistake and the size of the fix."""

    def __init__(self, panel: CheckPanel, parts: Sequence[Part], label: str) -> None:
        super().__init__(parts, label)
        self._panel = panel

    @property
    def is_right(self) -> bool:
        """Return whether the fix would get all points."""
        return self._panel.is_right

    def __repr__(self) -> str:
        return "\n\n".join(filter(None, [repr(self._panel).rpartition("\n")[0], super().__repr__()]))

    def _repr_html_(self) -> str:
        return self._panel._repr_html_() + (super()._repr_html_() if self.parts else "")


class HuntTable:
    """All hunts, a row for each exercise."""

    def __init__(self, rows: Sequence[tuple[str, str, int, str]]) -> None:
        self.rows = rows

    def __repr__(self) -> str:
        return "\n".join(
            f"{lesson}  {name}: {count} {states}".rstrip() for lesson, name, count, states in self.rows
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(lesson)}</td><td><code>hunt({escape(repr(name))})</code></td>"
            f"<td>{count}</td><td>{escape(states)}</td></tr>"
            for lesson, name, count, states in self.rows
        )
        titles = "".join(f"<th>{word}</th>" for word in ("lesson", "hunt", "wrong answers", "yours"))
        return frame(f"<table><tr>{titles}</tr>{rows}</table>", "Bug hunts")


def fix(line: str, cell: str) -> Fixed | Sentence:
    """Check the code of a cell that begins with ``%%fix EXERCISE NUMBER``, apart from the notebook."""
    exercise, _, place = line.strip().partition(" ")
    number = int(place) if place.strip().isdigit() else _shown.get(exercise, 0)
    if not exercise.isidentifier() or number == 0:
        return Sentence(WHICH)
    names = dict(vars(sys.modules["__main__"]))
    names.pop(exercise, None)
    try:
        exec(compile(cell, "<fix>", "exec", dont_inherit=True), names)
    except SyntaxError as error:
        return Sentence(NO_CODE.format(line=(error.lineno or 1) + 1, reason=error.msg))
    except Exception as error:
        return Sentence(STOPS.format(error=f"{type(error).__name__}: {error}"))
    if exercise not in names:
        return Sentence(NOT_DEFINED.format(exercise=exercise))
    text, program = cell.encode(errors="replace"), checking.connection.digest
    reply = _ask("fix", exercise, number, True, names, text=text, program=program)
    if not hasattr(reply, "result"):
        return _sentence(reply)
    panel = CheckPanel(reply.result, [], checking.record, Path.cwd().name, checking.converse)
    if panel.is_right:
        checking.record.add_hunt(exercise, Path.cwd().name, reply.id, "fixed")
    return Fixed(panel, reply.parts, f"Fix of hunt {number} in {exercise}")


def _ask(
    step: HuntStep,
    exercise: str,
    number: int = 0,
    early: bool = False,
    names: dict[str, Any] | None = None,
    **fields: Any,
) -> Any:
    """Return the tutor's reply to a step of a hunt, or why there is no tutor."""
    history, folder = checking.record.exercise(exercise), Path.cwd().name
    try:
        checking.connection.begin(folder)
        from nbjudge.tutor.messages import HuntRequest

        request = HuntRequest(
            folder=folder,
            step=step,
            exercise=exercise,
            number=number,
            fixed=[each for each, state in history.hunts.items() if state == "fixed"],
            is_earned=early or exercise in _shown or history.is_right or bool(history.right_code),
            **fields,
        )
        reply, _ = checking.converse(request, names)
    except TutorMissingError as error:
        return error
    return reply


def _sentence(reply: Any) -> Sentence:
    return Sentence(str(reply) if isinstance(reply, TutorMissingError) else getattr(reply, "sentence", ""))


def _text(sentence: str) -> list[Part]:
    from nbjudge.tutor.messages import Part

    return [Part("text", sentence)]
