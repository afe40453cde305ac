"""A course folder: its assignments, checks, configuration, students and gradebook.

`find_course` returns the `Course` around a folder, `open_course` that of a root; its `Assignment` objects
know where source, release and submissions are and which exercises they have. The other public names read
notebooks, settings and the gradebook's address, and tell which definitions a piece of code needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbjudge.course.assignment_forms import released, solved
    from nbjudge.course.configuration import CONFIG_FILE, options_of, read_config
    from nbjudge.course.course import Assignment, Course, find_course, open_course
    from nbjudge.course.folders import CourseFolders, read_folders
    from nbjudge.course.gradebook import UNREADABLE, gradebook_url, sqlite_file
    from nbjudge.course.loading import PlainCell, read_notebook, read_plain_cells
    from nbjudge.mathml import mathml
    from nbjudge.parsing import global_names, reached, source_of
    from nbjudge.settings import SECTIONS
    from nbjudge.submission.files import CACHE_FOLDERS

# The modules of the public names.
_MODULES = {
    "nbjudge.course.assignment_forms": "released solved",
    "nbjudge.course.configuration": "CONFIG_FILE options_of read_config",
    "nbjudge.course.course": "Assignment Course find_course open_course",
    "nbjudge.course.folders": "CourseFolders read_folders",
    "nbjudge.course.gradebook": "UNREADABLE gradebook_url sqlite_file",
    "nbjudge.course.loading": "PlainCell read_notebook read_plain_cells",
    "nbjudge.mathml": "mathml",
    "nbjudge.parsing": "global_names reached source_of",
    "nbjudge.settings": "SECTIONS",
    "nbjudge.submission.files": "CACHE_FOLDERS",
}
PUBLIC = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, getattr(import_module(PUBLIC[name]), name))


__all__ = [
    "Assignment",
    "CACHE_FOLDERS",
    "CONFIG_FILE",
    "Course",
    "CourseFolders",
    "PlainCell",
    "SECTIONS",
    "UNREADABLE",
    "find_course",
    "global_names",
    "gradebook_url",
    "mathml",
    "open_course",
    "options_of",
    "reached",
    "read_config",
    "read_folders",
    "read_notebook",
    "read_plain_cells",
    "released",
    "solved",
    "source_of",
    "sqlite_file",
]
