"""Course folders to measure in, and classes that hand in: made for a benchmark, never a real class's."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from itertools import cycle
from pathlib import Path

from nbgrader.api import Gradebook

from attention_lab.maintain.build import register
from attention_lab.maintain.demo.class_folder import submit
from attention_lab.maintain.demo.hand_ins import HandIn, Writer
from attention_lab.maintain.demo.material import material_of
from nbjudge.course import CACHE_FOLDERS, Assignment, Course, read_notebook

ROOT = Path(__file__).parents[1]
SEED = 7  # the same class every time
WITHOUT_CACHES = shutil.ignore_patterns(*CACHE_FOLDERS)
# nbgrader as it comes, told only what the course itself needs.
STOCK = """
c = get_config()
c.CourseDirectory.solution_directory = "solutions"
c.ClearMarkScheme.enforce_metadata = False
"""


def lesson_named(name: str) -> Assignment:
    """The course's own lesson in the folder `name`. Raises SystemExit where there is none."""
    lessons = Course(ROOT).assignments.values()
    for lesson in lessons:
        if name in (lesson.folder, lesson.name):
            return lesson
    raise SystemExit(
        f"There is no lesson {name!r}. There are: {', '.join(lesson.folder for lesson in lessons)}."
    )


def new_course(folder: Path, lesson: Assignment, stock: bool = False) -> Assignment:
    """The same lesson in a course of its own, released and entered into a new gradebook."""
    for part in (lesson.source_path.parent, lesson.solution_path.parent, ROOT / "checks"):
        shutil.copytree(part, folder / part.relative_to(ROOT), ignore=WITHOUT_CACHES)
    config = STOCK if stock else (ROOT / "nbgrader_config.py").read_text(encoding="utf-8")
    (folder / "nbgrader_config.py").write_text(config, encoding="utf-8")
    fresh = in_course(folder, lesson)
    register(fresh)
    return fresh


def in_course(folder: Path, lesson: Assignment) -> Assignment:
    """The same lesson in another course folder."""
    return Assignment(Course(folder), lesson.folder, lesson.name)


def right_class(lesson: Assignment, count: int) -> dict[str, HandIn]:
    """A class that has everything right, each student in a way of their own. `lesson` must be released."""
    writer = _writer(lesson)
    return dict(zip(_names(count), iter(writer.another_way, None), strict=False))


def ordinary_class(lesson: Assignment, count: int) -> dict[str, HandIn]:
    """A class as classes are, without those whose notebooks wait for limits to run out."""
    writer = _writer(lesson)
    kinds = (
        writer.one_mistake,
        writer.another_way,
        writer.several_mistakes,
        writer.as_taught,
        writer.partly_done,
        writer.another_way,
        writer.one_mistake,
        writer.moved_and_deleted,
        writer.own_helpers,
        writer.blank,
    )
    return {name: write() for name, write in zip(_names(count), cycle(kinds), strict=False)}


def hand_in(lesson: Assignment, hand_ins: dict[str, HandIn], students: Iterable[str]) -> None:
    """Let these students, and no one else, have handed in."""
    shutil.rmtree(lesson.course.folders.by_step()["submitted"], ignore_errors=True)
    for student in students:
        submit(lesson, student, hand_ins[student])


def graded_notebook(lesson: Assignment, student: str) -> Path:
    return lesson.course.folders.autograded(student, lesson.folder) / f"{lesson.name}.ipynb"


def not_in_full(lesson: Assignment, students: Iterable[str]) -> list[str]:
    """Those of the students to whom the gradebook does not give every point that a grader can give."""
    with Gradebook(f"sqlite:///{lesson.course.root / 'gradebook.db'}") as gradebook:
        scores = {
            student: gradebook.find_submission(lesson.folder, student)
            for student in students
            if graded_notebook(lesson, student).is_file()
        }
        full = {name for name, found in scores.items() if found.code_score == found.max_code_score}
    return [student for student in students if student not in full]


def _writer(lesson: Assignment) -> Writer:
    return Writer(material_of(lesson, read_notebook(lesson.release_path)), SEED)


def _names(count: int) -> Iterator[str]:
    return (f"student_{number:04}" for number in range(count))
