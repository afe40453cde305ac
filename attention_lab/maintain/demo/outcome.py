"""What came of a submission, whether that is as expected, and the report that `make demo` prints."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from nbgrader.api import Gradebook, MissingEntry
from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Console
from rich.table import Table
from rich.text import Text

from attention_lab.maintain.demo.hand_ins import ExpectedOutcome, HandIn
from nbjudge import LOG_FILE, Finding, GradedNotebook, GradedSubmission, read_graded
from nbjudge.authoring import Exercise
from nbjudge.course import Assignment, gradebook_url


@dataclass(frozen=True)
class Judged:
    """One exercise of one student: the gradebook's points and the verdict behind them."""

    points: float
    max_points: float
    message: str = ""  # the first sentence about what is wrong
    mistake: str | None = None

    def is_as(self, expected: ExpectedOutcome) -> bool:
        """Return whether the verdict is the one that this answer deserves."""
        if expected.outcome == "full":
            return self.points == self.max_points
        if expected.outcome == "none":
            return self.points == 0
        return self.points < self.max_points and self.mistake == expected.mistake


@dataclass(frozen=True)
class Outcome:
    """One student: the hand-in, what was made of it, and what is not as it should be."""

    hand_in: HandIn
    graded: GradedSubmission
    judged: Mapping[str, Judged] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @property
    def student(self) -> str:
        return self.graded.student

    @property
    def points(self) -> float:
        return sum(each.points for each in self.judged.values())

    def with_problem(self, problem: str | None) -> Outcome:
        return self if problem is None else replace(self, problems=(*self.problems, problem))

    @property
    def as_expected(self) -> int:
        """Return how many verdicts are."""
        return sum(
            name in self.judged and self.judged[name].is_as(expected)
            for name, expected in self.hand_in.expected.items()
        )

    @property
    def surprises(self) -> list[str]:
        """Verdicts that differ from what was expected, each in a sentence."""
        return [
            f"{name}: expected {expected}, got {self.judged[name].points:g} of "
            f"{self.judged[name].max_points:g} points ({self.judged[name].mistake or 'no named mistake'})."
            for name, expected in self.hand_in.expected.items()
            if name in self.judged and not self.judged[name].is_as(expected)
        ]


def outcome_of(lesson: Assignment, hand_in: HandIn, graded: GradedSubmission) -> Outcome:
    """Read the gradebook and the autograded notebook of one student."""
    points = gradebook_points(lesson, graded.student)
    path = lesson.course.folders.autograded(graded.student, lesson.folder) / f"{lesson.name}.ipynb"
    notebook = read_graded(path) if path.exists() else GradedNotebook()
    problems = [graded.problem] if graded.problem else []
    judged = {}
    for name in hand_in.expected:
        score = points.get(notebook.cell_ids.get(name, ""))
        if score is None:
            problems.append(f"{name} has no grade.")
            continue
        verdict = notebook.verdicts[name]
        if score != verdict.points:
            problems.append(f"{name}: the verdict says {verdict.points:g}, the gradebook {score:g} points.")
        else:
            first = next(iter(verdict.findings), Finding(""))
            judged[name] = Judged(verdict.points, verdict.max_points, first.sentence, first.mistake)
    return Outcome(hand_in, graded, judged, tuple(problems))


def gradebook_points(lesson: Assignment, student: str) -> dict[str, float | None]:
    """The automatic score of every graded cell, by its grade id; empty where nothing was graded."""
    with Gradebook(gradebook_url(lesson.course.root)) as gradebook:
        try:
            submission = gradebook.find_submission_notebook(lesson.name, lesson.folder, student)
        except MissingEntry:
            return {}
        return {grade.name: grade.auto_score for grade in submission.grades}


def print_closing(
    console: Console, lesson: Assignment, outcomes: Sequence[Outcome], seconds: float, processes: int
) -> None:
    """Print the lines below the table, its summary last."""
    for outcome in outcomes:
        for problem in (*outcome.problems, *outcome.surprises):
            console.print(Text(f"✗ {outcome.student} ({outcome.hand_in.kind}): {problem}", style="bold red"))
    console.print(timing(outcomes, seconds, processes))
    console.print(feedback_line(lesson, outcomes), soft_wrap=True)


def legend(lesson: Assignment, exercises: Mapping[str, Exercise]) -> Columns:
    """The exercises behind the numbers at the head of the table."""
    entries = [
        Text.assemble((str(number), "bold"), f" {name}, {exercises[name].points:g} points")
        for number, name in enumerate(exercises, 1)
    ]
    return Columns(entries, padding=(0, 3), title=Text(lesson.folder, style="bold"))


def table_of(exercises: Mapping[str, Exercise], outcomes: Sequence[Outcome], with_head: bool = True) -> Table:
    """A row for each student: points by exercise, total, seconds, and the first thing they are told.

    Widths depend on the exercises only, so that rows printed one by one have the same columns.
    """
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, show_header=with_head, expand=True)
    table.add_column("student, hand-in", width=26)
    halves = any(group.points % 1 for each in exercises.values() for group in each.groups)
    for number, exercise in enumerate(exercises.values(), 1):
        width = max(len(str(number)), len(f"{exercise.points:.0f}") + 2 * halves)
        table.add_column(str(number), justify="right", width=width, no_wrap=True)
    table.add_column("Σ", justify="right", width=3 + 2 * halves, no_wrap=True, style="bold")
    table.add_column("s", justify="right", width=3, no_wrap=True, style="dim")
    table.add_column("first message", ratio=1)
    for outcome in outcomes:
        points = [_points(outcome.judged.get(name)) for name in exercises]
        total = f"{outcome.points:g}" if outcome.judged else "–"
        time = f"{outcome.graded.seconds:.0f}"
        who = Text.assemble((outcome.student, "bold"), "\n", (outcome.hand_in.kind, "dim italic"))
        table.add_row(who, *points, total, time, first_message(outcome))
    return table


def first_message(outcome: Outcome) -> Text:
    """The first sentence that the student reads, after the number of its exercise."""
    messages = [
        (number, judged.message) for number, judged in enumerate(outcome.judged.values(), 1) if judged.message
    ]
    if outcome.problems:
        return Text(outcome.problems[0], style="bold red")
    if not messages:
        return Text("right in every case", style="green")
    number, message = messages[0]
    sentence = _with_code(re.split(r"(?<=[.?])\s", message, maxsplit=1)[0])
    concerns_all = len({text for _, text in messages}) == 1 and len(messages) == len(outcome.judged) > 1
    return sentence if concerns_all else Text.assemble((f"{number}  ", "bold"), sentence)


def timing(outcomes: Sequence[Outcome], seconds: float, processes: int) -> Text:
    times = [outcome.graded.seconds for outcome in outcomes]
    slowest = max(outcomes, key=lambda outcome: outcome.graded.seconds)
    at_once = f", {processes} at a time" if processes > 1 else ""
    return Text(
        f"Graded {len(outcomes)} notebooks in {seconds:.0f} s{at_once}: {median(times):.1f} s for the median "
        f"notebook, {max(times):.1f} s for the slowest ({slowest.hand_in.kind})."
    )


def feedback_line(lesson: Assignment, outcomes: Sequence[Outcome]) -> Text:
    """Name the page of someone who made a mistake, if anyone did, and nbgrader's log."""
    shown = max(outcomes, key=lambda outcome: (outcome.hand_in.kind == "one mistake", bool(outcome.judged)))
    root, folders = lesson.course.root, lesson.course.folders
    page = folders.feedback(shown.student, lesson.folder) / f"{lesson.name}.html"
    return Text.assemble(
        f"What {shown.student} reads: ",
        (shlex.quote(_near(page)), f"bold link {page.as_uri()}"),
        f"\nnbgrader's log: {_near(root / LOG_FILE)}",
    )


def _points(judged: Judged | None) -> Text:
    if judged is None:
        return Text("–", style="bold red")
    style = "green" if judged.points == judged.max_points else "red" if judged.points == 0 else "yellow"
    return Text(f"{judged.points:g}", style=style)


def _with_code(sentence: str) -> Text:
    """The sentence, with what is between backticks set apart instead."""
    parts = sentence.split("`")
    return Text.assemble(*((part, "cyan" if index % 2 else "") for index, part in enumerate(parts)))


def _near(path: Path) -> str:
    """The path from the working folder where that is shorter."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
