"""The folders of a course: where its notebooks and submissions are, and which names can be students' ids."""

from __future__ import annotations

import glob
import os
import re
import unicodedata
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from nbjudge.course.configuration import CONFIG_FILE, read_config
from nbjudge.errors import CourseError
from nbjudge.plain_text import shown_name
from nbjudge.submission.files import CACHE_FOLDERS, Folder

# This package's own folders; nbgrader has no settings for them.
CHECKS, REPORTS, REGRADES, EXTENSIONS = "checks", "reports", "regrades", "extensions"
_ANY_STUDENT = "\N{OBJECT REPLACEMENT CHARACTER}"  # stands for a student's id where paths are searched
LONGEST_ID = 128  # characters that fit into nbgrader's gradebook
# Letters and marks that are drawn as nothing: two ids that differ in one would look the same.
BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
# Categories of characters that steer how text is set (such as U+200B), end a line, or are none yet.
INVISIBLE = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
# The formgrader's pages put an id into markup and scripts as it is.
MARKUP = re.compile(r"[<>\\`]|\"(?=.*[=(\[{;])|[=(\[{;].*\"")


@dataclass(frozen=True)
class CourseFolders:
    """The folders in which a course keeps its notebooks and its class's work.

    Each field but `root` is nbgrader's setting `CourseDirectory.NAME`, with nbgrader's own default. A
    directory may be a path: relative to `root`, or absolute.
    """

    root: Path
    source_directory: str = "source"
    release_directory: str = "release"
    solution_directory: str = "solution"
    submitted_directory: str = "submitted"
    autograded_directory: str = "autograded"
    feedback_directory: str = "feedback"
    directory_structure: str = os.path.join("{nbgrader_step}", "{student_id}", "{assignment_id}")

    @property
    def source(self) -> Path:
        return self.root / self.source_directory

    @property
    def release(self) -> Path:
        return self.root / self.release_directory

    @property
    def solution(self) -> Path:
        return self.root / self.solution_directory

    @property
    def checks(self) -> Path:
        return self.root / CHECKS

    @property
    def reports(self) -> Path:
        return self.root / REPORTS

    def decisions(self, assignment: str) -> Path:
        """The file of an instructor's decisions on the points of an assignment."""
        return self.root / REGRADES / f"{assignment}.json"

    def extensions(self, assignment: str) -> Path:
        """The file of the students' own deadlines of an assignment."""
        return self.root / EXTENSIONS / f"{assignment}.json"

    def submitted(self, student: str, assignment: str) -> Path:
        """The folder of a submission as it was handed in."""
        return self.at(self.submitted_directory, student, assignment)

    def submission(self, student: str, assignment: str) -> Folder:
        """The folder of a submission, in which no link is followed.

        `submitted/` itself may be a link to another place; the student's and the assignment's folder
        below it may not, in whatever order `directory_structure` has them.
        """
        levels = Path(self.directory_structure).parts
        own = next(
            at
            for at, level in enumerate(levels)
            if "{student_id" in level or (at and "{nbgrader_step" in levels[at - 1])
        )
        names = [self._format(level, self.submitted_directory, student, assignment) for level in levels]
        return Folder(self.root.joinpath(*names[:own]), os.path.join(*names[own:]))

    def autograded(self, student: str, assignment: str) -> Path:
        """The folder of a submission's graded notebooks."""
        return self.at(self.autograded_directory, student, assignment)

    def feedback(self, student: str, assignment: str) -> Path:
        """The folder of a submission's feedback pages."""
        return self.at(self.feedback_directory, student, assignment)

    def by_step(self) -> dict[str, Path]:
        """The top folder of each step of nbgrader's, by the step's name."""
        steps = [name for name in _SETTINGS if name.endswith("_directory")]
        return {name.removesuffix("_directory"): self.root / getattr(self, name) for name in steps}

    def assignments(self) -> list[str]:
        """The assignments that have a source notebook."""
        return sorted({notebook.parent.name for notebook in self.source_notebooks()})

    def source_notebooks(self) -> list[Path]:
        """The source notebooks of all assignments."""
        return sorted(self.source.glob("*/*.ipynb"))

    def notebook_names(self, assignment: str) -> list[str]:
        """The file names of an assignment's notebooks."""
        return sorted(notebook.name for notebook in (self.source / assignment).glob("*.ipynb"))

    def students(self, assignment: str) -> list[str]:
        """The ids of the students who handed in an assignment, as a folder or anything else in its place."""
        any_student = str(self.submitted(_ANY_STUDENT, assignment))
        found = glob.glob(glob.escape(any_student).replace(_ANY_STUDENT, "*"), include_hidden=True)
        pattern = re.compile(re.escape(any_student).replace(_ANY_STUDENT, "([^/]+)"))
        matches = (pattern.fullmatch(path) for path in found)
        return sorted(match.group(1) for match in matches if match and match.group(1) not in CACHE_FOLDERS)

    def of_student(self, student: str) -> dict[str, dict[str, Path]]:
        """The folders of a student, or whatever is in their place, by step and assignment."""
        found: dict[str, dict[str, Path]] = {}
        for directory in (self.submitted_directory, self.autograded_directory, self.feedback_directory):
            any_assignment = str(self.at(directory, student, _ANY_STUDENT))
            paths = glob.glob(glob.escape(any_assignment).replace(_ANY_STUDENT, "*"))
            pattern = re.compile(re.escape(any_assignment).replace(_ANY_STUDENT, "([^/]+)"))
            matches = [match for path in sorted(paths) if (match := pattern.fullmatch(path))]
            own = {match.group(1): Path(match.group()) for match in matches}
            found[directory] = {name: path for name, path in own.items() if name not in CACHE_FOLDERS}
        return found

    def as_settings(self) -> dict[str, str]:
        """The settings of nbgrader's `CourseDirectory` that lead to these folders."""
        return {name: getattr(self, name) for name in _SETTINGS}

    def at(self, directory: str, student: str, assignment: str) -> Path:
        """The folder of a student and an assignment in the directory of a step, such as "submitted"."""
        return self.root / self._format(self.directory_structure, directory, student, assignment)

    @staticmethod
    def _format(structure: str, directory: str, student: str, assignment: str) -> str:
        return structure.format(nbgrader_step=directory, student_id=student, assignment_id=assignment)


_SETTINGS = tuple(field.name for field in fields(CourseFolders) if field.name != "root")


def read_folders(root: Path) -> CourseFolders:
    """The folders of the course at `root`, as nbgrader's configuration names them."""
    settings: Any = read_config(root).get("CourseDirectory", {})
    return CourseFolders(root, **{name: settings[name] for name in _SETTINGS if name in settings})


def folders_of(coursedir: Any) -> CourseFolders:
    """The folders that nbgrader's `CourseDirectory` has, whose settings may be of the command line."""
    return CourseFolders(Path(coursedir.root), **{name: getattr(coursedir, name) for name in _SETTINGS})


def find_root(start: Path) -> Path:
    """The folder of the course around a folder: the nearest with a configuration or checks, and a source.

    Raises CourseError where there is none.
    """
    for folder in (start, *start.parents):
        is_marked = (folder / CONFIG_FILE).is_file() or (folder / CHECKS).is_dir()
        if is_marked and read_folders(folder).source.is_dir():
            return folder
    raise CourseError(
        f"{start} is not inside a course: no folder above it holds {CONFIG_FILE} (or {CHECKS}/) and the "
        "course's source notebooks. Run this from the course's own folder."
    )


def invalid_id_reason(student: str) -> str | None:
    """The reason why this name cannot be a student's id, in a sentence; None if it can."""
    if BLANK.search(student) or any(unicodedata.category(character) in INVISIBLE for character in student):
        what = "holds characters that cannot be shown"
    elif student.strip() != student:
        what = "begins or ends with a space"
    elif len(student) > LONGEST_ID:
        what = f"is longer than {LONGEST_ID} characters"
    elif MARKUP.search(student):
        what = "holds characters that nbgrader's pages would take for code"
    else:
        return None
    return f"The folder's name {shown_name(student)} {what}, and cannot be a student's id: rename the folder."
