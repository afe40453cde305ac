"""The decisions of a course: a file for each lesson, `regrades/LESSON.json`, that people can read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from nbjudge.course.folders import CourseFolders
from nbjudge.errors import CourseError
from nbjudge.read.files import write_replacing


@dataclass(frozen=True)
class Decision:
    """What one answer to one exercise is worth, and why."""

    exercise: str
    answer: str  # as `same_answer` knows it
    student: str  # whose answer it was that was looked at
    points: float
    reason: str
    day: str


def decisions_file(folders: CourseFolders, lesson: str) -> Path:
    return folders.regrades / f"{lesson}.json"


def read_decisions(folders: CourseFolders, lesson: str) -> list[Decision]:
    """Those of a lesson. Raises CourseError where the file is there and cannot be read."""
    file = decisions_file(folders, lesson)
    try:
        found = [Decision(**entry) for entry in json.loads(file.read_bytes())]
        if not all(isinstance(each.points, int | float) and each.points >= 0 for each in found):
            raise ValueError("points must be numbers from 0")
        return found
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError) as error:
        raise CourseError(
            f"The regrades in {file} cannot be read ({error}): mend the file, or take it away."
        ) from error


def write_decisions(folders: CourseFolders, lesson: str, decisions: Sequence[Decision]) -> Path:
    """Write them in place of those that are there; without any the file goes."""
    file = decisions_file(folders, lesson)
    try:
        if decisions:
            file.parent.mkdir(exist_ok=True)
            text = json.dumps([asdict(each) for each in decisions], indent=2, ensure_ascii=False)
            write_replacing(f"{text}\n".encode(), file)
        else:
            file.unlink(missing_ok=True)
    except OSError as error:
        raise CourseError(f"{file} cannot be written ({error.strerror}): nothing was changed.") from error
    return file
