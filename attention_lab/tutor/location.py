"""Where the tutor is: at the address of a class's, or on this machine, or nowhere."""

from __future__ import annotations

import os
from pathlib import Path

ADDRESS = "ATTENTION_LAB_TUTOR"  # environment variable
OFF = "off"  # as an address: use no tutor
NO_TUTOR = (
    "This copy of the lessons comes without the tutor. The examples above test your answer; its grade will "
    "tell you the rest: ask your teacher."
)


class TutorMissingError(Exception):
    """There is no tutor; the message says what to do."""


def has_tutor() -> bool:
    """Return whether `check` has a tutor: at the address that is set, or on this machine."""
    address = os.environ.get(ADDRESS)
    return address != OFF and (address is not None or course_folder() is not None)


def course_folder() -> Path | None:
    """Return the folder of the course's checks and sources, if there is one."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "course", package.parent):
        if any(folder.glob("checks/**/*.py")) and any(folder.glob("source/*/*.ipynb")):
            return folder
    return None
