"""A course that begins to be graded with this package: the lines in its nbgrader_config.py."""

from __future__ import annotations

import re
from pathlib import Path

from nbjudge.course.configuration import CONFIG_FILE, read_config

LINES = """
# Graded with nbjudge: student code in a sandbox, judged from outside of it.
from nbjudge import configure  # noqa: E402

configure(get_config())  # noqa: F821
"""
NEW_FILE = "c = get_config()  # noqa: F821 - nbgrader provides it\n"


def add_to_configuration(root: Path) -> str:
    """Add what a course needs to its configuration, or make one; what was done, as a sentence.

    Raises CourseError where the file does not load.
    """
    path = root / CONFIG_FILE
    read_config(root)
    old = path.read_text() if path.exists() else ""
    if re.search(r"^\s*configure\(", old, re.MULTILINE):
        return f"{path} is left as it is: it calls `configure` already."
    path.write_text((old or NEW_FILE).rstrip("\n") + f"\n{LINES}")
    done = "Added three lines to" if old else "Made"
    return f"{done} {path}: submissions are graded with nbjudge from now on."
