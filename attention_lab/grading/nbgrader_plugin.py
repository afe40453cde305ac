"""Where the grader meets nbgrader: an exporter and two preprocessors, named in `nbgrader_config.py`."""

from __future__ import annotations

import copy
import os
import shutil
import stat
from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbconvert.exporters.exporter import ResourcesDict
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool, Float, Integer, List, Unicode

from attention_lab.errors import CourseError
from attention_lab.grading import grade as grading
from attention_lab.grading.channels import World
from attention_lab.grading.course import Course, Lesson, open_course, read_notebook
from attention_lab.grading.forms import graded
from attention_lab.grading.limits import MEBIBYTE, Limits
from attention_lab.grading.rebuild import rebuild
from attention_lab.grading.sandbox.bubblewrap import refusal
from attention_lab.grading.sandbox.warm_interpreter import warm_interpreter
from attention_lab.grading.submission import Submission, read_submission

WITHOUT_SANDBOX = (
    "To grade work you trust without a sandbox, say so: --RunAndJudge.sandbox=False (or "
    "c.RunAndJudge.sandbox = False in nbgrader_config.py)."
)
NO_SANDBOX = (
    "GRADING WITHOUT THE SANDBOX: student code runs as you, and can read and change whatever you can: "
    "the checks, the solutions, the gradebook."
)
LARGEST_EXTRA_FILE = 10 * 2**20  # bytes


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
        lessons = _course(coursedir).lessons_in(coursedir.assignment_id)
        wanted = [lesson for lesson in lessons if coursedir.notebook_id in ("*", lesson.name)]
        if not wanted:
            return
        for lesson in lessons:
            _refuse_broken_lesson(lesson)
        judging = RunAndJudge(config=self.config)
        _refuse_without_sandbox(judging, self.log)
        if judging.sandbox:  # it warms up while the class is being read
            warm_interpreter(judging.modules_of(wanted[0]))
        pattern = coursedir.format_path(
            coursedir.submitted_directory, coursedir.student_id, coursedir.assignment_id
        )
        converter.assignments = {
            str(folder): [str(folder / f"{lesson.name}.ipynb") for lesson in wanted]
            for folder in sorted(Path("/").glob(pattern.lstrip("/")))
            if folder.is_dir()
        }

    def from_filename(self, filename: str, resources: Any = None, **kwargs: Any) -> Any:
        converter: Any = self.parent
        coursedir = converter.coursedir
        about = resources["nbgrader"]
        if Path(filename).parent != _submitted_folder(coursedir, about):
            return super().from_filename(filename, resources=resources, **kwargs)
        lesson = _lesson(_course(coursedir), about)
        resources["attention_lab_submission"] = read_submission(Path(filename), _answer_ids(lesson))
        resources["metadata"] = ResourcesDict(name=Path(filename).stem, path=str(Path(filename).parent))
        return self.from_notebook_node(nbformat.v4.new_notebook(), resources=resources, **kwargs)


class Rebuild(NbGraderPreprocessor):  # type: ignore[misc]
    """For `Autograde.sanitize_preprocessors`: the lesson's notebook with the student's cells put in."""

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        lesson = _lesson(_course(self.parent.parent.coursedir), resources["nbgrader"])
        submission: Submission = resources["attention_lab_submission"]
        form = graded(read_notebook(lesson.source_path), self.config, lesson.source_path.parent)
        rebuilt = rebuild(form, submission.cells)
        student = resources["nbgrader"]["student"]
        rebuilt.metadata["attention_lab"] = {
            "seed": grading.submission_seed(lesson.course.root, student, rebuilt),
            "reason": submission.reason,
            "note": submission.note,
        }
        if submission.reason or submission.note:
            self.log.warning("%s: %s", student, submission.reason or submission.note)
            notice = nbformat.v4.new_markdown_cell(
                f"**From the grader:** {submission.reason or submission.note}", id="from-the-grader"
            )
            rebuilt.cells.insert(0, notice)
        return rebuilt, resources


class RunAndJudge(NbGraderPreprocessor):  # type: ignore[misc]
    """For `Autograde.autograde_preprocessors`, in the place of `Execute`."""

    sandbox = Bool(
        True,
        help="Whether student code runs inside bubblewrap. Without it, it runs as the person who grades, "
        "and can read and change whatever that person can.",
    ).tag(config=True)
    modules = List(
        Unicode(),
        help="What the sandbox imports once for all notebooks, besides what the lesson's own cells import.",
    ).tag(config=True)
    cell_seconds = Float(30, help="Seconds that one cell may run.").tag(config=True)
    answer_seconds = Float(10, help="Seconds that the answers to one case group may take.").tag(config=True)
    notebook_seconds = Float(300, help="Seconds that a whole notebook may take.").tag(config=True)
    output_mebibytes = Integer(16, help="How much a notebook may show.").tag(config=True)
    memory_mebibytes = Integer(3072, help="Memory of a notebook (sandbox only).").tag(config=True)
    disk_mebibytes = Integer(512, help="Files that a notebook may write (sandbox only).").tag(config=True)
    file_mebibytes = Integer(256, help="The largest of these files (sandbox only).").tag(config=True)
    processes = Integer(64, help="Processes and threads of a notebook (sandbox only).").tag(config=True)
    open_files = Integer(512, help="Open files of a process (sandbox only).").tag(config=True)

    def modules_of(self, lesson: Lesson) -> tuple[str, ...]:
        return (*lesson.modules, *self.modules)

    @property
    def limits(self) -> Limits:
        """The course's limits; a lesson may have its own."""
        return Limits(
            cell=self.cell_seconds,
            answer=self.answer_seconds,
            notebook=self.notebook_seconds,
            output=self.output_mebibytes * MEBIBYTE,
            memory=self.memory_mebibytes * MEBIBYTE,
            disk=self.disk_mebibytes * MEBIBYTE,
            file=self.file_mebibytes * MEBIBYTE,
            processes=self.processes,
            open_files=self.open_files,
        )

    def preprocess(self, nb: NotebookNode, resources: ResourcesDict) -> tuple[NotebookNode, ResourcesDict]:
        lesson = _lesson(_course(self.parent.parent.coursedir), resources["nbgrader"])
        about = nb.metadata["attention_lab"]
        if about["reason"]:
            grading.refuse(nb, lesson, about["reason"])
            return nb, resources
        world = World(
            kernel_name=nb.metadata.get("kernelspec", {}).get("name", "python3"),
            limits=lesson.limits or self.limits,
            sandbox=self.sandbox,
            modules=self.modules_of(lesson),
        )
        with TemporaryDirectory(prefix="attention-lab-") as folder:
            self._fill_work_folder(Path(folder), lesson, resources["nbgrader"])
            verdicts = grading.grade(nb, lesson, Path(folder), about["seed"], world)
        for verdict in verdicts:
            self.log.info("%s: %g of %g", verdict.exercise, verdict.points, verdict.max_points)
        return nb, resources

    def _fill_work_folder(self, folder: Path, lesson: Lesson, about: dict[str, str]) -> None:
        """The student's own files, then the lesson's given ones over them."""
        converter = self.parent.parent
        kept = set(converter.exclude_overwriting.get(about["assignment"], []))
        submitted = _submitted_folder(converter.coursedir, about)
        _copy_plain_files(submitted, folder)
        _copy_plain_files(lesson.source_path.parent, folder, leave_out=kept)
        # nbgrader compares the time of a submission with that of its last grading.
        if (submitted / "timestamp.txt").is_file():
            autograded = converter.coursedir.format_path(
                converter.coursedir.autograded_directory, about["student"], about["assignment"]
            )
            shutil.copyfile(submitted / "timestamp.txt", Path(autograded) / "timestamp.txt")


def _copy_plain_files(source: Path, target: Path, leave_out: Collection[str] = ()) -> None:
    """Copy what is a plain file of modest size: no links, no pipes, no notebooks, nothing huge."""
    for folder, folders, names in os.walk(source):  # does not follow links
        folders[:] = [name for name in folders if name not in ("__pycache__", ".ipynb_checkpoints")]
        for file in (Path(folder) / name for name in names):
            about, relative = file.lstat(), file.relative_to(source)
            plain = stat.S_ISREG(about.st_mode) and about.st_size <= LARGEST_EXTRA_FILE
            if not plain or file.suffix == ".ipynb" or str(relative) in leave_out:
                continue
            goal = target / relative
            if goal.exists() and not goal.is_file():
                continue
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, goal)


def _course(coursedir: Any) -> Course:
    return open_course(Path(coursedir.root), coursedir.source_directory, coursedir.solution_directory)


def _submitted_folder(coursedir: Any, about: dict[str, str]) -> Path:
    return Path(coursedir.format_path(coursedir.submitted_directory, about["student"], about["assignment"]))


def _lesson(course: Course, about: dict[str, str]) -> Lesson:
    for lesson in course.lessons_in(about["assignment"]):
        if lesson.name == about["notebook"]:
            return lesson
    raise CourseError(
        f"There is no source notebook {about['notebook']}.ipynb in {course.source}/{about['assignment']}/."
    )


def _answer_ids(lesson: Lesson) -> set[str]:
    cells = read_notebook(lesson.source_path).cells
    marks = [cell.metadata.get("nbgrader", {}) for cell in cells]
    return {mark["grade_id"] for mark in marks if mark.get("solution")}


def _refuse_without_sandbox(settings: RunAndJudge, log: Any) -> None:
    """No sandbox, no grading, unless that was asked for; then it is said at every run."""
    reason = refusal() if settings.sandbox else None
    if reason is not None:
        raise SystemExit(f"Nothing was graded. {reason} {WITHOUT_SANDBOX}")
    if not settings.sandbox:
        log.warning(NO_SANDBOX)


def _refuse_broken_lesson(lesson: Lesson) -> None:
    """A mistake of the author's stops the class before the first student, in one sentence."""
    try:
        problems = lesson.problems()
    except CourseError as error:
        problems = [str(error)]
    if problems:
        raise SystemExit(f"Nothing was graded. {problems[0]}")
