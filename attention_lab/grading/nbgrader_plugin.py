"""Where the grader meets nbgrader: an exporter and two preprocessors, named in `nbgrader_config.py`."""

from __future__ import annotations

import copy
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets.config import Config
from traitlets.log import get_logger

from attention_lab.errors import CourseError
from attention_lab.grading import grade as grading
from attention_lab.grading import timestamps
from attention_lab.grading.course import Lesson, read_notebook
from attention_lab.grading.files import (
    ALL_EXTRA_FILES,
    copy_plain_files,
    read_plain_file,
    read_plain_files,
    write_over,
)
from attention_lab.grading.forms import graded
from attention_lab.grading.handed_in import why_no_id
from attention_lab.grading.interrupted import HALF_GRADED, forget_half_graded
from attention_lab.grading.kernel_process import World
from attention_lab.grading.notebook_file import OutOfReach
from attention_lab.grading.places import (
    answer_ids,
    autograded_folder,
    chosen_students,
    course_of,
    lesson_of,
    submitted_folder,
)
from attention_lab.grading.plain_text import as_html, keep_plain
from attention_lab.grading.rebuild import rebuild
from attention_lab.grading.sandbox.warm_interpreter import warm_interpreter
from attention_lab.grading.seeds import submission_seed
from attention_lab.grading.settings import JudgingSettings
from attention_lab.grading.storage import KEPT, CarefulWriter, refuse_without_room, said_in_one_sentence
from attention_lab.grading.submission import Submission, read_submission
from attention_lab.grading.timestamps import carefully
from attention_lab.grading.unit import NoKernelStarts, Unit, as_notebook, as_text, do

EXCHANGE_SECRET = "submission_secret.txt"  # nbgrader's name for it
OUT_OF_REACH = (
    "{} was not graded, as it cannot be read ({}): make it readable and run the same command again."
)
NOTICE = "<p><strong>From the grader:</strong> {}</p>"
keep_plain(get_logger())  # before nbgrader has looked for a class, and says whose folders it found
_FORMS: dict[Path, tuple[tuple[int, str], NotebookNode]] = {}  # by source notebook


class SubmissionExporter(NotebookExporter):
    """Reads submissions whatever state they are in, and finds those that stock nbgrader passes over.

    For `Autograde.exporter_class`. A folder without the lesson's notebook is graded too: the
    notebook may have another name, and where there is none the student is told so.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._include_every_folder()

    def _include_every_folder(self) -> None:
        converter: Any = self.parent
        coursedir = converter.coursedir
        keep_plain(self.log)
        # A student's files, and links above all, have no business beside the graded notebooks:
        # nbgrader copies none of them, and the kernel's work folder gets the plain ones.
        # (In a copy: the formgrader keeps one course directory for all that it does.)
        coursedir = converter.coursedir = copy.copy(coursedir)
        coursedir.ignore = [*coursedir.ignore, "*"]
        coursedir.get_existing_timestamp = carefully(coursedir.get_existing_timestamp, self.log)
        lessons = course_of(coursedir).lessons_in(coursedir.assignment_id)
        wanted = [lesson for lesson in lessons if coursedir.notebook_id in ("*", lesson.name)]
        if not wanted:
            return
        for lesson in lessons:
            _refuse_broken_lesson(lesson)
        judging = RunAndJudge(config=self.config)
        if judging.worker is None:
            judging.refuse_without_sandbox()
            judging.refuse_readable_places(coursedir)
        refuse_without_room(coursedir, "Nothing was graded.")
        converter.writer = CarefulWriter(parent=converter, config=converter.config)
        if judging.sandbox and judging.worker is None:  # it warms up while the class is being read
            warm_interpreter(judging.modules_of(wanted[0]))
        names = [lesson.name for lesson in wanted]
        students = chosen_students(coursedir, getattr(converter, "only", None))
        refused = {student: reason for student in students if (reason := why_no_id(student))}
        about = {student: {"student": student, "assignment": wanted[0].folder} for student in students}
        folders = [submitted_folder(coursedir, about[each]) for each in students if each not in refused]
        converter.assignments = {
            str(folder): [str(folder / f"{name}.ipynb") for name in names] for folder in folders
        }
        for student in students:
            folder = autograded_folder(coursedir, about[student])
            forget_half_graded(folder, names, coursedir.notebook_id == "*", self.log)
        if refused:
            _fail_in_the_end(converter, list(refused.values()))

    def from_filename(self, filename: str, resources: Any = None, **kwargs: Any) -> Any:
        try:
            with said_in_one_sentence(Path(filename)):
                return self._from_filename(filename, resources, **kwargs)
        except OutOfReach as error:
            raise CourseError(OUT_OF_REACH.format(filename, error)) from error

    def _from_filename(self, filename: str, resources: Any, **kwargs: Any) -> Any:
        converter: Any = self.parent
        coursedir = converter.coursedir
        about = resources["nbgrader"]
        if Path(filename).parent != submitted_folder(coursedir, about):
            return super().from_filename(filename, resources=resources, **kwargs)
        refuse_without_room(coursedir, f"Grading stopped before {about['student']}.")
        lesson = lesson_of(course_of(coursedir), about)
        others = {f"{other.name}.ipynb" for other in course_of(coursedir).lessons_in(lesson.folder)}
        resources["attention_lab_submission"] = read_submission(Path(filename), answer_ids(lesson), others)
        resources["metadata"] = ResourcesDict(name=Path(filename).stem, path=str(Path(filename).parent))
        return self.from_notebook_node(nbformat.v4.new_notebook(), resources=resources, **kwargs)


class Rebuild(NbGraderPreprocessor):  # type: ignore[misc]
    """For `Autograde.sanitize_preprocessors`: the lesson's notebook with the student's cells put in."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        lesson = lesson_of(course_of(self.parent.parent.coursedir), resources["nbgrader"])
        submission: Submission = resources["attention_lab_submission"]
        form = _form(lesson, self.config)
        rebuilt = rebuild(form, submission.cells)
        student = resources["nbgrader"]["student"]
        rebuilt.metadata["attention_lab"] = {
            "reason": submission.reason,
            "note": submission.note,
            HALF_GRADED: True,
        }
        if submission.reason or submission.note:
            self.log.warning("%s: %s", student, submission.reason or submission.note)
            notice = nbformat.v4.new_markdown_cell(
                NOTICE.format(as_html(submission.reason or submission.note)), id="from-the-grader"
            )
            if rebuilt.nbformat_minor < 5:  # a course from before cells had ids
                del notice["id"]
            rebuilt.cells.insert(0, notice)
        return rebuilt, resources


class RunAndJudge(JudgingSettings):
    """For `Autograde.autograde_preprocessors`, in the place of `Execute`."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        lesson = lesson_of(course_of(self.parent.parent.coursedir), resources["nbgrader"])
        about = nb.metadata["attention_lab"]
        del about[HALF_GRADED]  # this is written only after the grades are
        self._keep_beside(lesson, resources["nbgrader"])
        if about["reason"]:
            grading.refuse(nb, lesson, about["reason"])
            return nb, resources
        unit = self._unit(nb, lesson, resources["nbgrader"])
        student = resources["nbgrader"]["student"]
        try:
            done = self.worker(unit) if self.worker else do(unit, lesson)
        except NoKernelStarts as error:
            raise SystemExit(f"Grading stopped at {student}. {error} {KEPT}") from error
        if done.warning:
            self.log.warning("%s: %s", student, done.warning)
        for exercise, points, most in done.points:
            self.log.info("%s: %g of %g", exercise, points, most)
        graded_notebook = as_notebook(done.notebook)
        graded_notebook.metadata["attention_lab"]["seconds"] = done.seconds
        return graded_notebook, resources

    def _unit(self, nb: NotebookNode, lesson: Lesson, about: dict[str, str]) -> Unit:
        limits = lesson.limits or self.limits
        kernel_name = nb.metadata.get("kernelspec", {}).get("name", "python3")
        converter = self.parent.parent
        submitted = submitted_folder(converter.coursedir, about)
        try:
            files = read_plain_files(submitted, room=min(limits.disk // 2, ALL_EXTRA_FILES))
        except OSError as error:
            raise CourseError(OUT_OF_REACH.format(submitted, error.strerror)) from error
        return Unit(
            lesson=lesson.name,
            notebook=as_text(nb),
            # Of the very cells and files that are run: nothing is read twice.
            seed=submission_seed(lesson.course.root, about["student"], nb, files),
            world=World(kernel_name, limits, self.sandbox, self.modules_of(lesson)),
            files=files,
            kept=tuple(converter.exclude_overwriting.get(about["assignment"], [])),
        )

    def _keep_beside(self, lesson: Lesson, about: dict[str, str]) -> None:
        """Beside the graded notebook: the lesson's own files, which its text may show, and the time.

        nbgrader compares the time of a submission with that of its last grading.
        """
        coursedir = self.parent.parent.coursedir
        folder, submitted = autograded_folder(coursedir, about), submitted_folder(coursedir, about)
        copy_plain_files(lesson.source_path.parent, folder)
        if coursedir.get_existing_timestamp(str(submitted)) is not None:
            _keep(submitted, folder, timestamps.NAME)
        # What came through nbgrader's exchange holds a secret that its feedback is found by later.
        _keep(submitted, folder, EXCHANGE_SECRET)


def _keep(submitted: Path, folder: Path, name: str) -> None:
    """Copy a small file of nbgrader's own, if it is there and the student put nothing else in its place."""
    with suppress(OSError):
        content = read_plain_file(submitted / name, largest=1000)
        if content.isascii():  # as nbgrader writes them, and as it must be able to read them again
            write_over(content, folder / name)


def _fail_in_the_end(converter: Any, sentences: list[str]) -> None:
    """Let nbgrader grade everybody else, and then say who is left out, with the exit status of a failure."""
    grade_the_others = converter.convert_notebooks

    def grade_and_say() -> None:
        try:
            grade_the_others()
        finally:
            for sentence in sentences:
                converter.log.error("%s", sentence)
        raise NbGraderException(" ".join(sentences))

    converter.convert_notebooks = grade_and_say


def _form(lesson: Lesson, config: Config) -> NotebookNode:
    """The graded form of a lesson, made once for the class: automatic tests start a kernel to be made."""
    source = lesson.source_path
    # The formgrader lives on while its author mends the source or the settings. How notebooks are run
    # has no part in the form, and is another function for each submission of a class graded at once.
    settings = {name: section for name, section in config.items() if name != "RunAndJudge"}
    made_of = (source.stat().st_mtime_ns, repr(settings))
    if source not in _FORMS or _FORMS[source][0] != made_of:
        _FORMS[source] = made_of, graded(read_notebook(source), config, source.parent)
    return _FORMS[source][1]  # `rebuild` copies it


def _refuse_broken_lesson(lesson: Lesson) -> None:
    """A mistake of the author's stops the class before the first student, in one sentence."""
    try:
        problems = lesson.problems()
    except CourseError as error:
        problems = [str(error)]
    if problems:
        raise SystemExit(f"Nothing was graded. {problems[0]}")
