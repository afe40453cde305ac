"""What the class hands in: right work in several styles, named mistakes, and everything that goes wrong.

Each hand-in knows what the grader should say of it.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import chain, cycle, islice
from typing import Literal

import nbformat
from nbformat import NotebookNode

from attention_lab.maintain.demo.material import Material

NOT_WRITTEN = re.compile(r"^([ \t]*)raise NotImplementedError\(\)", re.MULTILINE)
MOST_MISTAKES = 3  # in one hand-in

Arrange = Callable[[NotebookNode], None]
Form = Literal["notebook", "misnamed", "cut off"]


@dataclass(frozen=True)
class ExpectedOutcome:
    """The verdict that one exercise deserves: all points, none, or fewer with this mistake named first."""

    outcome: Literal["full", "none", "mistake"]
    mistake: str = ""

    def __str__(self) -> str:
        return {"full": "all points", "none": "none"}.get(self.outcome, f"the mistake {self.mistake!r}")


FULL, NONE = ExpectedOutcome("full"), ExpectedOutcome("none")


@dataclass(frozen=True)
class HandIn:
    """One submission in the making: the text of its answer cells, by exercise; the rest stays the stub."""

    kind: str
    answers: dict[str, str]
    expected: dict[str, ExpectedOutcome]
    form: Form = "notebook"
    arrange: Arrange | None = None
    slow: bool = False  # waits until limits run out


class Writer:
    """Writes the hand-ins of one lesson: the same ones for the same seed."""

    def __init__(self, material: dict[str, Material], seed: int) -> None:
        self._material = material
        self._names = list(material)
        self._chance = random.Random(seed)
        # Where the fewest cells call it again, and wait again.
        self._least_used = min(self._names, key=lambda name: material[name].uses)
        mistakes = [(name, mistake) for name in self._names for mistake in material[name].mistakes]
        self._chance.shuffle(mistakes)
        self._mistakes = cycle(mistakes)
        self._everything_right = dict.fromkeys(self._names, FULL)

    def hand_ins(self, count: int) -> list[HandIn]:
        """One of every kind first, then what a class mostly hands in."""
        unusual = (
            self.as_taught,
            self.one_mistake,
            self.blank,
            self.cut_off,
            self.several_mistakes,
            self.partly_done,
            self.another_way,
            self.exception,
            self.syntax_error,
            self.misnamed,
            self.moved_and_deleted,
            self.own_helpers,
            self.endless_loop,
            self.dead_kernel,
        )
        usual = (
            self.one_mistake,
            self.another_way,
            self.several_mistakes,
            self.one_mistake,
            self.partly_done,
        )
        return [write() for write in islice(chain(unusual, cycle(usual)), count)]

    def as_taught(self) -> HandIn:
        answers = {name: material.reference for name, material in self._material.items()}
        return HandIn("as taught", answers, self._everything_right)

    def another_way(self) -> HandIn:
        return HandIn("another way", self._right(), self._everything_right)

    def one_mistake(self) -> HandIn:
        return self._mistaken("one mistake", 1)

    def several_mistakes(self) -> HandIn:
        return self._mistaken("several mistakes", MOST_MISTAKES)

    def partly_done(self) -> HandIn:
        done = self._names[: self._chance.randint(1, max(1, len(self._names) - 1))]
        answers = {name: answer for name, answer in self._right().items() if name in done}
        return HandIn("partly done", answers, {name: FULL if name in done else NONE for name in self._names})

    def blank(self) -> HandIn:
        return HandIn("blank", {}, dict.fromkeys(self._names, NONE))

    def cut_off(self) -> HandIn:
        return HandIn("file cut off", self._right(), dict.fromkeys(self._names, NONE), form="cut off")

    def misnamed(self) -> HandIn:
        return HandIn("file renamed", self._right(), self._everything_right, form="misnamed")

    def moved_and_deleted(self) -> HandIn:
        return HandIn("cells moved, deleted", self._right(), self._everything_right, arrange=turn_round)

    def own_helpers(self) -> HandIn:
        arrange = partial(insert_helpers, helpers=self._right())
        answers = {name: call_helper(self._material[name].stub, name) for name in self._names}
        return HandIn("helpers of their own", answers, self._everything_right, arrange=arrange)

    def exception(self) -> HandIn:
        return self._broken("exception", self._chance.choice(self._names), "rows = rows + 1")

    def syntax_error(self) -> HandIn:
        name = self._chance.choice(self._names)
        answer = re.sub(r":[ \t]*$", "", self._material[name].stub, count=1, flags=re.MULTILINE)
        return self._failing("syntax error", name, answer)

    def endless_loop(self) -> HandIn:
        return self._broken("endless loop", self._least_used, "while True:\n    pass", slow=True)

    def dead_kernel(self) -> HandIn:
        return self._broken("dead kernel", self._least_used, "import os\n\nos._exit(1)")

    def _right(self) -> dict[str, str]:
        """A right answer to everything, none of which leans on another: one mistake stays one mistake."""
        return {
            name: self._chance.choice(material.right or [material.reference])
            for name, material in self._material.items()
        }

    def _mistaken(self, kind: str, limit: int) -> HandIn:
        chosen: dict[str, str] = {}
        for name, mistake in islice(self._mistakes, 10 * limit):
            if name not in chosen and len(chosen) < min(limit, len(self._names)):
                chosen[name] = mistake
            if len(chosen) == min(limit, len(self._names)):
                break
        planted = {name: self._material[name].mistakes[mistake] for name, mistake in chosen.items()}
        named = {name: ExpectedOutcome("mistake", mistake) for name, mistake in chosen.items()}
        return HandIn(kind, self._right() | planted, self._everything_right | named)

    def _broken(self, kind: str, name: str, statements: str, slow: bool = False) -> HandIn:
        return self._failing(kind, name, instead(self._material[name].stub, statements), slow)

    def _failing(self, kind: str, name: str, answer: str, slow: bool = False) -> HandIn:
        answers, expected = self._right() | {name: answer}, self._everything_right | {name: NONE}
        return HandIn(kind, answers, expected, slow=slow)


def instead(stub: str, statements: str) -> str:
    """The stub with these statements where it says that it is not written."""
    return NOT_WRITTEN.sub(
        lambda found: "\n".join(found.group(1) + line for line in statements.splitlines()), stub
    )


def call_helper(stub: str, name: str) -> str:
    """An answer that leaves the work to `NAME_helper`, defined in another cell."""
    for statement in ast.parse(stub).body:
        if isinstance(statement, ast.FunctionDef) and statement.name == name:
            arguments = ", ".join(argument.arg for argument in statement.args.args)
            return instead(stub, f"return {name}_helper({arguments})")
    return f"class {name}({name}_helper):\n    pass"


def insert_helpers(notebook: NotebookNode, helpers: dict[str, str]) -> None:
    """Put each helper, named `NAME_helper`, into a cell of its own before the answer that calls it."""
    cells = []
    for cell in notebook.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        if name in helpers:
            # Its own uses of the name as well: `super(NAME, self)`, recursion.
            text = re.sub(rf"(?<![\w.]){name}(?!\w)", f"{name}_helper", helpers[name])
            cells.append(nbformat.v4.new_code_cell(text, id=f"{name}-helper"))
        cells.append(cell)
    notebook.cells = cells


def turn_round(notebook: NotebookNode) -> None:
    """Last cell first, and no test left to fail."""
    ungraded = [cell for cell in notebook.cells if not cell.metadata.get("nbgrader", {}).get("grade")]
    notebook.cells = ungraded[::-1]
