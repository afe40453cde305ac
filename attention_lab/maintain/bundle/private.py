"""The lines that no student may see before the deadline, read off the source notebooks and the checks.

Found by the words that begin and end each kind of region, and not by making a release: a course whose
configuration takes too little out of its releases is just what the gate is there for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme, ClearSolutions
from traitlets.config import Config

from attention_lab.maintain.bundle.contents import package_files
from nbjudge.course.configuration import read_config
from nbjudge.course.course import Course
from nbjudge.course.loading import read_notebook

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
    """What must be nowhere in the zip: line (spaces aside), and what it is part of, with its file."""
    regions = PrivateRegions.of(read_config(course.root))
    private: dict[str, str] = {}
    public: set[str] = set()
    for lesson in course.assignments.values():
        for cell in read_notebook(lesson.source_path).cells:
            for kind, line in _kinds(cell, regions):
                if kind:
                    private.setdefault(_bare(line), f"{kind} of {lesson.folder}")
                else:
                    public.add(_bare(line))
    for file in sorted(course.folders.checks.rglob("*.py")):
        for line in file.read_text().splitlines():
            private.setdefault(_bare(line), f"{CHECK} in {file.relative_to(course.root)}")
    public |= _given(course)
    return {line: where for line, where in private.items() if _telling(line) and line not in public}


def private_in(text: str, private: Mapping[str, str]) -> tuple[str, str] | None:
    """The first private line of a text, and what it is part of."""
    found = (bare for bare in map(_bare, text.splitlines()) if bare in private)
    return next(((line, private[line]) for line in found), None)


def _kinds(cell: NotebookNode, regions: PrivateRegions) -> Iterable[tuple[str, str]]:
    marks = cell.metadata.get("nbgrader", {})
    lines = list(regions.split(cell.source))
    if marks.get("solution") and not any(kind for kind, _ in lines):
        return [(SOLUTION, line) for _, line in lines]  # a model answer in prose takes the whole cell
    return lines


def _given(course: Course) -> set[str]:
    """The lines of the helper package, which students get as it is."""
    files = [course.root / name for name in package_files(course.root) if name.endswith(".py")]
    return {_bare(line) for file in files for line in file.read_text().splitlines()}


def _bare(line: str) -> str:
    return " ".join(line.split())


def _telling(line: str) -> bool:
    return len(re.findall(r"\w", line)) >= SHORTEST
