"""`nbjudge student`: another id, two ids that are one student, and a platform's table of students."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from nbgrader.api import Gradebook
from rich.console import Console
from traitlets.config import Config

from nbjudge.course.configuration import read_config, suggestion
from nbjudge.course.folders import CourseFolders, find_root, invalid_id_reason, read_folders
from nbjudge.course.gradebook import course_directory
from nbjudge.course.student_change import (
    EARLIER_IDS,
    SEEDS,
    StudentChange,
    begin_change,
    exclusive_run,
    read_earlier_ids,
    read_seeds,
)
from nbjudge.errors import CourseError, ExitStatus
from nbjudge.grading.regrades import read_decisions
from nbjudge.nbgrader_hooks.late_policy import read_extensions
from nbjudge.plain_text import first_few
from nbjudge.term.roster import Student, find_student, read_roster, students_of
from nbjudge.term.tables import show

CONFLICT = (
    "Both have work in {assignments}: nothing was changed. Remove what does not count of one of them, and "
    "type the command again."
)


class Class:
    """The students of the course around a folder, in its folders and its gradebook."""

    def __init__(self, start: Path, console: Console, dry_run: bool) -> None:
        self.folders: CourseFolders = read_folders(find_root(start))
        self.root = self.folders.root
        self.config: Config = read_config(self.root)
        self.console, self.dry_run = console, dry_run

    def rename(self, old: str, new: str) -> ExitStatus:
        """Give a student another id, which no one has."""
        reason = invalid_id_reason(new)
        if reason or "/" in new or new in ("", ".", ".."):
            raise CourseError(f"{new!r} cannot be a student's id." if reason is None else reason)
        if self._described(new):
            raise CourseError(f"There is a student {new!r} already: `nbjudge student merge` makes them one.")
        return self._change(old, new)

    def merge(self, old: str, new: str) -> ExitStatus:
        """Give a student's work to another one."""
        if not self._described(new) or old == new:
            raise CourseError(f"There is no other student {new!r}: `nbjudge student rename` makes a new id.")
        return self._change(old, new)

    def import_roster(self, table: Path) -> None:
        """Enter the students of a table into the gradebook, and what it says of them."""
        rows = read_roster(table, self.config, ["id"])
        changes, others, merged = [], [], []
        earlier, ids = read_earlier_ids(self.root), {row.id for row in rows}
        with exclusive_run(self.root), self._gradebook() as gradebook:
            there = {each.id: each for each in students_of(gradebook)}
            for row in (row for row in rows if row.id):
                if row.id in earlier and row.id not in there:
                    if earlier[row.id] in ids:
                        merged.append(row.id)
                        continue
                    row = replace(row, id=earlier[row.id])
                same = find_student(row, there.values()) or Student(row.id)
                if same.id != row.id:
                    others.append(f"nbjudge student rename {shlex.quote(same.id)} {shlex.quote(row.id)}")
                    continue
                old = same.fields()
                new = {name: value for name, value in row.fields().items() if value not in ("", old[name])}
                if new or row.id not in there:
                    said = ", ".join(f"{name}: {value}" for name, value in new.items())
                    changes.append((row.id, "changed" if row.id in there else "new", said))
                    if not self.dry_run:
                        gradebook.update_or_create_student(row.id, **new)
        nameless = [row.email or row.name for row in rows if not row.id and (row.email or row.lms_user_id)]
        sentences = [f"{len(changes)} of {len(rows)} students in {table} are new or changed."]
        if nameless:
            sentences.append(f"Without an id, and left out: {first_few(nameless)}.")
        if merged:
            sentences.append(f"Merged with another student of the table, and left out: {first_few(merged)}.")
        if others:
            sentences.append(f"Students with another id so far, left out until you type {first_few(others)}.")
        show(self.console, sentences, ("student", "is", "fields"), changes, self.dry_run)

    def _change(self, old: str, new: str) -> ExitStatus:
        with exclusive_run(self.root):
            of_old, of_new = self._described(old), self._described(new)
            if not of_old:
                raise CourseError(f"There is no student {old!r}. {suggestion(old, self._known())}")
            both = sorted(name for name in of_old.keys() & of_new.keys() if name)
            if both:
                sides = [(name, ", ".join(of_old[name]), ", ".join(of_new[name])) for name in both]
                sentence = CONFLICT.format(assignments=", ".join(both))
                show(self.console, [sentence], ("assignment", old, new), sides)
                return ExitStatus.PROBLEM
            if not self.dry_run:
                begin_change(self.root, self._plan(old, new, [name for name in of_old if name]))
        verb = "would become" if self.dry_run else "is now"
        rows = [(name or "(the student)", ", ".join(what)) for name, what in sorted(of_old.items())]
        show(
            self.console, [f"{old} {verb} {new}."], ("assignment", f"from {old} to {new}"), rows, self.dry_run
        )
        return ExitStatus.SUCCESS

    def _described(self, student: str) -> dict[str, list[str]]:
        """By assignment what there is of a student; under "" the entry of the gradebook itself."""
        found: dict[str, list[str]] = {}
        for step, folders in self.folders.of_student(student).items():
            for assignment in folders:
                found.setdefault(assignment, []).append(f"{step}/")
        with self._gradebook() as gradebook:
            for each in (each for each in students_of(gradebook) if each.id == student):
                found[""] = ["gradebook", *filter(None, each.fields().values())]
                for submission in gradebook.student_submissions(student):
                    when = f", handed in {submission.timestamp} UTC" if submission.timestamp else ""
                    found.setdefault(submission.name, []).append(
                        f"{submission.score:g} of {submission.max_score:g} points{when}"
                    )
        for assignment, what, students in self._decided():
            if student in students:
                found.setdefault(assignment, []).append(what)
        return found

    def _decided(self) -> Iterator[tuple[str, str, set[str]]]:
        """Yield which students are named in the files of decisions and extensions."""
        for file in self.root.glob(f"{self.folders.decisions('x').parent.name}/*.json"):
            decisions = read_decisions(self.folders, file.stem)
            yield file.stem, "a decision on points", {each.student for each in decisions}
        for file in self.root.glob(f"{self.folders.extensions('x').parent.name}/*.json"):
            yield file.stem, "an extension", set(read_extensions(self.folders, file.stem))

    def _plan(self, old: str, new: str, assignments: list[str]) -> StudentChange:
        moves = [
            (str(folder), str(self.folders.at(step, new, assignment)))
            for step, folders in self.folders.of_student(old).items()
            for assignment, folder in folders.items()
        ]
        seeds, files = read_seeds(self.root), {}
        for assignment in assignments:
            own = seeds.setdefault(assignment, {})
            own[new] = own.pop(old, old)
            decisions = read_decisions(self.folders, assignment)
            if any(each.student == old for each in decisions):
                renamed = [replace(each, student=new) if each.student == old else each for each in decisions]
                files[str(self.folders.decisions(assignment))] = _json(renamed)
            extensions = read_extensions(self.folders, assignment)
            if old in extensions:
                extensions[new] = extensions.pop(old)
                files[str(self.folders.extensions(assignment))] = _json(extensions)
        earlier = {each: new if now == old else now for each, now in read_earlier_ids(self.root).items()}
        earlier = {each: now for each, now in (earlier | {old: new}).items() if each != now}
        return StudentChange(old, new, moves, files | {SEEDS: _json(seeds), EARLIER_IDS: _json(earlier)})

    def _known(self) -> set[str]:
        with self._gradebook() as gradebook:
            known = {each.id for each in students_of(gradebook)}
        return known.union(*(self.folders.students(each) for each in self.folders.assignments()))

    def _gradebook(self) -> Gradebook:
        coursedir: Any = course_directory(self.root, self.config)
        return Gradebook(coursedir.db_url, coursedir.course_id)


def _json(content: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(content)).decode() + "\n"
