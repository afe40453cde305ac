"""A learner's answers, taken from their saved notebooks: to build something of them in another one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from attention_lab.errors import CourseError
from attention_lab.start.progress import SavedLesson, read_lessons

# What the model is made of: the notebook, the answers taken from it, what the lesson is called.
NEEDED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "kv_cache": ("lesson 9", ("generate",)),
    "rotary": ("lesson 10", ("rotary_angles", "rotate", "RotaryAttention")),
}
IMPORTS = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
"""


class MissingAnswerError(CourseError):
    """Something that the model is made of is missing; a notebook shows the sentence alone."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@dataclass(frozen=True)
class OwnAnswers:
    """Lesson 10's layer and lesson 9's loop, as the learner wrote them."""

    RotaryAttention: Callable[..., Any]
    generate: Callable[..., Any]


def own_answers(folder: Path | str = ".") -> OwnAnswers:
    """The learner's `RotaryAttention` and `generate`, from the notebooks in the folder of all lessons.

    folder: that folder, or one within it, such as the one of the lesson that is open.

    Raises MissingAnswerError where a notebook or an answer is missing, not begun, or does not run.
    """
    lessons = {lesson.path.stem: lesson for lesson in _lessons(Path(folder).resolve())}
    found: dict[str, Any] = {}
    for notebook, (called, names) in NEEDED.items():
        if notebook not in lessons:
            raise MissingAnswerError(
                f"There is no notebook {notebook}.ipynb in the lesson folders of {Path(folder).resolve()}: "
                f"the model needs your answers of {called}. Say where they are: `--lessons FOLDER`, or in a "
                'notebook `own_answers("FOLDER")`.'
            )
        found |= _defined(lessons[notebook], called, names)
    return OwnAnswers(found["RotaryAttention"], found["generate"])


def _lessons(folder: Path) -> list[SavedLesson]:
    return next((lessons for place in (folder, folder.parent) if (lessons := read_lessons(place))), [])


def _defined(lesson: SavedLesson, called: str, names: tuple[str, ...]) -> dict[str, Any]:
    """The answers by name, each with the others in reach, as in its notebook."""
    if lesson.problem:
        raise MissingAnswerError(f"{lesson.path}: {lesson.problem}")
    module = ModuleType(f"own_{lesson.path.stem}")
    sys.modules[module.__name__] = module  # classes look up theirs
    exec(IMPORTS, module.__dict__)
    for name in names:
        answer = lesson.answer_of(name)
        if not answer.strip() or "raise NotImplementedError" in answer:
            raise MissingAnswerError(
                f"`{name}` of {called} has no answer yet: write it in {lesson.path}, save, and come back."
            )
        try:
            exec(compile(answer, f"<{name} of {called}>", "exec"), module.__dict__)
        except Exception as error:
            raise MissingAnswerError(
                f"`{name}` of {called} does not run ({type(error).__name__}: {error}). Fix it in "
                f"{lesson.path}."
            ) from error
        if not hasattr(module, name):
            raise MissingAnswerError(
                f"The answer cell of `{name}` in {lesson.path} does not define `{name}`."
            )
    return {name: getattr(module, name) for name in names}
