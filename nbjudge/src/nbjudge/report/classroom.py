"""Where a class's work lies: its gradebook and its submissions, as nbgrader has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbjudge.course.configuration import read_config
from nbjudge.course.course import Course
from nbjudge.course.folders import find_root, read_folders
from nbjudge.course.gradebook import file_of, gradebook_url
from nbjudge.errors import CourseError


class Classroom:
    """A course folder with its class: what `nbgrader_config.py` says of places, else nbgrader's defaults."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._folders = read_folders(root)
        self._said: Any = read_config(root).get("CourseDirectory", {})

    @property
    def course(self) -> Course:
        """The lessons of this folder."""
        return Course(self.root, self._folders.source, self._folders.solutions)

    @property
    def course_id(self) -> str:
        return str(self._said.get("course_id", ""))

    @property
    def gradebook_url(self) -> str:
        """nbgrader's database. Raises CourseError where it is a file that is not there."""
        address = gradebook_url(self.root)
        file = file_of(address)
        if file is not None and not file.is_file():
            # Looking for it would make an empty one.
            raise CourseError(f"There is no gradebook {file}: grade the class first.")
        return address

    def handed_in(self, assignment: str) -> set[str]:
        """Who handed in this lesson."""
        return set(self._folders.students(assignment))

    def known(self) -> set[str]:
        """Who handed in anything, be it another lesson."""
        return {student for each in self._folders.assignments() for student in self._folders.students(each)}

    def graded(self, student: str, assignment: str) -> Path:
        """Where the graded notebooks of a submission lie, if there are any."""
        return self._folders.folder(self._folders.autograded, student, assignment)


def find_classroom(start: Path) -> Classroom:
    """The class of the course around a folder. Raises CourseError where there is no course."""
    return Classroom(find_root(start))
