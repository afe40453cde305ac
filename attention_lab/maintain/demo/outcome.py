"""What came of a submission, read from where nbgrader keeps it, and whether it is what was expected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from nbgrader.api import Gradebook, MissingEntry

from attention_lab.maintain.demo.hand_ins import ExpectedOutcome, HandIn
from nbjudge.batch.coordinator import GradedSubmission
from nbjudge.course.course import Assignment
from nbjudge.course.gradebook import gradebook_url
from nbjudge.judge.verdict import Finding, Verdict
from nbjudge.record.graded_notebook import GradedNotebook, read_graded


@dataclass(frozen=True)
class Judged:
    """One exercise of one student: the gradebook's points and the verdict behind them."""

    points: float
    max_points: float
    message: str = ""  # the first sentence about what is wrong
    mistake: str | None = None

    def is_as(self, expected: ExpectedOutcome) -> bool:
        """Whether the verdict is the one that this answer deserves."""
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
        """How many verdicts are."""
        return sum(
            name in self.judged and self.judged[name].is_as(expected)
            for name, expected in self.hand_in.expected.items()
        )

    @property
    def surprises(self) -> list[str]:
        """Verdicts that differ from what was expected, each in a sentence."""
        return [
            f"{name}: expected {_described(expected)}, got {self.judged[name].points:g} of "
            f"{self.judged[name].max_points:g} points ({self.judged[name].mistake or 'no named mistake'})."
            for name, expected in self.hand_in.expected.items()
            if name in self.judged and not self.judged[name].is_as(expected)
        ]


def outcome_of(lesson: Assignment, hand_in: HandIn, graded: GradedSubmission) -> Outcome:
    """Read the gradebook and the autograded notebook of one student."""
    points = gradebook_points(lesson, graded.student)
    notebook = graded_notebook(lesson, graded.student)
    problems = [graded.problem] if graded.problem else []
    judged = {}
    for name in hand_in.expected:
        score = points.get(notebook.cell_ids.get(name, ""))
        if score is None:
            problems.append(f"{name} has no grade.")
        elif score != notebook.verdicts[name].points:
            in_verdict = notebook.verdicts[name].points
            problems.append(f"{name}: the verdict says {in_verdict:g}, the gradebook {score:g} points.")
        else:
            judged[name] = _judged(notebook.verdicts[name])
    return Outcome(hand_in, graded, judged, tuple(problems))


def gradebook_points(lesson: Assignment, student: str) -> dict[str, float | None]:
    """The automatic score of every graded cell, by its grade id; empty where nothing was graded."""
    with Gradebook(gradebook_url(lesson.course.root)) as gradebook:
        try:
            submission = gradebook.find_submission_notebook(lesson.name, lesson.folder, student)
        except MissingEntry:
            return {}
        return {grade.name: grade.auto_score for grade in submission.grades}


def graded_notebook(lesson: Assignment, student: str) -> GradedNotebook:
    """What the grader left in the student's notebook; an empty record where there is none."""
    path = lesson.course.folders.autograded(student, lesson.folder) / f"{lesson.name}.ipynb"
    return read_graded(path) if path.exists() else GradedNotebook()


def _judged(verdict: Verdict) -> Judged:
    first = next(iter(verdict.findings), Finding(""))
    return Judged(verdict.points, verdict.max_points, first.sentence, first.mistake)


def _described(expected: ExpectedOutcome) -> str:
    return {"full": "all points", "none": "none"}.get(expected.outcome, f"the mistake {expected.mistake!r}")
