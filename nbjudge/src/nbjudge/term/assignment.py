"""An assignment as the commands of a term need it: course, gradebook, dates and students."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from nbgrader.api import Gradebook
from rich.console import Console
from traitlets.config import Config

from nbjudge.batch.changed_submissions import assignment_name
from nbjudge.course.configuration import read_config
from nbjudge.course.dates import course_zone
from nbjudge.course.folders import CourseFolders, find_root, read_folders
from nbjudge.course.gradebook import course_directory, not_generated_reason
from nbjudge.errors import CourseError
from nbjudge.term.roster import Student, students_of


class TermAssignment:
    """One assignment of the course around a folder, with what its gradebook says.

    Raises CourseError where there is no such assignment, or the gradebook does not have it.
    """

    def __init__(self, start: Path, assignment: str, console: Console, dry_run: bool) -> None:
        self.folders: CourseFolders = read_folders(find_root(start))
        self.config: Config = read_config(self.folders.root)
        self.assignment = assignment_name(self.folders, assignment)
        reason = not_generated_reason(self.folders, self.assignment, self.config)
        if reason is not None:
            raise CourseError(reason)
        self.coursedir: Any = course_directory(self.folders.root, self.config)
        self.coursedir.assignment_id = self.assignment
        self.zone: ZoneInfo = course_zone(self.config)
        self.console, self.dry_run = console, dry_run
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as gradebook:
            self.due: datetime | None = gradebook.find_assignment(self.assignment).duedate
            self.students: list[Student] = students_of(gradebook)
