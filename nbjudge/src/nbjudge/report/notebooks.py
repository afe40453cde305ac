"""What the grader left in one graded notebook: verdicts, failures, the time it took.

Read with care: a notebook that stock nbgrader graded may hold whatever its student wrote there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nbjudge.ask.answers import Answer
from nbjudge.authoring.exercise import Exercise
from nbjudge.judge.verdict import Finding, Verdict
from nbjudge.judge.wording import no_value
from nbjudge.plain_text import plain_line
from nbjudge.record.interrupted import HALF_GRADED
from nbjudge.record.record import read_verdict

LONGEST_TEXT = 300  # characters of what a student's code said
# An error of these names in a graded cell is no failed test: the cell did not come to its end.
STOPPED = {
    "died": "killed its kernel",
    "skipped": "was not reached in time",
    "TimeoutError": "took too long",
    "DeadKernelError": "killed its kernel",
    "CellTimeoutError": "took too long",
}
NOT_RUN = "could not be run"
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
    seconds: float | None  # None where nobody took the time


def read_reported(path: Path) -> ReportedNotebook | str:
    """The notebook, or why it does not count as graded."""
    try:
        notebook = json.loads(path.read_bytes())
        about = _mapping(notebook["metadata"].get("nbjudge"))
        cells = [cell for cell in notebook["cells"] if isinstance(cell, dict)]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return NO_NOTEBOOK
    if about.get(HALF_GRADED):
        return "its grading was ended on the way"
    reason = plain(about.get("reason"))
    graded = [(_grade_id(cell), cell) for cell in cells if _marks(cell).get("grade")]
    verdicts = {grade_id: verdict for grade_id, cell in graded if (verdict := _verdict(cell)) is not None}
    failures = () if reason else (*_failures(cells), *_unanswered(verdicts.values()))
    seconds = about.get("seconds")
    if not isinstance(seconds, (int, float)) or not 0 <= seconds < math.inf:
        seconds = None
    return ReportedNotebook(
        name=path.stem,
        cells=tuple(grade_id for grade_id, _ in graded),
        verdicts=verdicts,
        failures=(Failure("the whole notebook", NOT_RUN, reason),) if reason else failures,
        reason=reason,
        seconds=seconds,
    )


def plain(value: Any) -> str:
    """Text of somebody else's in one line, short enough for a table, and such as can be written to a file."""
    return plain_line(str(value or ""), LONGEST_TEXT)


def stops_with(error: str) -> str:
    """What became of a cell that raises."""
    return f"stops with {error}"


def _verdict(cell: dict[str, Any]) -> Verdict | None:
    """The verdict in the cell, its texts short and plain enough for a table."""
    read = read_verdict(cell)
    if read is None:
        return None
    return Verdict(
        exercise=plain(read.exercise),
        seed=0,
        groups=tuple(replace(group, name=plain(group.name)) for group in read.groups),
        findings=tuple(
            Finding(plain(each.sentence), plain(each.mistake) or None, plain(each.evidence))
            for each in read.findings
        ),
    )


def _failures(cells: list[dict[str, Any]]) -> Iterator[Failure]:
    """Cells that were stopped, and answers and cells of the student's own that raise.

    A given cell that raises because an answer is missing, and a test that fails, are no failures.
    """
    for cell in cells:
        marks = _marks(cell)
        own = str(cell.get("id", "")).startswith("own-") or bool(marks.get("solution"))
        for output in _outputs(cell):
            name = plain(output.get("ename"))
            if output.get("output_type") != "error" or not (own or name in STOPPED):
                continue
            said = plain(output.get("evalue"))
            what = STOPPED.get(name) or stops_with(name)
            yield Failure(_grade_id(cell) or _place(cell), what, said)


def _unanswered(verdicts: Iterable[Verdict]) -> Iterator[Failure]:
    """Answers that were asked and never came: they hang, or kill their kernel."""
    for verdict in verdicts:
        exercise = Exercise(verdict.exercise, results=())
        said = {finding.sentence for finding in verdict.findings}
        # As the judge puts it, whatever its words are.
        late, died = no_value(exercise, Answer("late")), no_value(exercise, Answer("died"))
        for sentence, what in ((late, "took too long"), (died, "killed its kernel")):
            if sentence in said:
                yield Failure(verdict.exercise, what, sentence)


def _place(cell: dict[str, Any]) -> str:
    cell_id = plain(cell.get("id"))
    return "a cell of their own" if cell_id.startswith("own-") else cell_id or "a cell"


def _outputs(cell: dict[str, Any]) -> list[dict[str, Any]]:
    outputs = cell.get("outputs")
    return [each for each in outputs if isinstance(each, dict)] if isinstance(outputs, list) else []


def _marks(cell: dict[str, Any]) -> Mapping[str, Any]:
    return _mapping(_mapping(cell.get("metadata")).get("nbgrader"))


def _grade_id(cell: dict[str, Any]) -> str:
    return plain(_marks(cell).get("grade_id"))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
