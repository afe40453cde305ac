"""`nbjudge return`: the feedback pages of a class, named as a platform takes them.

Moodle finds a student by the number in a folder's name, Canvas by its numbers of student and submitted file
in a file's name. Both are in the names of the archive that was collected. How Canvas reads them:
https://github.com/instructure/canvas-lms/blob/master/app/models/abstract_assignment.rb
(`infer_comment_context_from_filename`)
"""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from nbgrader.apps import ZipCollectApp

from nbjudge.atomic_files import write_atomically
from nbjudge.csv_files import CsvFormat, identifier
from nbjudge.errors import CourseError
from nbjudge.exports.learning_platform import grade_of, round_score
from nbjudge.nbgrader_hooks.late_policy import follow_marks
from nbjudge.plain_text import first_few
from nbjudge.record.grades import is_outdated, read_grades
from nbjudge.term.assignment import TermAssignment
from nbjudge.term.tables import show

NAMINGS = ("moodle", "canvas", "folders", "mail-merge")
MAIL_HEADINGS = ("Email", "First name", "Last name", "Points", "Of", "Attachment")
NO_PAGES = "There are no feedback pages of {name}: make them with `nbgrader generate_feedback {name}`."
OLD_PAGES = (
    "Nothing was written: the pages of {students} are older than their grades. `nbgrader generate_feedback "
    "{name}` makes them again."
)
NO_ARCHIVE = (
    "{folder} holds no archive of {naming}'s, whose names say where feedback goes: collect it with `nbgrader "
    "zip_collect {name}`, or use --folders."
)
STRANGERS = (
    "No student with a page ({students}) is in the archive that was collected: enter names and numbers as "
    "the platform has them, with `nbjudge student import`."
)
Places = dict[str, dict[str, str]]  # by student: where feedback goes, by the file that was handed in


class Feedback(TermAssignment):
    """The feedback pages of an assignment."""

    def write(self, naming: str, output: Path | None) -> None:
        """Write the zip of all pages that are there.

        Raises CourseError where there are none, where one is older than its grades, and where the names of
        the archive are needed and missing.
        """
        pages = self._pages()
        if naming in ("moodle", "canvas"):
            names, left_out = self._names_for_platform(naming, pages)
        else:
            names = {page: f"{student}/{page.name}" for student, own in pages.items() for page in own}
            left_out = []
        sentences = [f"Not in the archive that was collected: {first_few(left_out)}."] if left_out else []
        files = {name: page.read_bytes() for page, name in names.items()}
        if naming == "mail-merge":
            files["mail.csv"], without = self._mail(pages, names)
            if without:
                sentences.append(f"Without an e-mail address, and not in mail.csv: {first_few(without)}.")
        graded = {student for student, _ in read_grades(self.coursedir.db_url, self.assignment)}
        if missing := sorted(graded - set(pages)):
            sentences.append(f"Without a page: {first_few(missing)}.")
        file = output or self.folders.root / "returned" / f"{self.assignment}-{naming}.zip"
        if not self.dry_run:
            _write_zip(file, files)
            sentences.append(f"Written: {file}")
        rows = [(student, names[page]) for student, own in pages.items() for page in own if page in names]
        show(self.console, sentences, ("student", "in the zip"), rows, self.dry_run)

    def _pages(self) -> dict[str, list[Path]]:
        """The pages by student."""
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as gradebook:
            changed = follow_marks(self.config, gradebook, self.assignment, dry_run=self.dry_run)
        grades = read_grades(self.coursedir.db_url, self.assignment)
        pages: dict[str, list[Path]] = {}
        old = []
        for student, notebook in sorted(grades):
            page = self.folders.feedback(student, self.assignment) / f"{notebook}.html"
            is_old = is_outdated(self.folders, student, self.assignment, notebook, grades)
            if page.is_file() and (is_old or student in changed):
                old.append(student)
            elif page.is_file():
                pages.setdefault(student, []).append(page)
        if old:
            students = first_few(list(dict.fromkeys(old)))
            raise CourseError(OLD_PAGES.format(students=students, name=self.assignment))
        if not pages:
            raise CourseError(NO_PAGES.format(name=self.assignment))
        return pages

    def _names_for_platform(
        self, naming: str, pages: dict[str, list[Path]]
    ) -> tuple[dict[Path, str], list[str]]:
        """Name the pages in the zip, and the students who are not in the archive."""
        places, folder = self._places(naming)
        if not places:
            sentence = NO_ARCHIVE.format(folder=folder, naming=naming.title(), name=self.assignment)
            raise CourseError(sentence)
        names, left_out = {}, []
        for student, own in pages.items():
            found = places.get(student)
            if found is None:
                left_out.append(student)
                continue
            for page in own:
                place = found.get(f"{page.stem}.ipynb") or next(iter(found.values()))
                names[page] = f"{place}{page.name}"
        if not names:
            raise CourseError(STRANGERS.format(students=first_few(left_out)))
        return names, left_out

    def _places(self, naming: str) -> tuple[Places, str]:
        """Where feedback goes, from the names of the files that were collected; and their folder."""
        command: Any = ZipCollectApp(config=self.config)
        command.coursedir, command.log_level = self.coursedir, "ERROR"
        command.init_plugins()
        folder = command._format_collect_path(command.extracted_directory)
        places: Places = {}
        for path in sorted(os.path.join(top, name) for top, _, names in os.walk(folder) for name in names):
            found = command.collector_plugin_inst.collect(path) or {}
            place = str(found.get("feedback", ""))
            if place and place.endswith("/") == (naming == "moodle"):
                places.setdefault(found["student_id"], {}).setdefault(found["file_id"], place)
        return places, folder

    def _mail(self, pages: dict[str, list[Path]], names: dict[Path, str]) -> tuple[bytes, list[str]]:
        """The table of a mail merge, and who is not in it."""
        rows: list[list[Any]] = [list(MAIL_HEADINGS)]
        students = {each.id: each for each in self.students}
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as gradebook:
            points = float(gradebook.find_assignment(self.assignment).max_score)
            for student in (each for each in pages if students[each].email):
                score = grade_of(gradebook, self.assignment, student, with_unmarked=True).score
                about = students[student]
                attached = [names[page] for page in pages[student]]
                row = [identifier(about.email), about.first_name, about.last_name]
                rows.append([*row, round_score(score or 0.0), round_score(points), attached])
        without = [student for student in pages if not students[student].email]
        return CsvFormat(config=self.config).text(rows).encode("utf-8", "replace"), without


def _write_zip(file: Path, files: dict[str, bytes]) -> None:
    """Write a zip that is the same for the same files. Raises CourseError where that fails."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, content.getvalue())
    except OSError as error:
        raise CourseError(
            f"{file} cannot be written ({error.strerror}): name another file with --output."
        ) from error
