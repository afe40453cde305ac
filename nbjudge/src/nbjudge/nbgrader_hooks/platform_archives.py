"""`nbgrader zip_collect` of the archives that Moodle, Canvas and Blackboard make of all submissions."""

from __future__ import annotations

import os
import re
from functools import cached_property
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.plugins import FileNameCollectorPlugin

from nbjudge.course.folders import folders_of

# Both may be in a folder where the archive was unpacked by hand.
# Ada Lovelace_4711_assignsubmission_file_/week1.ipynb: a number of this assignment's. Without folders, the
# file follows on the last underscore.
MOODLE = re.compile(r"(?:[^/]+/)??(?P<name>[^/]+)_(?P<number>\d+)_assignsubmission_file(?:_?/|_)(?P<file>.+)")
# lovelaceada_LATE_101_4711_week1.ipynb: Canvas's number of the student, and one of the file.
CANVAS = re.compile(r"(?:[^/]+/)??(?:[^/]+?_)??(?P<late>LATE_)?(?P<number>\d+|anon_[^\W_]+)_\d+_(?P<file>.+)")
# Week 1_ada_attempt_2026-11-21-09-30-00_week1.ipynb: Blackboard's name of the student, and the time.
BLACKBOARD = re.compile(
    r"(?:[^/]+/)??[^/]+_(?P<student_id>[^/_]+)_attempt_(?P<timestamp>\d{4}(?:-\d\d){5})_(?P<file_id>.+)"
)
# nbgrader's reader takes 09-30-00, the form that its own documentation has, for 09:00 and a time zone.
TIME = re.compile(r"(\d{4}-\d\d-\d\d)[-_ T](\d\d)[-_.:](\d\d)[-_.:](\d\d)(?!\d)")
LATE = (
    "%s: Canvas marks this submission as late. Its archive has no times: enter a penalty in the formgrader."
)
NAMESAKE = "Two submissions have the name %r: one is collected as %r, the other as %r. See which is whose."


class PlatformArchives(FileNameCollectorPlugin):  # type: ignore[misc]
    """Finds whose a file of such an archive is: for `ZipCollectApp.collector_plugin`.

    A student is found in the gradebook by Canvas's number (`lms_user_id`) or by the full name in Moodle. One
    who is not there gets the number or the name as id; Blackboard has names of users. A course that sets
    `named_regexp` has its own way. A time in a file's name is UTC, unless it names another zone.
    """

    parent: Any  # nbgrader's command

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._in_moodle: dict[tuple[str, str], str] = {}  # students' ids by name and number
        self._late: set[str] = set()

    def collect(self, submitted_file: str) -> dict[str, str] | None:
        """Tell nbgrader the student, the name and perhaps the time of a file; None for no submission."""
        found: dict[str, str] | None = (
            super().collect(submitted_file) if self.named_regexp else self._found(submitted_file)
        )
        if found and found.get("timestamp"):
            found["timestamp"] = TIME.sub(r"\1 \2:\3:\4", found["timestamp"])
        return found

    def _found(self, submitted_file: str) -> dict[str, str] | None:
        if os.path.splitext(submitted_file)[1] in self.parent.extractor_plugin_inst.zip_ext:
            return None  # nbgrader has unpacked it beside
        archives, extracted = map(
            self.parent._format_collect_path,
            (self.parent.archive_directory, self.parent.extracted_directory),
        )
        path = os.path.relpath(submitted_file, extracted)
        folder, _, within = path.partition("/")
        if within and not os.path.exists(os.path.join(archives, folder)):  # named after the archive
            path = within
        match = MOODLE.match(path)
        if match is not None:
            return {"student_id": self._named(match["name"], match["number"]), "file_id": match["file"]}
        match = BLACKBOARD.match(path)
        if match is not None:
            return match.groupdict()
        match = CANVAS.match(path)
        if match is None:
            return None
        student = self._by_number.get(match["number"], match["number"])
        if match["late"] and student not in self._late:
            self._late.add(student)
            self.log.warning(LATE, student)
        return {"student_id": student, "file_id": self._released_name(match["file"])}

    def _named(self, name: str, number: str) -> str:
        if (name, number) not in self._in_moodle:
            found = self._by_name.get(_plain(name), [])
            student = found[0] if len(found) == 1 else name
            if student in self._in_moodle.values():
                self.log.warning(NAMESAKE, name, student, f"{name} {number}")
                student = f"{name} {number}"
            self._in_moodle[name, number] = student
        return self._in_moodle[name, number]

    def _released_name(self, file: str) -> str:
        """The file's name without the `-1` that Canvas appends to a file that is handed in again."""
        coursedir = self.parent.coursedir
        without = re.sub(r"-\d+(?=\.[^./]+$)", "", file)
        names = folders_of(coursedir).notebook_names(coursedir.assignment_id)
        return without if file not in names and without in names else file

    @cached_property
    def _students(self) -> list[Any]:
        with Gradebook(self.parent.coursedir.db_url, self.parent.coursedir.course_id) as gradebook:
            return [
                (student.id, student.first_name, student.last_name, student.lms_user_id)
                for student in gradebook.students
            ]

    @cached_property
    def _by_number(self) -> dict[str, str]:
        return {str(number).strip(): student for student, _, _, number in self._students if number}

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for student, first, last, _ in self._students:
            if first and last:  # Moodle's site settings order them
                for name in {_plain(f"{first} {last}"), _plain(f"{last} {first}")}:
                    found.setdefault(name, []).append(student)
        return found


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold()
