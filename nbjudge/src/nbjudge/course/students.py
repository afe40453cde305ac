"""Who handed in an assignment, and whose folder's name cannot be a student's id."""

from __future__ import annotations

import glob
import re
from pathlib import Path

from nbjudge.plain_text import NOT_SHOWN, shown_name
from nbjudge.read.files import LITTER

ANYBODY = "\N{OBJECT REPLACEMENT CHARACTER}"  # stands for a student where there is none
LONGEST_ID = 128  # characters that nbgrader's gradebook has room for
# The formgrader's pages put an id into markup and scripts as it is.
MARKUP = re.compile(r"[<>\\`]|\"(?=.*[=(\[{;])|[=(\[{;].*\"")


def students(root: Path, structure: str, submitted: str, assignment: str) -> list[str]:
    """The ids of those who handed in something for an assignment, a folder or whatever lies in its place."""
    place = structure.format(nbgrader_step=submitted, student_id=ANYBODY, assignment_id=assignment)
    anybody = str(root / place)
    found = glob.glob(glob.escape(anybody).replace(ANYBODY, "*"), include_hidden=True)
    pattern = re.compile(re.escape(anybody).replace(ANYBODY, "([^/]+)"))
    matches = (pattern.fullmatch(path) for path in found)
    return sorted(match.group(1) for match in matches if match and match.group(1) not in LITTER)


def why_no_id(student: str) -> str | None:
    """Why nobody can be graded under this name, in a sentence; None where they can."""
    if NOT_SHOWN.search(student) or "\n" in student or "\t" in student:
        what = "holds characters that cannot be shown"
    elif student.strip() != student:
        what = "begins or ends with a space"
    elif len(student) > LONGEST_ID:
        what = f"is longer than {LONGEST_ID} characters"
    elif MARKUP.search(student):
        what = "holds characters that nbgrader's pages would take for code"
    else:
        return None
    return f"The folder's name {shown_name(student)} {what}, and cannot be a student's id: rename the folder."
