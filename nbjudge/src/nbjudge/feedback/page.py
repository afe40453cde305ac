"""The contents of a feedback page: the exercises with their points, then the notebook part by part."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest
from typing import Any

from nbformat import NotebookNode

from nbjudge.cell_metadata import Origin, origin_of
from nbjudge.course.regions import Regions
from nbjudge.feedback.prose import MOST_PROSE
from nbjudge.judge.verdict import Verdict
from nbjudge.plain_text import plain_line, plain_lines, without_terminal_codes
from nbjudge.record.graded_cell import STOPPED, is_verdict, read_cell_status, read_verdict
from nbjudge.record.graded_notebook import read_record

HEADING = re.compile(r"^#{1,3} +(.+?)[ #]*$", re.MULTILINE)
WAITING = "Not marked yet: a person reads this one."
GENERATED_ID = re.compile(r"cell-[0-9a-f]{16}")  # nbgrader's, of a cell that its author gave no name
FAILED_LINE = re.compile(r"^-+> *(\d+)", re.MULTILINE)  # of a traceback: the first is that of the cell itself
NOT_SHOWN = "A test that is not shown here failed"
ON_STDERR = "The test printed to stderr (an error or a warning), which counts as a failed test."
LONGEST_NAME, LONGEST_REASON = 60, 200  # characters
LONGEST_TEXT = 50_000  # characters of one output; a page is for reading
BASE64 = re.compile(r"[A-Za-z0-9+/]+=*")
PICTURES = ("image/png", "image/jpeg")


@dataclass(frozen=True)
class RenderedOutput:
    """One output: the address of a picture, or text; `stopped` where it is an error."""

    text: str = ""
    picture: str = ""
    stopped: bool = False


@dataclass
class Exercise:
    """One row of the table: what was asked for, its points, and the sentence to read first."""

    number: int
    name: str
    score: float
    points: float
    sentence: str = ""
    waiting: bool = False
    verdict: Verdict | None = None
    failure: str = ""  # why a test without a verdict lost points, where its cell does not show it

    @property
    def anchor(self) -> str:
        return f"exercise-{self.number}"

    @property
    def state(self) -> str:
        """A word for the eye: "waiting", "full", "part" or "none"."""
        if self.waiting:
            return "waiting"
        return "full" if self.score >= self.points else "part" if self.score > 0 else "none"

    @property
    def by_hand(self) -> bool:
        """Return whether a person has given other points than the judge did."""
        return self.verdict is not None and abs(self.score - self.verdict.points) > 1e-9


@dataclass
class Part:
    """A cell: "prose", "code", "answer", "judged" or "written"; `own` where a student added it."""

    kind: str
    source: str
    outputs: list[RenderedOutput] = field(default_factory=list)
    exercise: Exercise | None = None
    comment: str = ""
    mark_scheme: str = ""
    attachments: Mapping[str, Any] = field(default_factory=dict)
    own: bool = False
    as_it_is: bool = False  # not to be read as markdown, or too long for it

    @property
    def is_given(self) -> bool:
        """Return whether it comes from the assignment, so that it holds nothing new for the student."""
        stopped = any(output.stopped for output in self.outputs)
        return self.kind in ("prose", "code") and not self.own and not stopped


@dataclass(frozen=True)
class Section:
    """Parts in a row; given ones are folded away under the headings they hold."""

    parts: list[Part]
    folded: bool

    @property
    def headings(self) -> list[str]:
        found = (HEADING.findall(part.source) for part in self.parts if part.kind == "prose")
        return [_without_marks(heading) for each in found for heading in each]


@dataclass(frozen=True)
class Page:
    title: str
    notice: str
    exercises: list[Exercise]
    sections: list[Section]

    @property
    def waiting(self) -> int:
        """Return how many answers a person has yet to mark."""
        return sum(exercise.waiting for exercise in self.exercises)


def page_of(notebook: NotebookNode, about: Mapping[str, Any], regions: Regions, *, fold: bool = True) -> Page:
    """The page of a graded notebook with its grades in it; `about` is nbgrader's part of the resources."""
    exercises: list[Exercise] = []
    parts: list[Part] = []
    headings: list[str] = []  # of the assignment's own text
    read = 0
    for cell in notebook.cells:
        if origin_of(cell) is Origin.GRADER:
            continue
        part = _part(cell, headings, exercises, regions)
        if cell.cell_type == "markdown":
            read += len(cell.source)
        part.as_it_is = cell.cell_type == "raw" or read > MOST_PROSE
        if part.kind == "prose" and not part.own:
            headings += HEADING.findall(part.source)
        parts.append(part)
    record = read_record(notebook)
    return Page(
        title=_without_marks(headings[0] if headings else str(about["notebook"])),
        notice=record.reason or record.note,
        exercises=exercises,
        sections=list(_sections(parts, fold)),
    )


def _part(cell: NotebookNode, headings: Sequence[str], exercises: list[Exercise], regions: Regions) -> Part:
    marks = cell.metadata.get("nbgrader", {})
    kind = "judged" if marks.get("grade") else "code" if cell.cell_type == "code" else "prose"
    if cell.cell_type == "markdown" and (marks.get("solution") or marks.get("task")):
        kind = "written"
    elif marks.get("solution"):
        kind = "answer"
    part = Part(kind, cell.source, attachments=cell.get("attachments", {}))
    part.own = origin_of(cell) is Origin.STUDENT
    part.comment = str(marks.get("comment") or "")
    hides = False
    # Only the assignment's own cells are cut: what a student wrote is theirs to read.
    if marks.get("locked") or marks.get("task"):
        part.source, part.mark_scheme = regions.without_mark_scheme(part.source)
        part.source, hides = regions.without_hidden_tests(part.source)
    failure, is_hidden = _failure(cell, part.source, regions)
    # The lines around an error would show the tests that were cut.
    before_error = f"{NOT_SHOWN}: " if is_hidden else ""
    part.outputs = list(_outputs(cell, brief_errors=before_error if hides else None))
    if marks.get("grade") or marks.get("task"):
        part.exercise = _exercise(cell, part.source, failure, headings, exercises)
        exercises.append(part.exercise)
    return part


def _failure(cell: NotebookNode, visible: str, regions: Regions) -> tuple[str, bool]:
    """Why a test lost its points, in a sentence or nothing, and whether the page does not show that test."""
    outputs = cell.get("outputs", [])
    errors = [output for output in outputs if output.output_type == "error"]
    if not errors:
        on_stderr = any(output.output_type == "stream" and output.name == "stderr" for output in outputs)
        return (ON_STDERR if on_stderr else ""), False
    words = plain_line(errors[-1].evalue, LONGEST_REASON)
    if read_cell_status(cell) in STOPPED:
        return words, False
    line = FAILED_LINE.search(without_terminal_codes("\n".join(errors[-1].traceback)))
    if not visible.strip() or (line and regions.is_hidden_test(cell.source, int(line[1]))):
        return (f"{NOT_SHOWN}: {words}" if words else f"{NOT_SHOWN}."), True
    return "", False


def _exercise(
    cell: NotebookNode, visible: str, failure: str, headings: Sequence[str], exercises: Sequence[Exercise]
) -> Exercise:
    marks, verdict = cell.metadata.nbgrader, read_verdict(cell)
    name = verdict.exercise if verdict else str(marks["grade_id"]).removeprefix("test_")
    heading = _without_marks(headings[-1] if headings else "")
    # Two exercises under one heading would have one name.
    if heading and (verdict is None and cell.cell_type == "markdown" or name in heading.split()):
        name = heading
    elif GENERATED_ID.fullmatch(name):
        first_line = plain_line(visible.strip().partition("\n")[0].strip("#'\" "), LONGEST_NAME)
        # The title is above every cell.
        name = (heading if len(headings) > 1 else "") or first_line or heading or name
        same = sum(re.sub(r" \(\d+\)$", "", exercise.name) == name for exercise in exercises)
        name += f" ({same + 1})" if same else ""
    score, points = (float(marks.get(each) or 0) for each in ("score", "points"))
    failure = failure if verdict is None and score < points else ""
    waiting, comment = bool(marks.get("needs_marking")), str(marks.get("comment") or "")
    by_points = "All points." if score >= points else failure or "Its cell shows what happened."
    sentence = WAITING if waiting else (verdict.message if verdict else "") or comment or by_points
    return Exercise(len(exercises) + 1, name, score, points, sentence, waiting, verdict, failure)


def _sections(parts: list[Part], fold: bool) -> Iterator[Section]:
    """The parts in their order; the text right before an answer stays open, for it says what was asked."""
    fold = fold and any(part.exercise for part in parts)  # without exercises all of it is to be read

    def is_folded(part: Part, after: Part | None) -> bool:
        asks = part.kind == "prose" and after is not None and after.kind in ("answer", "written")
        return fold and part.is_given and not asks

    for folded, run in groupby(zip_longest(parts, parts[1:]), key=lambda pair: is_folded(*pair)):
        yield Section([part for part, _ in run], folded)


def _without_marks(heading: str) -> str:
    return re.sub(r"[`*$]", "", heading)


def _outputs(cell: NotebookNode, *, brief_errors: str | None = None) -> Iterator[RenderedOutput]:
    """The outputs of a cell but the verdict; `brief_errors` is put before errors without the lines around."""
    for output in cell.get("outputs", []):
        if is_verdict(cell, output):
            continue
        if output.output_type == "stream":
            yield RenderedOutput(_plain(output.text))
        elif output.output_type == "error":
            text = "\n".join(output.traceback)
            if brief_errors is not None:
                text = f"{brief_errors}{output.ename}: {output.evalue}".rstrip(": ")
            yield RenderedOutput(_plain(text), stopped=True)
        else:
            data = output.get("data", {})
            pictures = [(kind, "".join(str(data.get(kind, "")).split())) for kind in PICTURES]
            found = [f"data:{kind};base64,{each}" for kind, each in pictures if BASE64.fullmatch(each)]
            if found or "text/plain" in data:
                yield RenderedOutput(_plain(data.get("text/plain", "")), found[0] if found else "")


def _plain(text: str) -> str:
    """Text without colours, cursor movements and marks that turn the direction of reading."""
    rest = len(text) - LONGEST_TEXT
    if rest > 0:
        text = f"{text[:LONGEST_TEXT]}\n… ({rest:,} more characters are left out)"
    text = without_terminal_codes(text.replace("\r\n", "\n"))
    # Of a line that was written over again and again, such as a progress bar, the last state.
    text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return plain_lines(text)
