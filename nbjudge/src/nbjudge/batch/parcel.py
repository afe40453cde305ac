"""A lesson as data: what a worker needs of the course, and nothing else of it.

The key that makes the inputs unpredictable, the gradebook and the other submissions stay behind.
"""

from __future__ import annotations

import atexit
import hashlib
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from nbjudge.course.course import Course, Lesson
from nbjudge.read.files import LITTER

LONG_AGO = (1980, 1, 1, 0, 0, 0)  # so that the same files make the same parcel


@dataclass(frozen=True)
class Parcel:
    """An assignment folder's notebooks, solutions, given files and checks, zipped."""

    folder: str
    source: str  # the names of the course's folders
    solutions: str
    content: bytes

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def pack(course: Course, folder: str) -> Parcel:
    """Pack the assignment `folder` (`01_dot_product`) of a course."""
    root = course.root
    parts = [root / course.source / folder, root / course.solutions / folder]
    for lesson in course.lessons_in(folder):
        parts += [root / "checks" / f"{lesson.name}.py", root / "checks" / lesson.name]
    files = {file for part in parts for file in (part, *part.rglob("*")) if file.is_file()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(files):
            relative = file.relative_to(root)
            if not LITTER & set(relative.parts):
                archive.writestr(zipfile.ZipInfo(str(relative), LONG_AGO), file.read_bytes())
    return Parcel(folder, course.source, course.solutions, buffer.getvalue())


def opened(parcel: Parcel, name: str) -> Lesson:
    """The lesson `name` of a parcel, unpacked once in this process; a process keeps one parcel."""
    if parcel.digest not in _opened:
        close()
        folder = TemporaryDirectory(prefix="nbjudge-")
        with zipfile.ZipFile(io.BytesIO(parcel.content)) as archive:
            archive.extractall(folder.name)
        _opened[parcel.digest] = folder, Course(Path(folder.name), parcel.source, parcel.solutions)
    _, course = _opened[parcel.digest]
    return next(lesson for lesson in course.lessons_in(parcel.folder) if lesson.name == name)


_opened: dict[str, tuple[TemporaryDirectory[str], Course]] = {}


@atexit.register
def close() -> None:
    """Remove what was unpacked."""
    while _opened:
        _opened.popitem()[1][0].cleanup()
