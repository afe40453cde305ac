"""One graded notebook as the report needs it: verdicts, what did not run, the time it took.

Its texts are made short and plain: a notebook that stock nbgrader graded may hold whatever its student wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from nbjudge.judge.verdict import Finding, Verdict
from nbjudge.plain_text import plain_line
from nbjudge.record.graded_cell import STOPPED, Status
from nbjudge.record.graded_notebook import GradedCell, GradedNotebook, read_graded

LONGEST_TEXT = 300  # characters of what a student's code said
IN_WORDS = {
    Status.TIMED_OUT: "took too long",
    Status.KERNEL_DIED: "killed its kernel",
    Status.NOT_REACHED: "was not reached in time",
    Status.NOT_RUN: "could not be run",
}
NO_NOTEBOOK = "its graded notebook cannot be read"


@dataclass(frozen=True)
class Failure:
    """Something that did not run: the cell, what became of it, and what was said."""

    where: str
    what: str
    why: str


@dataclass(frozen=True)
class ReportedNotebook:
    """One graded notebook. `reason` says why nothing of it could be run, and is empty where it was."""

    name: str
    cells: tuple[str, ...]  # the grade ids of its graded cells, in their order
    verdicts: Mapping[str, Verdict]  # by grade id
    failures: tuple[Failure, ...]
    reason: str
    seconds: float | None  # None if it was not measured
    remark: str = ""  # what was unusual about what was handed in


def read_reported(path: Path) -> ReportedNotebook | str:
    """The notebook, or why it does not count as graded."""
    try:
        notebook = read_graded(path)
    except (OSError, ValueError):
        return NO_NOTEBOOK
    if notebook.record.status is Status.UNFINISHED:
        return "its grading was ended on the way"
    reason = plain(notebook.record.reason)
    graded = [cell for cell in notebook.cells if cell.is_graded]
    not_run = Failure("the whole notebook", IN_WORDS[Status.NOT_RUN], reason)
    return ReportedNotebook(
        name=path.stem,
        cells=tuple(cell.grade_id for cell in graded),
        verdicts={
            cell.grade_id: _plain(cell.exercise.verdict) for cell in graded if cell.exercise is not None
        },
        failures=(not_run,) if reason else (*_failed_cells(notebook), *_unanswered(notebook)),
        reason=reason,
        seconds=notebook.record.seconds,
        remark=plain(notebook.record.note),
    )


def plain(text: str | None) -> str:
    """A student's text on one line, short enough for a table, without characters that no file can hold."""
    return plain_line(text or "", LONGEST_TEXT)


def stops_with(error: str) -> str:
    """What became of a cell that raises."""
    return f"stops with {error}"


def _plain(verdict: Verdict) -> Verdict:
    """The verdict, its texts short and plain enough for a table."""
    return replace(
        verdict,
        exercise=plain(verdict.exercise),
        groups=tuple(replace(group, name=plain(group.name)) for group in verdict.groups),
        findings=tuple(
            Finding(plain(each.sentence), plain(each.mistake) or None, plain(each.evidence))
            for each in verdict.findings
        ),
    )


def _failed_cells(notebook: GradedNotebook) -> Iterator[Failure]:
    """Cells that were stopped, and answers and cells of the student's own that raise.

    A given cell that raises because an answer is missing, and a test that fails, are no failures; nor is
    one that waits too long for an answer, which is listed itself.
    """
    is_judged = any(cell.exercise is not None for cell in notebook.cells)
    for cell in notebook.cells:
        by_student = cell.is_added or cell.is_answer
        waits = is_judged and not by_student and cell.status is Status.TIMED_OUT
        if cell.exercise is not None or waits:
            continue
        if cell.status in STOPPED:
            message = cell.errors[-1].message if cell.errors else ""
            yield Failure(_where(cell), IN_WORDS[cell.status], plain(message))
        elif by_student:
            for error in cell.errors:
                yield Failure(_where(cell), stops_with(plain(error.name)), plain(error.message))


def _unanswered(notebook: GradedNotebook) -> Iterator[Failure]:
    """Answers that were asked and never came: they hang, or kill their kernel."""
    for cell in notebook.cells:
        if cell.exercise is not None and cell.exercise.status in STOPPED:
            verdict = cell.exercise.verdict
            # A named mistake is behind answers that came.
            sentence = next((each.sentence for each in verdict.findings if each.mistake is None), "")
            yield Failure(plain(verdict.exercise), IN_WORDS[cell.exercise.status], plain(sentence))


def _where(cell: GradedCell) -> str:
    if cell.grade_id:
        return plain(cell.grade_id)
    return "a cell of their own" if cell.is_added else plain(cell.cell_id) or "a cell"
