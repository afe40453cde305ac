"""The leak gate: whatever is in a zip for students, and must not be, in one sentence each."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from attention_lab.maintain.bundle.contents import (
    LESSONS,
    NAME,
    grader_files,
    lesson_files,
    package_files,
    tutor_files,
)
from attention_lab.maintain.bundle.private import PrivateRegions, private_in, private_lines
from nbjudge.course.assignment_forms import released
from nbjudge.course.configuration import read_config
from nbjudge.course.course import Course
from nbjudge.course.loading import read_notebook

PLAIN = {"README.md", "LICENSE", "LICENSE-CONTENT", "environment.yml"}
LESSONS_INSIDE = "attention_lab/lessons/"  # of the helper package
ABOUT_ITSELF = re.compile(
    r"(attention_lab|nbjudge)-[\w.+]+\.dist-info/(METADATA|RECORD|WHEEL|\w+\.txt|licenses/LICENSE[\w-]*)$"
)
WHEELS = ("attention_lab", "nbjudge")
LINK = 0xA  # the kind of file, where a zip written on a Unix keeps it
REBUILD = "run `make build` and make the zip again"
CLEAR = f"clear the notebook's outputs, {REBUILD}"


@dataclass(frozen=True)
class BundleContents:
    """What a course hands out, and what it keeps to itself."""

    lessons: Mapping[str, bytes]  # the files of the lessons, notebooks as their sources have them
    modules: Mapping[str, bytes]  # the files of the helper package, with a tutor's
    grader: Mapping[str, bytes]  # the files of nbjudge
    notebooks: Mapping[str, NotebookNode]  # the releases, made from the sources this moment
    private: Mapping[str, str]  # by line: what it is part of
    regions: PrivateRegions

    @classmethod
    def of(cls, course: Course, tutor: bool) -> BundleContents:
        config, source = read_config(course.root), course.folders.source
        lessons = course.assignments.values()
        notebooks = {
            f"{lesson.folder}/{lesson.name}.ipynb": released(
                read_notebook(lesson.source_path), config, lesson.source_path.parent
            )
            for lesson in lessons
        }
        for_tutor = tutor_files(course) if tutor else {}
        return cls(
            {name: (source / name).read_bytes() for name in lesson_files(course)},
            {name: (course.root / name).read_bytes() for name in package_files(course.root, tutor)}
            | {f"attention_lab/course/{name}": content for name, content in for_tutor.items()},
            {name: file.read_bytes() for name, file in grader_files(course.root).items()},
            notebooks,
            private_lines(course),
            PrivateRegions.of(config),
        )


def leaks(path: Path, course: Course, tutor: bool = False) -> list[str]:
    """What is wrong with a zip for students, and what to do; nothing where it may be handed out.

    `tutor` says that it brings one: then checks and solutions are allowed where the tutor reads them.
    """
    expected = BundleContents.of(course, tutor)
    try:
        with zipfile.ZipFile(path) as archive:
            return list(_in_zip(archive, expected))
    except (zipfile.BadZipFile, OSError) as error:
        return [f"{path} cannot be read as a zip ({error}): make it again."]


def _in_zip(archive: zipfile.ZipFile, expected: BundleContents) -> Iterator[str]:
    names = archive.namelist()
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{name} is in the zip twice, and readers differ in which one they show: make the zip again."
    for about in archive.infolist():
        name = about.filename.removeprefix(f"{NAME}/")
        lesson = name.removeprefix(f"{LESSONS}/")
        if about.external_attr >> 28 == LINK:
            yield f"{name} is a link, which may lead anywhere: put the file itself there."
        elif lesson != name and lesson in expected.lessons:
            yield from _in_lesson(name, lesson, archive.read(about), expected)
        elif "/" not in name and name.endswith(".whl"):
            yield from _in_wheel(name, archive.read(about), expected)
        elif name in PLAIN:
            yield from _in_text(name, archive.read(about).decode(), expected)
        else:
            yield f"{name} is none of the files that students get: take it out."
    wanted = {*PLAIN, *(f"{LESSONS}/{lesson}" for lesson in expected.lessons)}
    yield from _missing(wanted, {name.removeprefix(f"{NAME}/") for name in names}, "the zip")
    wheels = [name for name in names if name.endswith(".whl")]
    if sorted(name.removeprefix(f"{NAME}/").partition("-")[0] for name in wheels) != list(WHEELS):
        yield f"The zip has {len(wheels)} packages (.whl), not one of each ({', '.join(WHEELS)}): {REBUILD}."


def _in_wheel(wheel: str, content: bytes, expected: BundleContents) -> Iterator[str]:
    """What is wrong inside a wheel."""
    if wheel.startswith("nbjudge-"):
        modules, lessons = expected.grader, frozenset[str]()
    else:
        modules, lessons = expected.modules, frozenset(expected.lessons)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            lesson = name.removeprefix(LESSONS_INSIDE)
            shown, found = f"{wheel}: {name}", archive.read(name)
            if lesson != name and lesson in lessons:
                yield from _in_lesson(shown, lesson, found, expected)
            elif name in modules:
                if found != modules[name]:
                    yield f"{shown} is not the file in the course's folder: make the zip again."
            elif ABOUT_ITSELF.match(name):
                yield from _in_text(shown, found.decode(), expected)
            else:
                yield (
                    f"{shown} is no part of the students' package: take it out, or name its module in "
                    "attention_lab/students.py if lessons need it."
                )
        wanted = {*modules, *(f"{LESSONS_INSIDE}{lesson}" for lesson in lessons)}
        yield from _missing(wanted, set(archive.namelist()), wheel)


def _missing(wanted: set[str], there: set[str], where: str) -> Iterator[str]:
    for name in sorted(wanted - there):
        yield f"{name} is missing in {where}: {REBUILD}."


def _in_lesson(shown: str, lesson: str, content: bytes, expected: BundleContents) -> Iterator[str]:
    """What is wrong with a file of a lesson, shown as `shown`."""
    if lesson not in expected.notebooks:
        if content != expected.lessons[lesson]:
            yield f"{shown} is not the file in source/: {REBUILD}."
        return
    try:
        notebook = nbformat.reads(content.decode(), as_version=4)
    except Exception as error:  # a file can fail to be a notebook in many ways
        yield f"{shown} cannot be read as a notebook ({type(error).__name__}): {REBUILD}."
        return
    found = list(_in_notebook(shown, notebook, expected))
    if not found and _parts(notebook) != _parts(expected.notebooks[lesson]):
        found = [f"{shown} is not what its source makes: {REBUILD}."]
    yield from found


def _in_notebook(shown: str, notebook: NotebookNode, expected: BundleContents) -> Iterator[str]:
    if "widgets" in notebook.metadata:
        yield f"{shown} holds the state of widgets, which captures outputs: {CLEAR}."
    yield from _in_text(f"The metadata of {shown}", "\n".join(_strings(notebook.metadata)), expected)
    for cell in notebook.cells:
        where = f"The cell {cell.get('id', '?')!r} of {shown}"
        if cell.get("outputs") or cell.get("execution_count") is not None:
            yield f"{where} holds outputs: {CLEAR}."
        rest = {name: part for name, part in cell.items() if name != "outputs"}
        yield from _in_text(where, "\n".join(_strings(rest)), expected)


def _in_text(where: str, text: str, expected: BundleContents) -> Iterator[str]:
    for kind, words in expected.regions.words.items():
        if any(word in text for word in words):
            yield f"{where} holds {kind}, or the words that mark one ({words[0]}): {REBUILD}."
            return
    found = private_in(text, expected.private)
    if found:
        line, part = found
        yield f"{where} holds a line of {part} ({line[:60]!r}): take it out of what students get."


def _strings(value: Any) -> Iterator[str]:
    """All text in a notebook's part: keys and values, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield str(name)
            yield from _strings(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _strings(part)


def _parts(notebook: NotebookNode) -> list[tuple[Any, ...]]:
    """All of a notebook but its outputs."""
    return [(cell.get("id"), cell.cell_type, cell.source, cell.metadata) for cell in notebook.cells]
