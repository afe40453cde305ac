"""What a student is given: the files of each lesson, and two wheels, of nbjudge and of the course."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from attention_lab.students import STUDENT_MODULES
from nbjudge import CourseError
from nbjudge.course import CACHE_FOLDERS, Course
from nbjudge.tutor import tutor_options

NAME = "attention-lab"
LESSONS = "lessons"
SETTINGS = "nbgrader_config.py"  # of the tutor
# What the helper package has beside its modules for students, if it brings a tutor: what checks import.
TUTOR_MODULES = ("authoring",)
BLUEPRINT = "exam.toml"  # what exams are drawn from, with the keys of their questions
FIRST_DATE = "315532800"  # the first second of 1980, before which no zip can go


def lesson_files(course: Course) -> list[str]:
    """List lessons' files for students: notebooks (`02_scaling/scaling.ipynb`), and files beside them."""
    folders = {course.folders.source / lesson.folder for lesson in course.choose("*")}
    return sorted(name for folder in folders for name in _files(folder, course.folders.source))


def grader_files(root: Path) -> dict[str, Path]:
    """Return the files of the package nbjudge by their names in its wheel, from the course's folder."""
    return _files(root / "nbjudge/src/nbjudge", root / "nbjudge/src")


def tutor_files(course: Course) -> dict[str, bytes]:
    """Return the checks and the source notebooks, by their names beside the package (`checks/mask/mask.py`).

    With the settings of the tutor, if the course has any: they hold in the zip, too. Exams stay behind, and
    so does what they are drawn from.
    """
    checks, source = course.folders.checks, course.folders.source
    exams = {each.folder for each in course.assignments.values() if each.is_exam}
    folders = (("checks", checks, "py"), ("checks", checks, "toml"), ("source", source, "ipynb"))
    files = {
        f"{name}/{within}": file.read_bytes()
        for name, folder, kind in folders
        for within, file in _files(folder, folder, f"*.{kind}").items()
        if file.name != BLUEPRINT and within.partition("/")[0] not in exams
    }
    if options := tutor_options(course):
        lines = [f"c.Tutor.{name} = {value!r}" for name, value in options.items()]
        files[SETTINGS] = "\n".join(["c = get_config()", *lines, ""]).encode()
    return files


def package_files(root: Path, tutor: bool = False) -> list[str]:
    """The files of the helper package (`attention_lab/corpus/words/tech.toml`), from the course's folder."""
    package = root / "attention_lab"
    names = (*STUDENT_MODULES, *(TUTOR_MODULES if tutor else ()))
    modules = [f"attention_lab/{name}.py" for name in names if (package / f"{name}.py").is_file()]
    return sorted([*modules, *(file for name in names for file in _files(package / name, root))])


def _files(folder: Path, root: Path, pattern: str = "*") -> dict[str, Path]:
    """Return the files below a folder, without caches, by their names from `root`."""
    files = (file for file in sorted(folder.rglob(pattern)) if file.is_file())
    return {file.relative_to(root).as_posix(): file for file in files if not CACHE_FOLDERS & set(file.parts)}


def build_wheels(root: Path, folder: Path, for_tutor: Mapping[str, bytes] | None = None) -> tuple[Path, Path]:
    """Build the wheels of nbjudge and of the students' package.

    Each is built from a copy that holds nothing else, so nothing else can be in it, and with the
    installed setuptools: nothing is downloaded.

    Parameters
    ----------
    root
        The course's folder, a clone of the repository.
    folder
        Where the wheels are written to.
    for_tutor
        The checks, sources and settings that a tutor works with (`tutor_files`), if there is one.

    Returns
    -------
    tuple of Path
        The wheel of nbjudge, and the one of the students' package.

    Raises
    ------
    CourseError
        If a wheel cannot be built.
    """
    grader, course = folder / "grader", folder / "course"
    # Not the grader's own folder: building a package leaves files beside it.
    _copy(root / "nbjudge", grader, [f"src/{name}" for name in grader_files(root)])
    release = sorted(path.relative_to(root).as_posix() for path in (root / "release").glob("*/*"))
    _copy(root, course, [*package_files(root, for_tutor is not None), *release])
    # setuptools looks for packages among the folders it finds, and pyproject.toml says what goes into them
    for name in ("lessons", *(("course/checks", "course/source") if for_tutor else ())):
        (course / "attention_lab" / name).mkdir(parents=True)
    for name, content in (for_tutor or {}).items():
        target = course / ("attention_lab/course" if name == SETTINGS else "") / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(0o644)
    for tree in (grader, course):
        (tree / "setup.cfg").write_text(f"[egg_info]\ntag_build = +{_digest(tree)}\n")
    return _build(grader, folder / "nbjudge"), _build(course, folder / "attention-lab")


def _digest(tree: Path) -> str:
    """Return the end of the wheel's version, which differs where its content does.

    pip does not install a wheel over an installed one of the same version.
    """
    digest = hashlib.sha256()
    for file in sorted(path for path in tree.rglob("*") if path.is_file()):
        digest.update(
            file.relative_to(tree).as_posix().encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest()
        )
    return digest.hexdigest()[:12]


def _copy(root: Path, target: Path, names: Iterable[str]) -> None:
    """Copy the files of a distribution, all with the same rights, which a wheel keeps."""
    readme = tomllib.loads((root / "pyproject.toml").read_text())["project"]["readme"]
    about = {readme, "pyproject.toml", *(path.name for path in root.glob("LICENSE*"))}
    for name in (*names, *sorted(about)):
        if not (root / name).is_file():
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, target / name)
        (target / name).chmod(0o644)


def _build(tree: Path, folder: Path) -> Path:
    """Build the wheel of the distribution in `tree` into `folder`."""
    run = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir", "wheel", "--quiet"]
        + ["--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(folder), str(tree)],
        capture_output=True,
        text=True,
        env=os.environ | {"SOURCE_DATE_EPOCH": FIRST_DATE},
    )
    built = list(folder.glob("*.whl"))
    if run.returncode != 0 or len(built) != 1:
        raise CourseError(
            "The package for students cannot be built: install the course with its group `bundle`, "
            f"or read pip's last words: {run.stderr.strip()[-400:]}"
        )
    return built[0]
