"""A course folder: its assignments, checks, configuration, students and gradebook.

`find_course` returns the `Course` around a folder, `open_course` that of a root; its `Assignment` objects
know where source, release and submissions are and which exercises they have. The other public names read
notebooks, settings and the gradebook's address, and tell which definitions a piece of code needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbjudge import lazily

if TYPE_CHECKING:
    from nbjudge.course.assignment_forms import released as released
    from nbjudge.course.assignment_forms import solved as solved
    from nbjudge.course.configuration import CONFIG_FILE as CONFIG_FILE
    from nbjudge.course.configuration import options_of as options_of
    from nbjudge.course.configuration import read_config as read_config
    from nbjudge.course.course import Assignment as Assignment
    from nbjudge.course.course import Course as Course
    from nbjudge.course.course import find_course as find_course
    from nbjudge.course.course import open_course as open_course
    from nbjudge.course.folders import CourseFolders as CourseFolders
    from nbjudge.course.folders import read_folders as read_folders
    from nbjudge.course.gradebook import UNREADABLE as UNREADABLE
    from nbjudge.course.gradebook import gradebook_url as gradebook_url
    from nbjudge.course.gradebook import sqlite_file as sqlite_file
    from nbjudge.course.loading import PlainCell as PlainCell
    from nbjudge.course.loading import read_notebook as read_notebook
    from nbjudge.course.loading import read_plain_cells as read_plain_cells
    from nbjudge.mathml import mathml as mathml
    from nbjudge.parsing import global_names as global_names
    from nbjudge.parsing import reached as reached
    from nbjudge.parsing import source_of as source_of
    from nbjudge.settings import SECTIONS as SECTIONS
    from nbjudge.submission.files import CACHE_FOLDERS as CACHE_FOLDERS

__getattr__, __all__ = lazily(
    __name__,
    {
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
    },
)
