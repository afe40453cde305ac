"""Which answers are one and the same: equal code wherever the answer can reach it, and equal files beside it.

Comments, spaces and line breaks do not matter. In doubt two answers are not the same.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbjudge.cell_metadata import checked_exercise, is_written_by_student
from nbjudge.regrade.statements import Statement, statements_of


@dataclass(frozen=True)
class _Placed:
    """A statement of a notebook, with the number of the judged cell that comes after it."""

    statement: Statement
    by_student: bool
    part: int


def answers_of(cells: Sequence[Mapping[str, Any]], files: Mapping[str, bytes]) -> dict[str, str]:
    """Tell which answers of a merged notebook are the same as another student's.

    Parameters
    ----------
    cells
        The cells of the merged notebook.
    files
        The student's own files beside it, by path.

    Returns
    -------
    dict
        By exercise, a digest that equal answers share. It covers what the student wrote since the judged cell
        before, everything of theirs further up that this code reaches by name, code of theirs that cannot be
        seen through, and the files.
    """
    answers: dict[str, str] = {}
    placed: list[_Placed] = []
    for cell in cells:
        exercise = checked_exercise(cell)
        if exercise is not None:
            answers[exercise] = _digest(_reached(placed, exercise, len(answers)), files)
        elif cell.get("cell_type") == "code":
            by_student = is_written_by_student(cell)
            found = statements_of(_text(cell.get("source")))
            placed += [_Placed(each, by_student, len(answers)) for each in found]
    return answers


def _reached(placed: list[_Placed], exercise: str, part: int) -> Iterator[str]:
    """The student's statements that an answer can depend on, in their order.

    The course's own are the same for everybody, but lead to further statements of the student's.
    """
    needed, variables, effectful = {exercise}, set[str](), set[str]()
    reached: set[int] = set()
    grows = True
    while grows:
        grows = False
        for index, each in enumerate(placed):
            statement = each.statement
            if index in reached or not (
                (each.by_student and (each.part == part or statement.is_opaque))
                or statement.binds & needed
                or statement.loads & effectful
                or (not statement.is_definition and statement.loads & variables)
            ):
                continue
            reached.add(index)
            grows = True
            needed |= statement.loads
            if not statement.is_definition:
                variables |= statement.binds
            elif statement.changes_others or statement.is_opaque or statement.loads & effectful:
                effectful |= statement.binds
    return (placed[index].statement.text for index in sorted(reached) if placed[index].by_student)


def _digest(statements: Iterator[str], files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    parts = [text.encode("utf-8", "surrogatepass") for text in statements]
    for name, content in sorted((os.fsencode(name), content) for name, content in files.items()):
        parts += [name, content]
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:32]


def _text(source: Any) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")
