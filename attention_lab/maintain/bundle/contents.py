"""What a student is given: the files of each lesson, and the modules of the helper package."""

from __future__ import annotations

from pathlib import Path

from attention_lab.students import STUDENT_MODULES
from nbjudge.course.course import Course
from nbjudge.submission.files import CACHE_FOLDERS
from nbjudge.tutor.material import tutor_options

NAME = "attention-lab"
LESSONS = "lessons"
SETTINGS = "nbgrader_config.py"  # of the tutor
# What the helper package has beside its modules for students, if it brings a tutor: what checks import.
TUTOR_MODULES = ("authoring",)


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


def tutor_files(course: Course) -> dict[str, bytes]:
    """Return the checks and the source notebooks, by their names beside the package (`checks/mask/mask.py`).

    With the settings of the tutor, if the course has any: they hold in the zip, too.
    """
    folders = {"checks": (course.folders.checks, "py"), "source": (course.folders.source, "ipynb")}
    files = {
        f"{name}/{file.relative_to(folder).as_posix()}": file.read_bytes()
        for name, (folder, kind) in folders.items()
        for file in sorted(folder.rglob(f"*.{kind}"))
        if not CACHE_FOLDERS & set(file.parts)
    }
    if options := tutor_options(course):
        lines = [f"c.Tutor.{name} = {value!r}" for name, value in options.items()]
        files[SETTINGS] = "\n".join(["c = get_config()", *lines, ""]).encode()
    return files


def package_files(root: Path, tutor: bool = False) -> list[str]:
    """The files of the helper package (`attention_lab/corpus/words/tech.toml`), from the course's folder."""
    package = root / "attention_lab"
    places = (package / name for name in (*STUDENT_MODULES, *(TUTOR_MODULES if tutor else ())))
    files = (
        file
        for place in places
        for file in (place.rglob("*") if place.is_dir() else [place.with_suffix(".py")])
        if file.is_file()
    )
    return sorted(file.relative_to(root).as_posix() for file in files if not CACHE_FOLDERS & set(file.parts))
