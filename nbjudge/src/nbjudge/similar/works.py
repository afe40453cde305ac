"""The works of an assignment: what each student wrote, exercise by exercise, and what all were given."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from rich.console import Console
from rich.progress import track
from traitlets.config import Config

from nbjudge.cell_metadata import is_written_by_student, nbgrader_metadata
from nbjudge.course.assignment_forms import answer_cells, template_of
from nbjudge.course.configuration import read_config
from nbjudge.course.course import Assignment
from nbjudge.course.loading import read_plain_cells
from nbjudge.errors import CourseError
from nbjudge.judge.verdict import FORBIDDEN, Verdict
from nbjudge.parsing import source_of
from nbjudge.record.graded_notebook import read_graded
from nbjudge.similar.fingerprints import LONGEST_ANSWER
from nbjudge.similar.rarity import Work
from nbjudge.submission.files import Folder, read_handed_in
from nbjudge.submission.merge import merge_submission
from nbjudge.submission.read_submission import contents_of, read_submission


@dataclass
class Works:
    """The works of a class and of those that it is compared with."""

    works: list[Work] = field(default_factory=list)
    given: list[str] = field(default_factory=list)
    prose: set[str] = field(default_factory=set)  # exercises that are answered in words
    unread: list[str] = field(default_factory=list)  # whose work cannot be read, or is too long


class Reader:
    """Reads the works on one assignment, which may have several notebooks."""

    def __init__(self, notebooks: Sequence[Assignment], console: Console) -> None:
        self._notebooks, self._console = notebooks, console
        self._folders, self._folder = notebooks[0].course.folders, notebooks[0].folder
        config: Config = read_config(self._folders.root)
        with console.status("Reading the assignment …"):
            self._forms = {f"{each.name}.ipynb": template_of(each, config) for each in notebooks}
            self._found = Works(given=[text for each in notebooks for text in _given(each, config)])

    def read(self, against: Iterable[Path]) -> Works:
        """Read the class, and the folders of others, with a progress bar.

        Raises CourseError where no student has handed in, or a folder has none of the notebooks.
        """
        students = self._folders.students(self._folder)
        if not students:
            where = self._folders.submitted("STUDENT", self._folder)
            raise CourseError(f"No student has handed in {self._folder}: there is no folder {where}.")
        folders = {student: self._folders.submission(student, self._folder) for student in students}
        others = {name: folder for path in against for name, folder in self._works_in(path).items()}
        silent = not self._console.is_terminal
        both = track(
            [*folders.items(), *others.items()],
            "Reading works",
            console=self._console,
            transient=True,
            disable=silent,
        )
        for at, (name, folder) in enumerate(both):
            self._read(name, folder, at < len(folders))
        return self._found

    def _works_in(self, path: Path) -> dict[str, Folder]:
        """The folders below a path that hold a notebook of the assignment."""
        if not path.is_dir():
            raise CourseError(f"--against {path}: there is no such folder.")
        found = {file.parent for name in self._forms for file in path.rglob(name) if file.is_file()}
        if not found:
            raise CourseError(
                f"--against {path}: neither it nor a folder in it holds {' or '.join(self._forms)}. "
                "Give a folder of works on this assignment, such as submitted/ of an earlier class."
            )
        return {str(folder): Folder(folder) for folder in sorted(found)}

    def _read(self, name: str, folder: Folder, in_class: bool) -> None:
        contents = {file: contents_of(form) for file, form in self._forms.items()}
        answers, mistakes = dict[str, str](), dict[str, str]()
        try:
            handed_in = read_handed_in(folder, self._forms)
        except OSError as error:
            self._found.unread.append(f"{name} ({error.strerror})")
            return
        for notebook in self._notebooks:
            file = f"{notebook.name}.ipynb"
            submission = read_submission(handed_in, file, answer_cells(self._forms[file]), contents)
            if submission.reason:
                self._found.unread.append(f"{name} ({submission.reason.rstrip('.')})")
                continue
            merged = merge_submission(self._forms[file], submission.cells)
            made = self._mistakes(name, notebook) if in_class else {}
            for exercise, is_prose, text in _answers(merged, notebook.exercise_of_cell, notebook.name):
                label = exercise if len(self._notebooks) == 1 else f"{notebook.name}: {exercise}"
                answers[label] = text
                self._found.prose |= {label} if is_prose else set()
                mistakes |= {label: made[exercise]} if exercise in made else {}
        if any(len(text) > LONGEST_ANSWER for text in answers.values()):
            self._found.unread.append(f"{name} (only the first {LONGEST_ANSWER:,} characters of an answer)")
        if answers:
            self._found.works.append(Work(name, answers, mistakes, in_class))

    def _mistakes(self, student: str, notebook: Assignment) -> dict[str, str]:
        """The mistakes that the judge recorded, by exercise; none where nothing is graded."""
        file = self._folders.autograded(student, self._folder) / f"{notebook.name}.ipynb"
        try:
            verdicts = read_graded(file).verdicts
        except (OSError, ValueError):
            return {}
        found = {name: _mistake(verdict) for name, verdict in verdicts.items()}
        return {name: mistake for name, mistake in found.items() if mistake}


def _mistake(verdict: Verdict) -> str:
    """The first mistake that is named, or else the kind of what was found; empty for a right answer."""
    findings = [] if verdict.points >= verdict.max_points else verdict.findings
    named = [each.mistake for each in findings if each.mistake not in (None, FORBIDDEN)]
    return next((each for each in (*named, *(each.kind for each in findings)) if each), "")


def _answers(
    merged: NotebookNode, exercises: Mapping[str, str], notebook: str
) -> Iterator[tuple[str, bool, str]]:
    """What a student wrote for each graded cell: its name, whether it is prose, and the text.

    That is the code since the graded cell before, in cells of the student's own, too; a written answer is one
    by itself. What is behind the last graded cell belongs to it.
    """
    parts: list[tuple[str, list[str]]] = []
    code: list[str] = []
    for cell in merged.cells:
        marks, text = nbgrader_metadata(cell), str(cell.source)
        name = str(marks.get("grade_id") or "")
        if cell.cell_type == "code" and is_written_by_student(cell):
            code.append(text)
        elif cell.cell_type != "code" and marks.get("solution"):
            yield name, True, text
        if cell.cell_type == "code" and marks.get("grade") and code:
            parts.append((exercises.get(name, name), code))
            code = []
    if code and parts:
        parts[-1][1].extend(code)
    elif code:
        parts.append((notebook, code))
    for name, texts in parts:
        yield name, False, "\n\n".join(texts)


def _given(notebook: Assignment, config: Config) -> Iterator[str]:
    """The texts that every student had, the solution, and the right answers of the checks."""
    yield from (cell.source for cell in read_plain_cells(notebook.source_path))
    yield from (cell.source for cell in template_of(notebook, config).cells)
    for exercise in notebook.exercises.values():
        for answer in exercise.accepted_alternatives:
            try:
                yield source_of(_plain(answer))
            except (OSError, TypeError):
                continue  # made by a function, without a text of its own


def _plain(answer: Any) -> Any:
    return inspect.unwrap(answer) if callable(answer) else answer
