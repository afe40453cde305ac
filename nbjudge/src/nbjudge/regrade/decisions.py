"""The decisions of a course: a file for each assignment, `regrades/ASSIGNMENT.json`, that people can read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from nbjudge.cell_metadata import ANSWER_FORMAT
from nbjudge.course.folders import CourseFolders
from nbjudge.errors import CourseError
from nbjudge.judge.verdict import Verdict
from nbjudge.submission.files import write_replacing

OLDER = (
    "The regrades in {file} were decided with an earlier version of nbjudge, which compared less of an "
    "answer: move the file away, grade {assignment} again, and decide them again with `nbjudge regrade`."
)


@dataclass(frozen=True)
class Decision:
    """What one answer to one exercise is worth, and why."""

    exercise: str
    answer: str  # as `same_answer` knows it
    student: str  # whose answer it was that was looked at
    points: float
    reason: str
    day: str
    groups: Mapping[str, bool]  # whether each case group agreed when it was decided

    def holds_for(self, answer: str, student: str, verdict: Verdict) -> bool:
        """Whether an answer gets these points: the same code and, of another student, the same verdict."""
        if (self.exercise, self.answer) != (verdict.exercise, answer):
            return False
        outcomes = (self.groups.get(group.name, group.agrees) == group.agrees for group in verdict.groups)
        return student == self.student or all(outcomes)


def decision_for(
    decisions: Iterable[Decision], answer: str, student: str, verdict: Verdict
) -> Decision | None:
    """What was decided for an answer; a decision about this very student comes first."""
    holding = [each for each in decisions if each.holds_for(answer, student, verdict)]
    return next((each for each in holding if each.student == student), next(iter(holding), None))


def decisions_file(folders: CourseFolders, assignment: str) -> Path:
    return folders.regrades / f"{assignment}.json"


def read_decisions(folders: CourseFolders, assignment: str) -> list[Decision]:
    """Those of an assignment. Raises CourseError where the file is there and cannot be read."""
    file = decisions_file(folders, assignment)
    try:
        entries = json.loads(file.read_bytes())
        answers = [str(entry["answer"]) for entry in entries if isinstance(entry, dict) and "answer" in entry]
        if not all(answer.startswith(ANSWER_FORMAT) for answer in answers):
            raise CourseError(OLDER.format(file=file, assignment=assignment))
        found = [Decision(**entry) for entry in entries]
        if not all(isinstance(each.points, int | float) and each.points >= 0 for each in found):
            raise ValueError("points must be numbers from 0")
        if not all(isinstance(each.groups, dict) for each in found):
            raise ValueError("groups must say whether each group agreed")
        return found
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError) as error:
        raise CourseError(
            f"The regrades in {file} cannot be read ({error}): mend the file, or take it away."
        ) from error


def write_decisions(folders: CourseFolders, assignment: str, decisions: Sequence[Decision]) -> Path:
    """Write them in place of those that are there; without any the file goes."""
    file = decisions_file(folders, assignment)
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
