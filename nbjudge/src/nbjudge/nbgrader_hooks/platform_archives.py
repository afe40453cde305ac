"""`nbgrader zip_collect` of the archives that Moodle, Canvas and Blackboard make of all submissions."""

from __future__ import annotations

import os
import re
from functools import cached_property
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.plugins import FileNameCollectorPlugin

from nbjudge.course.dates import course_zone, read_received
from nbjudge.course.folders import folders_of
from nbjudge.course.student_change import read_earlier_ids
from nbjudge.errors import stop_on_course_error
from nbjudge.submission.files import TIMESTAMP_FILE

# Both may be in a folder where the archive was unpacked by hand.
# Ada Lovelace_4711_assignsubmission_file_/week1.ipynb: a number of this assignment's. Without folders, the
# file follows on the last underscore.
MOODLE = re.compile(r"(?:[^/]+/)??(?P<name>[^/]+)_(?P<number>\d+)_assignsubmission_file(?:_?/|_)(?P<file>.+)")
# lovelaceada_LATE_101_4711_week1.ipynb: Canvas's number of the student, and one of the file.
CANVAS = re.compile(r"(?:[^/]+/)??(?:[^/]+?_)??(?P<late>LATE_)?(?P<number>\d+|anon_[^\W_]+)_\d+_(?P<file>.+)")
# ps1_lovelaceada_attempt_2026-11-21-09-30-00_week1.ipynb: Blackboard's, with the time in the course's zone.
BLACKBOARD = re.compile(r"(?:[^/]+/)??(?P<student>[^/]+)_attempt_(?P<timestamp>[\d-]{19})_(?P<file>.+)")
LATE = (
    "%s: Canvas marks this submission as late. Its archive has no times: give them with "
    "`nbjudge due %s --received TABLE`."
)
TWO_FILES = "%s handed in two files that Canvas may have renamed from %r: the second is kept as %r."
# The folder in which Moodle looks for a student's feedback files; a name with an underscore would hide it:
# https://github.com/moodle/moodle/blob/main/mod/assign/feedback/file/importziplib.php
MOODLE_FEEDBACK = "{}_{}_assignfeedback_file_/"
NAMESAKE = "Two submissions have the name %r: one is collected as %r, the other as %r. See which is whose."


class PlatformArchives(FileNameCollectorPlugin):  # type: ignore[misc]
    """Finds whose a file of a platform's archive is: for `ZipCollectApp.collector_plugin`.

    A student is found in the gradebook by Canvas's number (`lms_user_id`), by the full name in Moodle, or by
    Blackboard's user name. One who is not there gets the number or the name as id; an id that has been
    replaced (`nbjudge student rename`, `merge`) is the one that replaced it. A course that sets
    `named_regexp` has its own way.
    """

    parent: Any  # nbgrader's command

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._in_moodle: dict[tuple[str, str], str] = {}  # students' ids by name and number
        self._late: set[str] = set()
        self._released: dict[tuple[str, str], str] = {}  # paths by student and name

    def collect(self, submitted_file: str) -> dict[str, Any] | None:
        """Tell nbgrader the student and the name of a file; None where it is no submission."""
        if self.named_regexp:
            own = super().collect(submitted_file)
            return self._with_time(own and own | {"student_id": self._current(own["student_id"])})
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
        if os.path.basename(path) == TIMESTAMP_FILE:
            return None  # nbgrader would believe a student's own
        match = BLACKBOARD.fullmatch(path)
        if match is not None:
            student = self._current(self._behind_title(match["student"]))
            found = {"student_id": student, "file_id": match["file"], "timestamp": match["timestamp"]}
            return self._with_time(found)
        match = MOODLE.match(path)
        if match is not None:
            student = self._named(match["name"], match["number"])
            place = MOODLE_FEEDBACK.format(match["name"].replace("_", " "), match["number"])
            return {"student_id": student, "file_id": match["file"], "feedback": place}
        match = CANVAS.match(path)
        if match is None:
            return None
        student = self._current(self._by_number.get(match["number"], match["number"]))
        if match["late"] and student not in self._late:
            self._late.add(student)
            self.log.warning(LATE, student, self.parent.coursedir.assignment_id)
        beginning = path[: match.start("file")].rpartition("/")[2]
        file = self._released_name(student, match["file"], submitted_file)
        return {"student_id": student, "file_id": file, "feedback": beginning}

    def _with_time(self, found: dict[str, Any] | None) -> dict[str, Any] | None:
        """Read the time of a file's name in the course's zone, before nbgrader reads it."""
        if found and found.get("timestamp"):
            with stop_on_course_error("Nothing was collected."):
                found["timestamp"] = read_received(found["timestamp"], course_zone(self.parent.config))
        return found

    def _current(self, student: str) -> str:
        """The id that has replaced one, which no other student has got since."""
        is_there = any(student == each for each, *_ in self._students)
        return student if is_there else self._replaced.get(student, student)

    def _behind_title(self, words: str) -> str:
        """The student in `Week_1_mary_ann`: the longest id that is known, or what follows the underscores."""
        known = [student for student, *_ in self._students if f"_{words}".endswith(f"_{student}")]
        return max(known, key=len, default=words.rpartition("_")[2])

    def _named(self, name: str, number: str) -> str:
        if (name, number) not in self._in_moodle:
            found = self._by_name.get(_plain(name), [])
            student = self._current(found[0] if len(found) == 1 else name)
            if student in self._in_moodle.values():
                self.log.warning(NAMESAKE, name, student, f"{name} {number}")
                student = f"{name} {number}"
            self._in_moodle[name, number] = student
        return self._in_moodle[name, number]

    def _released_name(self, student: str, file: str, path: str) -> str:
        """The file's name without the `-1` that Canvas appends to a file that is handed in again.

        Where a student handed in two files that would have one name then, the second keeps its own.
        """
        coursedir = self.parent.coursedir
        without = re.sub(r"-\d+(?=\.[^./]+$)", "", file)
        names = folders_of(coursedir).notebook_names(coursedir.assignment_id)
        name = without if file not in names and without in names else file
        if self._released.setdefault((student, name), path) == path:
            return name
        self.log.warning(TWO_FILES, student, name, file)
        return file if file != name else f"{os.path.splitext(file)[0]} (2){os.path.splitext(file)[1]}"

    @cached_property
    def _students(self) -> list[Any]:
        with Gradebook(self.parent.coursedir.db_url, self.parent.coursedir.course_id) as gradebook:
            return [
                (student.id, student.first_name, student.last_name, student.lms_user_id)
                for student in gradebook.students
            ]

    @cached_property
    def _replaced(self) -> dict[str, str]:
        with stop_on_course_error("Nothing was collected."):
            return read_earlier_ids(Path(self.parent.coursedir.root))

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
