"""From `source/` to `release/` and `solutions/`, with nbgrader's own commands, and whether they are stale."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from nbformat import NotebookNode
from sqlalchemy import create_engine, inspect
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from attention_lab.maintain.hosts import repository, update_install_lines
from nbjudge import CourseError
from nbjudge.course import (
    CACHE_FOLDERS,
    UNREADABLE,
    Assignment,
    Course,
    gradebook_url,
    read_config,
    read_notebook,
    released,
    solved,
    sqlite_file,
)

# Lessons link to this page of docs/. All copies of the lessons have it in here, a learner's folder too.
LINKED_PAGE, PLACE_OF_PAGE = Path("docs/torch-attention.md"), "00_start_here"
ERROR_LINE = re.compile(r"^\s*[\w.]*(?:Error|Exception): (.*\w)", re.MULTILINE)  # the last of a traceback


def canonical(notebook: NotebookNode) -> str:
    """A source notebook's one right form: no outputs, no widget state, ids equal to grade ids."""
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        if "grade_id" in marks:
            cell.id = marks["grade_id"]
        marks.pop("checksum", None)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        for volatile in ("execution", "collapsed", "scrolled", "deletable", "editable"):
            cell.metadata.pop(volatile, None)
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    notebook.metadata = NotebookNode(kernelspec=kernel, language_info={"name": "python"})
    text: str = nbformat.writes(notebook, version=4)
    return text + "\n"


def _source_text(lesson: Assignment) -> str:
    """The text that the source file should have: in canonical form, its install lines from pyproject.toml."""
    notebook = read_notebook(lesson.source_path)
    update_install_lines(notebook, repository(lesson.course.root))
    return canonical(notebook)


def build_lesson(lesson: Assignment, force: bool = False) -> list[str]:
    """Bring a lesson's source into canonical form and remake what is stale; returns what was done."""
    done = []
    if not _has_linked_page(lesson):
        (lesson.source_path.parent / LINKED_PAGE.name).write_bytes(
            (lesson.course.root / LINKED_PAGE).read_bytes()
        )
        done.append(f"copied {LINKED_PAGE}")
    text = _source_text(lesson)
    if text != lesson.source_path.read_text():
        lesson.source_path.write_text(text)
        done.append("put the source into canonical form")
    if force or release_is_stale(lesson):
        _make(lesson, "generate_assignment", "release_directory", lesson.release_path.parent)
        done.append("made the release")
    # One that stops differs in its outputs only: a cell may have run out of time on a busy machine.
    if force or solution_is_stale(lesson) or any(_errors(lesson.solution_path)):
        if not is_registered(lesson):  # nbgrader makes no solution of a lesson that it does not know
            register(lesson)
        _make(lesson, "generate_solution", "solution_directory", lesson.solution_path.parent)
        broken = list(_errors(lesson.solution_path))
        if broken:
            raise CourseError(f"The solution of {lesson.folder} does not run: {broken[0]}.")
        done.append("made and ran the solution")
    return done


def stale(lesson: Assignment) -> list[str]:
    """Return what does not agree with the source, each in one sentence."""
    problems = []
    if not _has_linked_page(lesson):
        problems.append(f"{lesson.source_path.parent / LINKED_PAGE.name} is not {LINKED_PAGE}.")
    if _source_text(lesson) != lesson.source_path.read_text():
        problems.append(f"{lesson.source_path} is not in canonical form.")
    if release_is_stale(lesson):
        problems.append(f"The release of {lesson.folder} is not what its source makes.")
    if solution_is_stale(lesson):
        problems.append(f"The solution of {lesson.folder} is not what its source makes.")
    else:
        problems += [f"{lesson.solution_path}: {error}." for error in _errors(lesson.solution_path)]
    return problems


def _has_linked_page(lesson: Assignment) -> bool:
    """Return whether a lesson that is to have a copy of the page that lessons link to has it as it is now."""
    page, copy = lesson.course.root / LINKED_PAGE, lesson.source_path.parent / LINKED_PAGE.name
    if lesson.folder != PLACE_OF_PAGE or not page.exists():
        return True
    return copy.exists() and copy.read_bytes() == page.read_bytes()


def release_is_stale(lesson: Assignment) -> bool:
    wanted = released(
        read_notebook(lesson.source_path), read_config(lesson.course.root), lesson.source_path.parent
    )
    return _differs(lesson, lesson.release_path, wanted)


def solution_is_stale(lesson: Assignment) -> bool:
    """Outputs are not compared here: running them again is what nbval does."""
    path = lesson.solution_path
    wanted = solved(read_notebook(lesson.source_path), read_config(lesson.course.root))
    return _differs(lesson, path, wanted)


def is_registered(lesson: Assignment) -> bool:
    """Return whether the gradebook knows the lesson; a fresh clone has a release but no gradebook."""
    from nbgrader.api import Gradebook, MissingEntry

    url = gradebook_url(lesson.course.root)
    file = sqlite_file(url)
    if file is not None and not file.exists():  # looking for it would make an empty one
        return False
    with Gradebook(url) as gradebook:
        try:
            gradebook.find_notebook(lesson.name, lesson.folder)
        except MissingEntry:
            return False
    return True


def register(lesson: Assignment) -> None:
    """Enter the lesson into the gradebook, as nbgrader does when it makes the release."""
    _stamp_if_new(gradebook_url(lesson.course.root))
    result = nbgrader_api(lesson.course).generate_assignment(lesson.folder, force=True, create=True)
    if not result["success"]:
        # Its error is a traceback of its own; the log has what was raised first.
        raised = ERROR_LINE.search(f"{result.get('log')}\n{result.get('error')}")
        reason = raised[1] if raised else "it gives no reason"
        raise CourseError(
            f"nbgrader could not enter {lesson.folder} into the gradebook: {reason}. "
            f"`nbgrader generate_assignment --force {lesson.folder}` says more."
        )


def nbgrader_api(course: Course) -> Any:
    """nbgrader's own functions for a course, with the course's settings."""
    from nbgrader.apps.api import NbGraderAPI

    config = read_config(course.root)
    config.CourseDirectory.root = str(course.root)
    return NbGraderAPI(config=config)


def _stamp_if_new(url: str) -> None:
    """Write the version of its tables into a new gradebook.

    nbgrader would start `alembic heads` for it, which imports nbgrader a second time, for 2 to 5 s.
    """
    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            if not inspect(connection).get_table_names():
                versions = ScriptDirectory(str(files("nbgrader") / "alembic"))
                MigrationContext.configure(connection).stamp(versions, "head")
    except DBAPIError as error:
        raise CourseError(UNREADABLE.format(url=make_url(url), error=error.orig)) from error
    finally:
        engine.dispose()


def parts_of(notebook: NotebookNode) -> list[tuple[str, ...]]:
    """All of a notebook but its outputs."""
    return [
        (cell.get("id"), cell.cell_type, cell.source, json.dumps(cell.metadata, sort_keys=True))
        for cell in notebook.cells
    ]


def _differs(lesson: Assignment, path: Path, wanted: NotebookNode) -> bool:
    """Return whether the notebook at `path`, or a file given beside it, is not what the source makes."""
    if not path.exists() or parts_of(read_notebook(path)) != parts_of(wanted):
        return True
    return _given_files(lesson.source_path.parent) != _given_files(path.parent)


def _given_files(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and file.suffix != ".ipynb" and not CACHE_FOLDERS & set(file.parts)
    }


def _errors(path: Path) -> Iterator[str]:
    for cell in read_notebook(path).cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                yield f"cell {cell.id!r} stops with {output.ename}: {output.evalue}"


def _make(lesson: Assignment, command: str, directory: str, folder: Path) -> None:
    """Make a lesson's folder beside the old one, so that the old one is there until the new one is complete.

    nbgrader removes what it is to make first, and what it has made if it is interrupted.
    """
    with TemporaryDirectory(prefix=".building-", dir=lesson.course.root) as place:
        _nbgrader(lesson, command, f"--CourseDirectory.{directory}={Path(place).name}")
        _replace_files(Path(place) / lesson.folder, folder)


def _replace_files(new_folder: Path, folder: Path) -> None:
    """Move the files below `new_folder` to `folder`, and remove all others there."""
    names = {file.relative_to(new_folder) for file in new_folder.rglob("*") if file.is_file()}
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (new_folder / name).replace(folder / name)
    for path in sorted(folder.rglob("*"), reverse=True):  # what is in a folder before the folder
        if path.is_dir() and not path.is_symlink():
            with suppress(OSError):  # it is not empty
                path.rmdir()
        elif path.relative_to(folder) not in names:
            path.unlink()


def _nbgrader(lesson: Assignment, command: str, *options: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "nbgrader", command, "--force", lesson.folder, *options],
        cwd=lesson.course.root,
        capture_output=True,
        text=True,
        # nbgrader calls alembic by its name; it is installed beside the interpreter.
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
    )
    if run.returncode != 0:
        raise CourseError(
            f"`nbgrader {command} {lesson.folder}` failed; its last words: {run.stderr.strip()[-400:]}"
        )
