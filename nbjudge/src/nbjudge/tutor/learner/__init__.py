"""The learner's half of the tutor: `check`, its panel, and the record of what a learner has done.

It runs in the learner's kernel, knows nothing of what is right, and imports nothing else of nbjudge before
there is a tutor: the sandbox that grades exposes this package alone.
"""

from __future__ import annotations

import os
from pathlib import Path

ADDRESS, COURSE = "NBJUDGE_TUTOR", "NBJUDGE_COURSE"  # environment variables
OFF = "off"  # as an address: use no tutor
NO_TUTOR = (
    "This copy of the notebooks comes without the tutor. The examples above test your answer; its grade will "
    "tell you the rest: ask your teacher."
)


class TutorMissingError(Exception):
    """There is no tutor; the message says what to do."""


def has_tutor(course: Path | None = None) -> bool:
    """Return whether `check` has a tutor: at the address that is set, or of a course on this machine.

    Parameters
    ----------
    course
        The course's folder, if its own package knows it (see `nbjudge.tutor.begin_notebook`).
    """
    address = os.environ.get(ADDRESS)
    return address != OFF and (address or course or course_around(Path.cwd())) is not None


def course_around(folder: Path) -> Path | None:
    """The course that the environment names, or the nearest folder around that has checks and sources."""
    if named := os.environ.get(COURSE):
        return Path(named).absolute()
    for around in (folder, *folder.parents):
        if any(around.glob("checks/**/*.py")) and any(around.glob("source/*/*.ipynb")):
            return around
    return None
