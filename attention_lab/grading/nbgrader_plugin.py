"""Where the grader meets nbgrader: an exporter and two preprocessors, named in `nbgrader_config.py`."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets.config import Config

from attention_lab.errors import CourseError
from attention_lab.grading import grade as grading
from attention_lab.grading import timestamps
from attention_lab.grading.channels import World
from attention_lab.grading.course import Lesson, read_notebook
from attention_lab.grading.files import (
    ALL_EXTRA_FILES,
    copy_over,
    copy_plain_files,
    read_plain_file,
    read_plain_files,
)
from attention_lab.grading.forms import graded
from attention_lab.grading.interrupted import HALF_GRADED, forget_half_graded
from attention_lab.grading.places import answer_ids, course_of, lesson_of, submitted_folder
from attention_lab.grading.rebuild import rebuild
from attention_lab.grading.sandbox.warm_interpreter import warm_interpreter
from attention_lab.grading.settings import JudgingSettings
from attention_lab.grading.storage import KEPT, CarefulWriter, refuse_without_room, said_in_one_sentence
from attention_lab.grading.submission import Submission, read_submission
from attention_lab.grading.timestamps import carefully
from attention_lab.grading.unit import NoKernelStarts, Unit, as_notebook, as_text, do

EXCHANGE_SECRET = "submission_secret.txt"  # nbgrader's name for it
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
        refuse_without_room(coursedir, "Nothing was graded.")
        converter.writer = CarefulWriter(parent=converter, config=converter.config)
        if judging.sandbox and judging.worker is None:  # it warms up while the class is being read
            warm_interpreter(judging.modules_of(wanted[0]))
        pattern = coursedir.format_path(
            coursedir.submitted_directory, coursedir.student_id, coursedir.assignment_id
        )
        converter.assignments = {
            str(folder): [str(folder / f"{lesson.name}.ipynb") for lesson in wanted]
            for folder in sorted(Path("/").glob(pattern.lstrip("/")))
            if folder.is_dir()
        }
        autograded = coursedir.format_path(
            coursedir.autograded_directory, coursedir.student_id, coursedir.assignment_id
        )
        names, whole = [lesson.name for lesson in wanted], coursedir.notebook_id == "*"
        for folder in Path("/").glob(autograded.lstrip("/")):
            forget_half_graded(folder, names, whole, self.log)

    def from_filename(self, filename: str, resources: Any = None, **kwargs: Any) -> Any:
        with said_in_one_sentence(Path(filename)):
            return self._from_filename(filename, resources, **kwargs)

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
            "seed": grading.submission_seed(lesson.course.root, student, rebuilt),
            "reason": submission.reason,
            "note": submission.note,
            HALF_GRADED: True,
        }
        if submission.reason or submission.note:
            self.log.warning("%s: %s", student, submission.reason or submission.note)
            notice = nbformat.v4.new_markdown_cell(
                f"**From the grader:** {submission.reason or submission.note}", id="from-the-grader"
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
        return Unit(
            lesson=lesson.name,
            notebook=as_text(nb),
            seed=nb.metadata["attention_lab"]["seed"],
            world=World(kernel_name, limits, self.sandbox, self.modules_of(lesson)),
            files=read_plain_files(submitted, room=min(limits.disk // 2, ALL_EXTRA_FILES)),
            kept=tuple(converter.exclude_overwriting.get(about["assignment"], [])),
        )

    def _keep_beside(self, lesson: Lesson, about: dict[str, str]) -> None:
        """Beside the graded notebook: the lesson's own files, which its text may show, and the time.

        nbgrader compares the time of a submission with that of its last grading.
        """
        coursedir = self.parent.parent.coursedir
        folder = Path(
            coursedir.format_path(coursedir.autograded_directory, about["student"], about["assignment"])
        )
        copy_plain_files(lesson.source_path.parent, folder)
        submitted = submitted_folder(coursedir, about)
        if coursedir.get_existing_timestamp(str(submitted)) is not None:
            copy_over(submitted / timestamps.NAME, folder / timestamps.NAME)
        _keep_exchange_secret(submitted, folder)


def _keep_exchange_secret(submitted: Path, folder: Path) -> None:
    """What came through nbgrader's exchange holds a secret that its feedback is found by later."""
    try:
        secret = read_plain_file(submitted / EXCHANGE_SECRET, largest=1000)
    except OSError:  # it came another way, or the student put something else there
        return
    (folder / EXCHANGE_SECRET).unlink(missing_ok=True)  # what an earlier grading left is read-only
    (folder / EXCHANGE_SECRET).write_bytes(secret)


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
