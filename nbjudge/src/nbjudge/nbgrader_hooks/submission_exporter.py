"""The exporter with which nbgrader's `Autograde` reads submissions; it warns of files that are hard links."""

from __future__ import annotations

import json
import logging
import stat
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import nbformat
from nbconvert.exporters import NotebookExporter
from nbconvert.exporters.exporter import Exporter, ResourcesDict
from nbformat.v4.rwbase import split_lines, strip_transient
from traitlets import Bool
from traitlets.log import get_logger

from nbjudge.course.assignment_forms import answer_cells
from nbjudge.course.course import Assignment
from nbjudge.course.folders import CourseFolders, folders_of
from nbjudge.errors import CourseError
from nbjudge.nbgrader_hooks import hooks
from nbjudge.nbgrader_hooks.preprocessors import assignment_of, template_of
from nbjudge.plain_text import keep_plain, plain_line, shown_name
from nbjudge.submission.files import Entry, Folder, entries, plain_file_names
from nbjudge.submission.folder import (
    OUT_OF_REACH,
    OutOfReachError,
    SubmissionFolder,
    files_beside,
    read_handed_in,
)
from nbjudge.submission.read_submission import read_submission

NO_NOTEBOOKS = "No notebooks were matched by"
SEARCHED_AT_THE_TOP = (
    "nbgrader looks for notebooks at the top of a submission's folder only: `nbjudge grade` also grades a "
    "submission in a subfolder, under another file name, or behind a link."
)
Inode = tuple[int, int]


class NamesOtherCommand(logging.Filter):
    """Add to nbgrader's error that it found no notebook which command grades such submissions.

    nbgrader searches before it makes its exporter, and exits; it has no setting for this.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if record.levelno == logging.ERROR and message.startswith(NO_NOTEBOOKS):
            record.msg, record.args = f"{message}. {SEARCHED_AT_THE_TOP}", None
        return True


# nbgrader searches for submissions, and logs the names of files, before it makes the exporter.
LOG: Any = get_logger()
keep_plain(LOG)
LOG.addFilter(NamesOtherCommand())


class SubmissionExporter(NotebookExporter):
    """Read submissions in any state, including those that stock nbgrader passes over.

    For `Autograde.exporter_class`. A submission without the assignment's notebook is graded too: the notebook
    may have another name, and if there is none the student is told so.

    Attributes
    ----------
    handed_in
        The submission that is being graded.
    files_beside
        Its files that are put beside the notebook while it runs.
    logged_warnings
        Warnings about the assignment that are already in the log.
    """

    handed_in: SubmissionFolder
    files_beside: dict[str, bytes]
    # nbconvert validates a notebook after the last preprocessor, not after each one.
    optimistic_validation = Bool(True).tag(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        keep_plain(self.log)
        self.logged_warnings: set[str] = set()
        converter: Any = self.parent
        hooks.copy_no_extra_files(converter)
        hooks.hide_links(converter.coursedir)
        hooks.take_back_ungraded(converter)
        hooks.prepare_run(converter, self.config)
        # When a whole class is graded at once, the exporters of its submissions share one object.
        shared: Any = getattr(converter, "shared_files", None)
        coursedir = converter.coursedir
        self._shared_files = shared or SharedFiles(folders_of(coursedir), coursedir.assignment_id)

    def from_filename(self, filename: str, resources: Any = None, **kwargs: Any) -> Any:
        try:
            with hooks.exit_on_write_error(Path(filename)):
                return self._from_filename(filename, resources, **kwargs)
        except OutOfReachError as error:
            raise CourseError(OUT_OF_REACH.format(filename, error)) from error

    def from_notebook_node(self, nb: Any, resources: Any = None, **kwargs: Any) -> Any:
        """As nbconvert does it, without a second check and a second copy of the notebook."""
        if self.nbformat_version != nb.nbformat:
            return super().from_notebook_node(nb, resources, **kwargs)
        notebook, resources = Exporter.from_notebook_node(self, nb, resources, **kwargs)
        resources["output_suffix"] = ".nbconvert"
        return notebook_file(notebook), resources

    def _from_filename(self, filename: str, resources: Any, **kwargs: Any) -> Any:
        converter: Any = self.parent
        coursedir = converter.coursedir
        about = resources["nbgrader"]
        if Path(filename).parent != folders_of(coursedir).submitted(about["student"], about["assignment"]):
            return super().from_filename(filename, resources=resources, **kwargs)
        hooks.refuse_unwritable(coursedir, f"Grading stopped before {about['student']}.")
        self._read(assignment_of(coursedir, about), resources)
        resources["metadata"] = ResourcesDict(name=Path(filename).stem, path=str(Path(filename).parent))
        return self.from_notebook_node(nbformat.v4.new_notebook(), resources=resources, **kwargs)

    def _read(self, assignment: Assignment, resources: Any) -> None:
        """Read a submission once: the digest is recorded of the very content that is graded."""
        converter: Any = self.parent
        about, name = resources["nbgrader"], f"{assignment.name}.ipynb"
        names = [f"{each.name}.ipynb" for each in assignment.course.assignments_in(assignment.folder)]
        folder = folders_of(converter.coursedir).submission(about["student"], about["assignment"])
        try:
            handed_in = read_handed_in(folder, names)
        except OSError as error:
            raise OutOfReachError(f"{error.strerror}") from error
        answers = answer_cells(template_of(assignment, self.config))
        submission = read_submission(handed_in, name, answers, names)
        protected = converter.exclude_overwriting.get(about["assignment"], [])
        given = set(plain_file_names(assignment.source_path.parent)) - set(protected)
        self.files_beside, note = files_beside(handed_in, submission.path, given)
        self.handed_in = replace(handed_in, notebooks={})  # whose outputs may be large
        remark = self._shared_files.warning(about["student"], handed_in)
        resources["nbjudge_record"] = {"digest": handed_in.digest, "remark": remark}
        resources["nbjudge_submission"] = replace(submission, note=f"{submission.note} {note}".strip())


def notebook_file(notebook: Any) -> str:
    """Return the text of a valid notebook's file, as nbformat writes it. The notebook is changed."""
    content = strip_transient(split_lines(notebook))
    form: dict[str, Any] = {"ensure_ascii": False, "sort_keys": True}
    try:
        text = msgspec.json.format(json.dumps(content, **form).encode(), indent=1).decode()
    except (UnicodeEncodeError, msgspec.DecodeError):  # half a character, or NaN, which JSON does not have
        text = json.dumps(content, indent=1, separators=(",", ": "), **form)
    return f"{text}\n"


class SharedFiles:
    """Files of a submission that are hard links to a file in another submission or in the course.

    No archive can hold such a link, but a student with an account on the machine can make one. The files are
    graded, because a file system that stores equal files once has such links too; the person who grades
    gets a warning.
    """

    def __init__(self, folders: CourseFolders, assignment: str) -> None:
        self._folders, self._assignment = folders, assignment

    def warning(self, student: str, handed_in: SubmissionFolder) -> str:
        """Name the first shared file of a submission in a sentence; empty if it has none."""
        linked = list(_linked(handed_in.entries))
        inside = Counter(_inode(entry) for entry in linked)
        for entry in linked:
            if entry.about.st_nlink > inside[_inode(entry)]:
                others = sorted(self._owners.get(_inode(entry), set()) - {_of_student(student)})
                if others:
                    return f"{shown_name(entry.path)} is a hard link to a file of {', '.join(others[:3])}."
        return ""

    @cached_property
    def _owners(self) -> dict[Inode, set[str]]:
        """The owners of each file with several names; computed once per run, when it is first needed."""
        folders, assignment = self._folders, self._assignment
        places = {
            _of_student(student): folders.submission(student, assignment)
            for student in folders.students(assignment)
        }
        places |= {
            f"{path.name}/{assignment}": Folder(path / assignment)
            for path in (folders.source, folders.solution)
        }
        owners = defaultdict(set)
        for owner, place in places.items():
            with suppress(OSError):
                for entry in _linked(entries(place)):
                    owners[_inode(entry)].add(owner)
        return owners


def _linked(found: Iterable[Entry]) -> Iterable[Entry]:
    return (entry for entry in found if stat.S_ISREG(entry.about.st_mode) and entry.about.st_nlink > 1)


def _inode(entry: Entry) -> Inode:
    return entry.about.st_dev, entry.about.st_ino


def _of_student(student: str) -> str:
    return f"the student {plain_line(student)}"
