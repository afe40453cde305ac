"""An instructor's decisions on points, which are for all who gave the same answer.

They are stored in `regrades/ASSIGNMENT.json` and applied at each grading. Answers are one and the same if
the code in the student's own cells and the files beside them are equal: comments, spaces and line breaks do
not matter. All work on a student's code is linear in its length.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec
from nbformat import NotebookNode

from nbjudge.atomic_files import write_atomically
from nbjudge.cell_metadata import checked_exercise, is_written_by_student, record_answer, recorded_answer
from nbjudge.course.course import Assignment
from nbjudge.course.folders import CourseFolders
from nbjudge.errors import CourseError
from nbjudge.judge.verdict import Points, Regrade, Verdict
from nbjudge.parsing import parsed, reached
from nbjudge.quiz import ANSWERS_FILE, read_answers, read_question
from nbjudge.record.graded_cell import read_verdict, write_regrade

LONGEST_PARSED = 20_000  # characters; some longer code takes Python's parser gigabytes
WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class Decision:
    """The points of one answer to one exercise, and the reason."""

    exercise: str
    answer: str  # as `answers_of` knows it
    student: str  # whose answer it was that was looked at
    points: Points
    reason: str
    day: str
    groups: Mapping[str, bool]  # whether each case group agreed when it was decided

    def holds_for(self, answer: str, student: str, verdict: Verdict) -> bool:
        """Return whether an answer gets these points: same code and, of another student, same verdict.

        Work that could not be run (`answer` is empty) has no code to compare: it is no one else's.
        """
        if (self.exercise, self.answer) != (verdict.exercise, answer):
            return False
        outcomes = (
            self.groups.get(group.name, group.is_earned) == group.is_earned for group in verdict.groups
        )
        return student == self.student or (answer != "" and all(outcomes))


def decision_for(
    decisions: Iterable[Decision], answer: str, student: str, verdict: Verdict
) -> Decision | None:
    """Return what was decided for an answer; a decision about this very student comes first."""
    holding = [decision for decision in decisions if decision.holds_for(answer, student, verdict)]
    return next((each for each in holding if each.student == student), next(iter(holding), None))


def read_decisions(folders: CourseFolders, assignment: str) -> list[Decision]:
    """Those of an assignment. Raises CourseError where the file is there and cannot be read."""
    file = folders.decisions(assignment)
    try:
        return msgspec.json.decode(file.read_bytes(), type=list[Decision])
    except FileNotFoundError:
        return []
    except (OSError, msgspec.DecodeError) as error:
        raise CourseError(
            f"The regrades in {file} cannot be read ({error}): fix the file or remove it."
        ) from error


def write_decisions(folders: CourseFolders, assignment: str, decisions: Sequence[Decision]) -> None:
    """Write them in place of those that are there; without any the file goes."""
    file = folders.decisions(assignment)
    try:
        if decisions:
            file.parent.mkdir(exist_ok=True)
            write_atomically(file, msgspec.json.format(msgspec.json.encode(decisions)) + b"\n")
        else:
            file.unlink(missing_ok=True)
    except OSError as error:
        raise CourseError(f"{file} cannot be written ({error.strerror}): nothing was changed.") from error


def apply_regrades(notebook: NotebookNode, assignment: Assignment, student: str) -> dict[str, float]:
    """Give the points that were decided to the answers of a student's graded notebook, which is changed.

    Returns the points by exercise, of the exercises that a decision changed. Raises CourseError if the
    assignment's decisions cannot be read.
    """
    decisions = read_decisions(assignment.course.folders, assignment.folder)
    given = {}
    for cell in notebook.cells:
        answer, verdict = recorded_answer(cell), read_verdict(cell)
        if verdict is None:
            continue
        decision = decision_for(decisions, answer, student, verdict)
        if decision is not None:
            points = min(decision.points, verdict.max_points)  # the exercise may be worth less by now
            regraded = write_regrade(cell, Regrade(points, decision.reason, decision.day))
            given[regraded.exercise] = regraded.points
    return given


def typed_in(cells: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the code that a student has written in a merged notebook, cell by cell."""
    own = (cell for cell in cells if cell.get("cell_type") == "code" and is_written_by_student(cell))
    return [str(cell.get("source") or "") for cell in own]


@dataclass(frozen=True)
class _Cell:
    """A code cell before a judged one."""

    code: str  # without comments and spaces, or unchanged if it is not all Python
    words: frozenset[str]  # all names in it, those in comments and texts too
    defines: tuple[str, ...]  # functions and classes
    only_defines: bool  # nothing happens until one of them is used
    by_student: bool


def record_answers(notebook: NotebookNode, files: Mapping[str, bytes]) -> None:
    """Record in each judged cell of a graded notebook which answers are the same; see `answers_of`."""
    answers = answers_of(notebook.cells, files)
    for cell in notebook.cells:
        exercise = checked_exercise(cell)
        if exercise is not None:
            record_answer(cell, answers[exercise])


def answers_of(cells: Sequence[Mapping[str, Any]], files: Mapping[str, bytes]) -> dict[str, str]:
    """Tell by exercise which answers of a merged notebook are the same as another student's.

    Equal answers share a digest. It covers the student's code cells since the judged cell before, the
    student's earlier ones, and the files. Not covered is an earlier cell that only defines functions and
    classes, if none of their names is written in code that counts. A question's is its answer alone.
    """
    answers: dict[str, str] = {}
    read_by_code = {path: content for path, content in files.items() if path != ANSWERS_FILE}
    given = read_answers(files.get(ANSWERS_FILE), typed_in(cells))
    read: list[_Cell] = []
    part = 0
    for cell in cells:
        exercise = checked_exercise(cell)
        if exercise is not None and read_question(str(cell.get("source") or "")) is not None:
            answers[exercise] = _digest([f"answered {given.get(exercise)}"], {})
        elif exercise is not None:
            counted = _counted(read, part, exercise)
            # The place among the course's cells is part of the answer, for which each of them leaves a mark.
            codes = [
                each.code if each.by_student else ""
                for index, each in enumerate(read)
                if index in counted or not each.by_student
            ]
            answers[exercise] = _digest(codes, read_by_code)
            part = len(read)
        elif cell.get("cell_type") == "code":
            read.append(_read(str(cell.get("source") or ""), is_written_by_student(cell)))
    return answers


def _counted(read: Sequence[_Cell], part: int, exercise: str) -> set[int]:
    """The indices of the cells that an answer can depend on; those from `part` on are its own.

    The course's cells are the same for everybody, but their functions lead to further cells of the student's.
    Each cell and each word is looked at once.
    """
    defining: dict[str, list[int]] = defaultdict(list)
    for index, cell in enumerate(read):
        for name in cell.defines:
            defining[name].append(index)
    start = [i for i, cell in enumerate(read) if cell.by_student and (i >= part or not cell.only_defines)]

    def leads_to(index: int) -> list[int]:
        return [other for word in read[index].words for other in defining.pop(word, ())]

    return set(reached([*start, *defining.pop(exercise, ())], leads_to))


@lru_cache(maxsize=128)  # most are the assignment's own, the same in every notebook
def _read(source: str, by_student: bool) -> _Cell:
    words = frozenset(WORD.findall(source))
    try:
        if len(source) > LONGEST_PARSED:
            raise ValueError("too long")
        tree = parsed(source)
        code = ast.dump(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _Cell(source.strip(), words, (), False, by_student)
    defines = tuple(each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.ClassDef))
    return _Cell(code, words, defines, all(map(_only_defines, tree.body)), by_student)


def _only_defines(statement: ast.stmt) -> bool:
    """Return whether a statement calls nothing and binds only a function or a class; in doubt it does not."""
    match statement:
        case ast.FunctionDef(decorator_list=[]):
            return not _calls([statement.args, statement.returns])
        case ast.ClassDef(decorator_list=[], keywords=[]):
            return not _calls(statement.bases) and all(map(_only_defines, statement.body))
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _calls(parts: Iterable[ast.AST | None]) -> bool:
    return any(isinstance(each, ast.Call) for part in parts if part is not None for each in ast.walk(part))


def _digest(codes: Iterable[str], files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    parts = [code.encode("utf-8", "surrogatepass") for code in codes]
    for name, content in sorted((os.fsencode(name), content) for name, content in files.items()):
        parts += [name, content]
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:32]
