"""How far a student is: the last outcome of each lesson's visible tests, kept by the content of its file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from attention_lab.start.exercises import Outcome, SavedLesson, State, read_lessons
from attention_lab.start.visible_tests import Step, run_visible_tests

MEMORY = Path(".attention-lab") / "progress.json"
Outcomes = dict[str, Outcome]
Kept = dict[str, Outcomes]  # by the fingerprint of the lesson


@dataclass(frozen=True)
class LessonProgress:
    """A lesson and how each of its exercises stands."""

    lesson: SavedLesson
    outcomes: Outcomes

    @property
    def passed(self) -> int:
        return sum(outcome.state == State.PASSES for outcome in self.outcomes.values())

    @property
    def is_out_of_date(self) -> bool:
        return any(outcome.state == State.CHANGED for outcome in self.outcomes.values())


class Progress:
    """The progress in one work folder. Looking runs what was changed since the last look, no more."""

    def __init__(self, folder: Path, run: Callable[[SavedLesson, Step], Outcomes] = run_visible_tests):
        self._folder, self._run = folder, run
        self._kept = _recall(folder / MEMORY)

    def known(self) -> list[LessonProgress]:
        """How each lesson stands, without running anything."""
        return [LessonProgress(lesson, self._known(lesson)) for lesson in read_lessons(self._folder)]

    def look(self, lesson: SavedLesson, step: Step = lambda done, all_cells: None) -> None:
        """Run a lesson's visible tests and keep what they say for as long as its file stays as it is."""
        self._kept[lesson.fingerprint] = self._run(lesson, step)
        present = {each.fingerprint for each in read_lessons(self._folder)} | {lesson.fingerprint}
        self._kept = {print_: outcomes for print_, outcomes in self._kept.items() if print_ in present}
        _keep(self._folder / MEMORY, self._kept)

    def _known(self, lesson: SavedLesson) -> Outcomes:
        if lesson.fingerprint in self._kept:
            return self._kept[lesson.fingerprint]
        begun = set(lesson.exercises) - lesson.untouched
        return {
            exercise: Outcome(State.CHANGED if exercise in begun else State.UNTOUCHED)
            for exercise in lesson.exercises
        }


def _recall(file: Path) -> Kept:
    """What an earlier look has kept; nothing where the file is missing or is not what was written."""
    try:
        lessons = json.loads(file.read_text(encoding="utf-8"))
        return {
            fingerprint: {name: Outcome(State(state), str(said)) for name, (state, said) in outcomes.items()}
            for fingerprint, outcomes in lessons.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _keep(file: Path, kept: Kept) -> None:
    """Write it whole or not at all. Where nothing can be written it is worked out again next time."""
    plain = {
        fingerprint: {name: (outcome.state, outcome.said) for name, outcome in outcomes.items()}
        for fingerprint, outcomes in kept.items()
    }
    try:
        file.parent.mkdir(exist_ok=True)
        new = file.with_suffix(".new")
        new.write_text(json.dumps(plain, indent=1), encoding="utf-8")
        os.replace(new, file)
    except OSError:
        return
