"""The results of `check`: shown as a panel with buttons in a notebook, as text in a terminal."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbjudge.tutor.learner import panel
from nbjudge.tutor.learner.location import TutorMissingError
from nbjudge.tutor.learner.record import LearnerRecord

if TYPE_CHECKING:
    from nbjudge.tutor.messages import AnyRequest, CheckResult, Part, Reply, Step

    Converse = Callable[[AnyRequest], tuple[Reply, list[str]]]

IN_A_TERMINAL = 'More: check("{exercise}").mistake(), .help(), .solution()'
NOT_YET = (
    "`{exercise}` is answered in words: write your own answer into its cell first and save the notebook "
    "(Ctrl-S). Then run this cell again for a model answer, and questions to ask your own text."
)
FEWEST_WORDS = 15


class Points(float):
    """A number of points that nbgrader reads as a cell's result."""

    def __repr__(self) -> str:
        return f"{float(self):g}"


class NoPointsError(Exception):
    """A graded cell asks for points where the tutor has not checked the answer; the message says why."""


class Sentence:
    """A sentence in place of a result: why the answer was not checked."""

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence

    @property
    def points(self) -> Points:
        """Raises NoPointsError, because 0 points would be a grade."""
        raise NoPointsError(self.sentence)

    def __repr__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return panel.sentence_html(self.sentence)

    def mistake(self) -> Sentence:
        """Return the same sentence: there is no help without a check."""
        return self

    help = solution = mistake


class Help:
    """A step of help."""

    def __init__(self, parts: Sequence[Part], label: str) -> None:
        self.parts, self.label = parts, label

    def __repr__(self) -> str:
        return panel.parts_text(self.parts)

    def _repr_html_(self) -> str:
        return panel.parts_html(self.parts, self.label)


class CheckPanel:
    """The result of a check, and its further help: the methods are the panel's buttons."""

    def __init__(
        self,
        result: CheckResult,
        notes: Sequence[str],
        record: LearnerRecord,
        folder: str,
        converse: Converse,
    ) -> None:
        self._result, self._notes = result, notes
        self._record, self._folder, self._converse = record, folder, converse
        self._given = 0

    @property
    def points(self) -> Points:
        """The points that the answer would get in a grading run."""
        return Points(self._result.points)

    @property
    def is_right(self) -> bool:
        """Whether the answer would get all points."""
        return self._result.points == self._result.max_points

    @property
    def steps(self) -> list[str]:
        """The kinds of help that there are for this answer, given how much this course reveals."""
        named = any(finding.named for finding in self._result.findings)
        full = self._result.disclosure == "full"
        steps = ["mistake"] if named and full else []
        steps += [] if self.is_right else ["help"]
        return steps + (["solution"] if full else [])

    @property
    def more(self) -> str:
        """The methods that are the buttons."""
        return IN_A_TERMINAL.format(exercise=self._result.exercise)

    def mistake(self) -> Help | Sentence:
        """Return the sentence of the mistake, if the tutor knows it by name."""
        shown = self._ask("mistake")
        if isinstance(shown, Help):
            sentences = [part.text for part in shown.parts]
            names = [finding.mistake for finding in self._result.findings if finding.named]
            self._record.add_mistakes(self._result.exercise, dict(zip(names, sentences, strict=False)))
        return shown

    def help(self) -> Help | Sentence:
        """Return the smallest case in which the answer is wrong; the next calls return the hints."""
        shown = self._ask("help")
        self._given += 1
        self._record.add_help(self._result.exercise)
        return shown

    def solution(self) -> Help | Sentence:
        """Return the model solution and two alternatives, once you are right or have tried three times."""
        return self._ask("solution")

    def __repr__(self) -> str:
        return f"{panel.panel_text(self._result, self._notes)}\n{self.more}"

    def _repr_html_(self) -> str:
        return panel.panel_html(self._result, self._notes)

    def _ipython_display_(self) -> None:
        panel.show_with_buttons(self)

    def _ask(self, step: Step) -> Help | Sentence:
        from nbjudge.tutor.messages import HelpRequest

        exercise = self._result.exercise
        tries = self._record.exercise(exercise).tries
        request = HelpRequest(
            folder=self._folder, exercise=exercise, step=step, given=self._given, tries=tries
        )
        return ask_for_help(self._converse, request, f"{exercise}: {panel.BUTTONS[step]}")


def ask_for_help(converse: Converse, request: AnyRequest, label: str) -> Help | Sentence:
    """Return the parts of help that the tutor replies with, or the sentence that says why there are none."""
    try:
        reply, _ = converse(request)
    except TutorMissingError as error:
        return Sentence(str(error))
    parts = getattr(reply, "parts", None)
    return Sentence(getattr(reply, "sentence", "")) if parts is None else Help(parts, label)


class WrittenAnswer:
    """A question that is answered in words: shows its model answer once the learner has written one."""

    def __init__(self, exercise: str, folder: Path, converse: Converse) -> None:
        self._exercise, self._folder, self._converse = exercise, folder, converse

    def __repr__(self) -> str:
        return repr(self._shown())

    def _repr_html_(self) -> str:
        return self._shown()._repr_html_()

    def _shown(self) -> Help | Sentence:
        from nbjudge.tutor.messages import HelpRequest

        if not has_written(self._folder, self._exercise):
            return Sentence(NOT_YET.format(exercise=self._exercise))
        request = HelpRequest(
            folder=self._folder.name, exercise=self._exercise, step="solution", given=0, tries=0
        )
        return ask_for_help(self._converse, request, self._exercise)


class OnePage:
    """The code of a whole assignment, which the notebook shows in colour."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __repr__(self) -> str:
        return self.code

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.code}\n```"


def one_page(folder: str, record: LearnerRecord, converse: Converse) -> OnePage | Sentence:
    """Return the code of an assignment on one page, or the sentence that lists the answers still missing."""
    right = [
        name
        for name, exercise_history in record.exercises().items()
        if exercise_history.lesson == folder and exercise_history.is_right
    ]
    from nbjudge.tutor.messages import OnePageRequest

    shown = ask_for_help(converse, OnePageRequest(folder=folder, right=right), folder)
    if not isinstance(shown, Help):
        return shown
    (part,) = shown.parts
    return OnePage(part.text) if part.kind == "code" else Sentence(part.text)


def has_written(folder: Path, question: str) -> bool:
    """Whether the saved notebook in this folder holds an answer of some words to a written question."""
    answers = [
        cell
        for path in sorted(folder.glob("*.ipynb"))
        for cell in _cells(path)
        if _answers_question(cell, question)
    ]
    return any(len("".join(cell.get("source", "")).split()) >= FEWEST_WORDS for cell in answers)


def _answers_question(cell: dict[str, Any], question: str) -> bool:
    return bool(cell.get("metadata", {}).get("nbgrader", {}).get("grade_id") == question)


def _cells(path: Path) -> list[dict[str, Any]]:
    try:
        cells = json.loads(path.read_text("utf-8"))["cells"]
        return [cell for cell in cells if isinstance(cell, dict)]
    except (OSError, ValueError, KeyError, TypeError):
        return []
