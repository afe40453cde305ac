"""`nbjudge due` and `nbjudge extend`: deadlines, and the penalties that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from nbjudge.course.configuration import suggestion
from nbjudge.course.dates import read_deadline, read_received, shown
from nbjudge.course.student_change import exclusive_run
from nbjudge.errors import CourseError
from nbjudge.nbgrader_hooks.autograde import SafeCourseDirectory
from nbjudge.nbgrader_hooks.late_policy import (
    Extension,
    LateWork,
    follow_dates,
    own_deadline,
    read_extensions,
    write_extensions,
)
from nbjudge.plain_text import first_few
from nbjudge.submission.files import TIMESTAMP_FILE, is_reached_by_link, write_replacing
from nbjudge.term.assignment import TermAssignment
from nbjudge.term.roster import Student, find_student, find_students, read_roster
from nbjudge.term.tables import show

HEADINGS = ("student", "due", "handed in", "penalty before", "penalty now")
Times = Mapping[str, datetime | None]  # by student, in UTC without a zone
TIMES = ("student", "handed in before", "handed in now")


class Deadlines(TermAssignment):
    """The dates of one assignment."""

    def set_due(self, date: str | None, remove: bool, received: Path | None) -> None:
        """Set or remove the deadline, take over the times of a table, and bring the penalties up to date."""
        due = self.due if date is None else read_deadline(date, self.zone)
        due = None if remove else due
        before, times, sentences = ({}, {}, []) if received is None else self._times_of(received)

        def change(assignment: Any) -> None:
            assignment.duedate = due
            for submission in assignment.submissions:
                submission.timestamp = times.get(submission.student_id, submission.timestamp)

        with exclusive_run(self.folders.root):
            if not self.dry_run:
                for student, time in times.items():
                    folder = self.folders.submitted(student, self.assignment)
                    write_replacing(f"{time} UTC\n".encode(), folder / TIMESTAMP_FILE)
            works = follow_dates(self.config, self.coursedir, change=change, dry_run=self.dry_run)
        rows = [(each, *(shown(of.get(each), self.zone) for of in (before, times))) for each in times]
        show(self.console, (), TIMES, rows)
        moved = f", before {shown(self.due, self.zone)}" if self.due not in (None, due) else ""
        has_date = f"is due {self._in_words(due)}" if due is not None else "has no deadline"
        self._show(works, f"{self.assignment} {has_date}{moved}.", *sentences)

    def extend(self, student: str, until: str | None, days: int | None, remove: bool) -> None:
        """Give a student a deadline of their own, or take it back."""
        if sum((until is not None, days is not None, remove)) != 1:
            raise CourseError("Give one of --until DATE, --days NUMBER and --remove.")
        handed_in = self.folders.students(self.assignment)
        known = {each.id for each in self.students} | set(handed_in)
        if student not in known:
            raise CourseError(f"There is no student {student!r}. {suggestion(student, known)}")
        if self.due is None:
            raise CourseError(
                f"{self.assignment} has no deadline that could be extended: set it with `nbjudge due`."
            )
        extensions = read_extensions(self.folders, self.assignment)
        if remove:
            extensions[student] = Extension()
            own = self.due
        else:
            time = None if until is None else read_deadline(until, self.zone)
            extensions[student] = Extension(time, days or 0)
            own = own_deadline(self.due, extensions[student], self.zone)
            if own <= self.due:
                raise CourseError(
                    f"{self.assignment} is due {shown(self.due, self.zone)}: an extension ends after that."
                )
        with exclusive_run(self.folders.root):
            if not self.dry_run:
                kept = {each: one for each, one in extensions.items() if one != Extension()}
                write_extensions(self.folders, self.assignment, kept)
            works = follow_dates(
                self.config, self.coursedir, student=student, extensions=extensions, dry_run=self.dry_run
            )
        waits = "" if works else " It enters the gradebook with the submission."
        sentence = f"{student}: {self.assignment} is due {self._in_words(own)}."
        self._show(works, sentence + waits)

    def _times_of(self, table: Path) -> tuple[Times, Times, list[str]]:
        """Return the times of submissions that a table changes, before and now, and what it does not say."""
        rows = [row for row in read_roster(table, self.config, ["received"]) if row.received.strip("-")]
        handed_in = self.folders.students(self.assignment)
        known = {each.id: each for each in self.students}
        who = [known.get(each, Student(each)) for each in handed_in]
        # Work may be in a folder named as the platform names the student, whom the gradebook has under an id.
        others = [each for each in self.students if each not in who]
        found: dict[str, Student] = {}
        strangers, ambiguous = [], []
        for row in rows:
            fits = find_students(row, who)
            if not fits and (entry := find_student(row, others)):
                fits = find_students(entry, who) or [entry]
            if len(fits) == 1:
                found[fits[0].id] = row
            elif fits:
                ambiguous.append(f"{_shown(row)} ({', '.join(each.id for each in fits)})")
            else:
                strangers.append(_shown(row))
        coursedir = SafeCourseDirectory.of(self.coursedir, self.coursedir.log)
        before = {
            student: coursedir.get_existing_timestamp(str(self.folders.submitted(student, self.assignment)))
            for student in handed_in
            if not is_reached_by_link(self.folders.submission(student, self.assignment))
        }
        said = {student: self._received(table, row) for student, row in found.items() if student in before}
        times = {student: time for student, time in said.items() if time != before[student]}
        untimed = [student for student, time in before.items() if time is None and student not in said]
        sentences = [f"{len(times)} of {len(handed_in)} submissions get their time from {table}."]
        if kept := len(before) - len(times) - len(untimed):
            sentences.append(f"{kept} keep the time that they have.")
        if untimed:
            sentences.append(f"No time, and so not late: {first_few(untimed)}.")
        if strangers:
            sentences.append(f"In the table, and no student of the gradebook: {first_few(strangers)}.")
        if ambiguous:
            sentences.append(f"In the table, and more than one student: {first_few(ambiguous)}.")
        return before, times, sentences

    def _received(self, table: Path, row: Student) -> datetime:
        try:
            return read_received(row.received, self.zone)
        except CourseError as error:
            raise CourseError(f"{table}, line {row.line} ({_shown(row)}): {error}") from error

    def _in_words(self, time: datetime) -> str:
        return f"{shown(time, self.zone)} ({time:%Y-%m-%d %H:%M} UTC)"

    def _show(self, works: Sequence[LateWork], *sentences: str) -> None:
        rows = [
            (
                work.student,
                shown(work.due, self.zone),
                shown(work.received, self.zone),
                work.before,
                work.after,
            )
            for work in works
        ]
        show(self.console, sentences, HEADINGS, rows, self.dry_run)


def _shown(row: Student) -> str:
    return row.id or row.email or row.name
