"""An assignment as a zip archive: what a worker needs of the course, and nothing else of it.

The key that makes the inputs unpredictable, the gradebook and the other submissions stay behind.
"""

from __future__ import annotations

import atexit
import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from nbjudge.course.course import Assignment, Course
from nbjudge.course.folders import CourseFolders
from nbjudge.submission.files import CACHE_FOLDERS

SETTINGS = "nbgrader_config.json"  # what the worker's `Course` reads
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)  # so that the same files make the same archive


@dataclass(frozen=True)
class AssignmentArchive:
    """A zip of an assignment's notebooks, solutions, given files and checks, and of a setting of the course.

    Inside, the folders have nbgrader's default names, whatever they are called in the course.
    """

    folder: str
    content: bytes

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def pack_assignment(course: Course, folder: str) -> AssignmentArchive:
    """Pack the assignment `folder` (`ps1`) of a course."""
    there, inside = course.folders, CourseFolders(Path())
    tops = {there.source / folder: inside.source / folder, there.solution / folder: inside.solution / folder}
    for assignment in course.assignments_in(folder):
        for file in assignment.checks_files:
            tops[file] = inside.checks / file.name
    names = {
        name / file.relative_to(top): file
        for top, name in tops.items()
        for file in (top, *top.rglob("*"))
        if file.is_file()
    }
    settings = {"RunAndJudge": {"changed_arguments": course.changed_arguments}}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(SETTINGS, ZIP_EPOCH), json.dumps(settings))
        for name in sorted(names):
            if not CACHE_FOLDERS & set(name.parts):
                archive.writestr(zipfile.ZipInfo(str(name), ZIP_EPOCH), names[name].read_bytes())
    return AssignmentArchive(folder, buffer.getvalue())


def unpacked_assignment(archive: AssignmentArchive, name: str) -> Assignment:
    """The assignment `name` of an archive, unpacked once in this process; a process keeps one archive."""
    if archive.digest not in _unpacked:
        remove_unpacked()
        folder = TemporaryDirectory(prefix="nbjudge-")
        with zipfile.ZipFile(io.BytesIO(archive.content)) as content:
            content.extractall(folder.name)
        root = Path(folder.name)
        _unpacked[archive.digest] = folder, Course(root, CourseFolders(root))
    _, course = _unpacked[archive.digest]
    return next(assignment for assignment in course.assignments_in(archive.folder) if assignment.name == name)


_unpacked: dict[str, tuple[TemporaryDirectory[str], Course]] = {}


@atexit.register
def remove_unpacked() -> None:
    """Remove what was unpacked."""
    while _unpacked:
        _unpacked.popitem()[1][0].cleanup()
