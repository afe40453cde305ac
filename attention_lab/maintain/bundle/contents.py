"""What a student is given: the files of each lesson, and the modules of the helper package."""

from __future__ import annotations

from pathlib import Path

from attention_lab.students import STUDENT_MODULES
from nbjudge.course.course import Course
from nbjudge.submission.files import CACHE_FOLDERS

NAME = "attention-lab"
LESSONS = "lessons"
# Where the helper package keeps the recordings that a class's tutor works with.
RECORDED = "attention_lab/course/recorded"


def lesson_files(course: Course) -> list[str]:
    """What students get of the lessons (`02_scaling/scaling.ipynb`): notebooks, and what is beside them."""
    source = course.folders.source
    folders = {source / lesson.folder for lesson in course.assignments.values()}
    files = (file for folder in folders for file in folder.rglob("*") if file.is_file())
    return sorted(
        file.relative_to(source).as_posix() for file in files if not CACHE_FOLDERS & set(file.parts)
    )


def grader_files(root: Path) -> dict[str, Path]:
    """Return the files of the package nbjudge by their names in its wheel, from the course's folder."""
    source = root / "nbjudge" / "src"
    files = (file for file in sorted((source / "nbjudge").rglob("*")) if file.is_file())
    return {
        file.relative_to(source).as_posix(): file for file in files if not CACHE_FOLDERS & set(file.parts)
    }


def package_files(root: Path) -> list[str]:
    """The files of the helper package (`attention_lab/corpus/words/tech.toml`), from the course's folder."""
    package = root / "attention_lab"
    places = (package / name for name in STUDENT_MODULES)
    files = (
        file
        for place in places
        for file in (place.rglob("*") if place.is_dir() else [place.with_suffix(".py")])
        if file.is_file()
    )
    return sorted(file.relative_to(root).as_posix() for file in files if not CACHE_FOLDERS & set(file.parts))
