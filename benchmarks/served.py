"""A contender's own process: reads a student a line, grades, and says how long it took.

`stock` and `ours` are `nbgrader autograde` in course folders that are configured so; the others
are the bare limit, see there.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from bare_limit import BareLimit

from nbjudge.course.course import Assignment, Course

NBGRADER = ("stock", "ours")


def main(name: str, course: str, folder: str) -> None:
    warnings.simplefilter("ignore")
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed goes to the log
    os.chdir(course)
    (lesson,) = Course(Path(course)).assignments_in(folder)
    prepare = _nbgrader(lesson) if name in NBGRADER else _bare_limit(lesson, name)
    for line in sys.stdin:
        grade = prepare(line.strip())
        started = time.perf_counter()
        grade()
        print(time.perf_counter() - started, file=out, flush=True)


def _nbgrader(lesson: Assignment) -> Callable[[str], Callable[[], None]]:
    """nbgrader's own programming interface, with the configuration of its course folder."""
    from nbgrader.apps.api import NbGraderAPI
    from traitlets.config.loader import PyFileConfigLoader

    root = str(lesson.course.root)
    config = PyFileConfigLoader("nbgrader_config.py", path=root).load_config()
    config.CourseDirectory.root = root
    api = NbGraderAPI(config=config)

    def grade(student: str) -> None:
        result = api.autograde(lesson.folder, student, force=True)
        if not result["success"]:
            raise SystemExit(f"{student} was not graded: {result['log']} {result.get('error', '')}")

    return lambda student: lambda: grade(student)


def _bare_limit(lesson: Assignment, which: str) -> Callable[[str], Callable[[], None]]:
    limit = BareLimit(lesson, which)

    def prepare(student: str) -> Callable[[], None]:
        folder = lesson.course.folders.submitted(student, lesson.folder)
        cells = limit.cells(folder)
        return lambda: limit.run(cells, folder)

    return prepare


if __name__ == "__main__":
    main(*sys.argv[1:])
