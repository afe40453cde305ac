"""The zip that students get: the lessons, what they are opened with, and nothing that gives answers away."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

import attention_lab
from attention_lab.maintain.bundle.contents import (
    LESSONS,
    NAME,
    build_wheels,
    lesson_files,
    tutor_files,
)
from attention_lab.maintain.bundle.gate import leaks
from nbjudge import CourseError
from nbjudge.course import Course

README = Path(__file__).with_name("students_readme.md")
LICENCES = ("LICENSE", "LICENSE-CONTENT")
# The same files make the same zip, to the byte: every file has this date, the first that a zip can say.
DATE = (1980, 1, 1, 0, 0, 0)


def make_bundle(course: Course, folder: Path, console: Console, tutor: bool = False) -> Path:
    """Write the zip for students into `folder` and look through it; returns its path.

    With `tutor`, it brings the whole one, and so the checks and the solutions.
    Raises CourseError, and leaves no zip behind, where anything in it would give an answer away, or is
    not what the sources make.
    """
    goal = folder / f"{NAME}-{attention_lab.__version__}.zip"
    members = _members(course)
    with TemporaryDirectory(prefix="attention-lab-bundle-") as draft:
        with console.status("The two packages …"):
            wheels = build_wheels(course.root, Path(draft), tutor_files(course) if tutor else None)
        draft_zip = Path(draft) / goal.name
        _write_zip(draft_zip, members | _documents(course, *wheels))
        with console.status("Looking for leaks …"):
            found = leaks(draft_zip, course, tutor)
        for problem in found:
            console.print(f"[red]✗[/] {problem}", highlight=False, soft_wrap=True)
        if found:
            raise CourseError(f"No zip was made: fix the findings above first ({len(found)}).")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(draft_zip, goal)
        except OSError as error:
            goal.unlink(missing_ok=True)
            raise CourseError(
                f"The zip cannot be written to {goal} ({error.strerror}): "
                "free some space there, or choose another folder with --folder."
            ) from error
    return goal


def _members(course: Course) -> dict[str, bytes]:
    """Return what goes into the zip as it is, by name there."""
    release = course.folders.release
    lessons = {f"{LESSONS}/{name}": _released(release / name) for name in lesson_files(course)}
    return lessons | {name: (course.root / name).read_bytes() for name in LICENCES}


def _documents(course: Course, grader: Path, wheel: Path) -> dict[str, bytes]:
    """The wheels, and the files that name them."""
    environment = (course.root / "environment.yml").read_text()
    return {
        grader.name: grader.read_bytes(),
        wheel.name: wheel.read_bytes(),
        "README.md": README.read_text().format(grader=grader.name, wheel=wheel.name).encode(),
        "environment.yml": _with_wheels(environment, grader.name, wheel.name).encode(),
    }


def _released(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise CourseError(f"{file} cannot be read ({error.strerror}): run `make build` first.") from None


def _with_wheels(environment: str, grader: str, wheel: str) -> str:
    """The course's conda environment with the wheels in place of the course's own folders."""
    lines = [line for line in environment.splitlines() if not line.startswith("# The versions")]
    changed = [_with_wheel(_with_wheel(line, "./nbjudge[", grader), ".[", f"{wheel}[lab]") for line in lines]
    if sum(before != after for before, after in zip(lines, changed, strict=True)) != 2:
        raise CourseError(
            "environment.yml has no lines `- -e ./nbjudge[…]` and `- -e .[…]`: restore them, because the zip "
            "puts its wheels in their place."
        )
    return "\n".join(changed) + "\n"


def _with_wheel(line: str, folder: str, wheel: str) -> str:
    return f"      - ./{wheel}" if line.lstrip().startswith(f"- -e {folder}") else line


def _write_zip(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(members):
            about = zipfile.ZipInfo(f"{NAME}/{name}", DATE)
            about.external_attr = 0o644 << 16
            archive.writestr(about, members[name], zipfile.ZIP_DEFLATED, compresslevel=9)
