"""The leak gate: whatever is in a zip for students, and must not be, in one sentence each.

The lines that no student may see before the deadline are read off the source notebooks and the checks. They
are found by the words that begin and end each kind of region, and not by making a release: a course whose
configuration takes too little out of its releases is just what the gate is there for.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme, ClearSolutions
from traitlets.config import Config

from attention_lab.maintain.build import parts_of
from attention_lab.maintain.bundle.contents import (
    LESSONS,
    NAME,
    grader_files,
    lesson_files,
    package_files,
    tutor_files,
)
from nbjudge.course import Course, read_config, read_notebook, released

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
    """The parts of a course that are handed out, and those that are not."""

    lessons: Mapping[str, bytes]  # the files of the lessons, notebooks as their sources have them
    modules: Mapping[str, bytes]  # the files of the helper package, with a tutor's
    grader: Mapping[str, bytes]  # the files of nbjudge
    notebooks: Mapping[str, NotebookNode]  # the releases, made from the sources this moment
    private: Mapping[str, str]  # by line: what it is part of
    regions: PrivateRegions

    @classmethod
    def of(cls, course: Course, tutor: bool) -> BundleContents:
        config, source = read_config(course.root), course.folders.source
        lessons = course.choose("*")
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
    """Return what is wrong with a zip for students, and what to do; nothing where it may be handed out.

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
    """Yield what is wrong inside a wheel."""
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
    """Yield what is wrong with a file of a lesson, shown as `shown`."""
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
    if not found and parts_of(notebook) != parts_of(expected.notebooks[lesson]):
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
    for line in map(_bare, text.splitlines()):
        if line in expected.private:
            part = expected.private[line]
            yield f"{where} holds a line of {part} ({line[:60]!r}): take it out of what students get."
            return


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


# Shorter ones, such as `return x`, are everywhere and tell nothing.
SHORTEST = 10  # letters and digits
SOLUTION, HIDDEN, SCHEME, CHECK = "a solution", "a hidden test", "a mark scheme", "a check"


@dataclass(frozen=True)
class PrivateRegions:
    """The words that begin and end a region, by what it holds, as the course's configuration has them."""

    words: Mapping[str, tuple[str, str]]

    @classmethod
    def of(cls, config: Config) -> PrivateRegions:
        answers, tests = ClearSolutions(config=config), ClearHiddenTests(config=config)
        scheme = ClearMarkScheme(config=config)
        return cls(
            {
                SOLUTION: (answers.begin_solution_delimeter, answers.end_solution_delimeter),
                HIDDEN: (tests.begin_test_delimeter, tests.end_test_delimeter),
                SCHEME: (scheme.begin_mark_scheme_delimeter, scheme.end_mark_scheme_delimeter),
            }
        )

    def split(self, source: str) -> Iterator[tuple[str, str]]:
        """Each line of a cell, after what it is part of: one of the kinds, or "" for everybody."""
        kind = ""
        for line in source.splitlines():
            begins = next((each for each, (begin, _) in self.words.items() if begin in line), "")
            kind = begins or kind
            yield kind, line
            if kind and self.words[kind][1] in line:
                kind = ""


def private_lines(course: Course) -> dict[str, str]:
    """Return what must be nowhere in the zip: line (spaces aside), and what it is part of, with its file."""
    regions = PrivateRegions.of(read_config(course.root))
    private: dict[str, str] = {}
    public: set[str] = set()
    for lesson in course.choose("*"):
        for cell in read_notebook(lesson.source_path).cells:
            for kind, line in _kinds(cell, regions):
                if kind:
                    private.setdefault(_bare(line), f"{kind} of {lesson.folder}")
                else:
                    public.add(_bare(line))
    for file in sorted(course.folders.checks.rglob("*.py")):
        for line in file.read_text().splitlines():
            private.setdefault(_bare(line), f"{CHECK} in {file.relative_to(course.root)}")
    # Students get the helper package as it is.
    given = [course.root / name for name in package_files(course.root) if name.endswith(".py")]
    public |= {_bare(line) for file in given for line in file.read_text().splitlines()}
    return {
        line: where
        for line, where in private.items()
        if len(re.findall(r"\w", line)) >= SHORTEST and line not in public
    }


def _kinds(cell: NotebookNode, regions: PrivateRegions) -> Iterable[tuple[str, str]]:
    marks = cell.metadata.get("nbgrader", {})
    lines = list(regions.split(cell.source))
    if marks.get("solution") and not any(kind for kind, _ in lines):
        return [(SOLUTION, line) for _, line in lines]  # a model answer in prose takes the whole cell
    return lines


def _bare(line: str) -> str:
    return " ".join(line.split())
