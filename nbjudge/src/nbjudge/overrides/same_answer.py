"""Which answers are one and the same: equal code wherever the answer can reach it, and equal files beside it.

Comments, spaces and line breaks do not matter, unless the code may read them. In doubt two answers are not
the same.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nbjudge.cell_metadata import ANSWER_FORMAT, checked_exercise, is_written_by_student
from nbjudge.overrides.statements import WITHOUT_EFFECT, Statement, statements_of


@dataclass(frozen=True)
class _PlacedStatement:
    """A statement of a notebook, with the number of the judged cell that comes after it."""

    statement: Statement
    by_student: bool
    part: int
    cell: int
    given: int  # cells of the course's before it
    source: str  # of the whole cell


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
        before; of what they wrote further up everything that may do more than bind names, and what this code
        reaches by name; the statements before either in its cell; and the files.
    """
    answers: dict[str, str] = {}
    placed: list[_PlacedStatement] = []
    given = 0
    for number, cell in enumerate(cells):
        exercise = checked_exercise(cell)
        if exercise is not None:
            answers[exercise] = _digest(_reached(placed, exercise, len(answers), files), files)
        elif cell.get("cell_type") == "code":
            by_student = is_written_by_student(cell)
            source = _text(cell.get("source"))
            placed += [
                _PlacedStatement(each, by_student, len(answers), number, given, source)
                for each in statements_of(source) or (Statement(""),)
            ]
            given += not by_student
    return answers


def _reached(
    placed: Sequence[_PlacedStatement], exercise: str, part: int, files: Mapping[str, bytes]
) -> Iterator[str]:
    """The student's statements that an answer can depend on, in their order.

    The course's own are the same for everybody, but lead to further statements of the student's. Where the
    student's code may read or change anything, all they wrote counts, comments included.
    """
    harmless = WITHOUT_EFFECT.union(*(each.statement.imports for each in placed if not each.by_student))
    harmless -= {path.partition("/")[0].partition(".")[0] for path in files}
    needed, variables, effectful = {exercise}, set[str](), set[str]()
    reached, last_of_cell = set[int](), dict[int, int]()
    sizes: tuple[int, ...] | None = None
    while sizes != (sizes := (len(reached), len(needed), len(variables), len(effectful))):
        for index, each in enumerate(placed):
            statement = each.statement
            if not (
                index in reached
                or (
                    each.by_student
                    and (
                        each.part == part
                        or statement.is_opaque
                        or statement.has_effect
                        or not statement.imports <= harmless
                        # It may stop its cell before the rest of it has run.
                        or index < last_of_cell.get(each.cell, -1)
                    )
                )
                or statement.binds & needed
                or statement.loads & effectful
                or (not statement.is_definition and statement.loads & variables)
            ):
                continue
            reached.add(index)
            last_of_cell[each.cell] = max(index, last_of_cell.get(each.cell, -1))
            needed |= statement.loads
            if not statement.is_definition:
                variables |= statement.binds
            elif statement.changes_others or statement.is_opaque or statement.loads & effectful:
                effectful |= statement.binds
    parts = [
        placed[index]
        for index in sorted(reached)
        if placed[index].by_student and placed[index].statement.text
    ]
    if any(each.statement.is_opaque for each in parts):
        return iter({each.cell: f"{each.given} {each.source}" for each in placed if each.by_student}.values())
    return (f"{each.given} {each.statement.text}" for each in parts)


def _digest(statements: Iterator[str], files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    parts = [text.encode("utf-8", "surrogatepass") for text in statements]
    for name, content in sorted((os.fsencode(name), content) for name, content in files.items()):
        parts += [name, content]
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return ANSWER_FORMAT + digest.hexdigest()[:32]


def _text(source: Any) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")
