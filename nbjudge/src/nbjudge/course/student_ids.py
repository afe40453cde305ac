"""Which names of submission folders can be students' ids."""

from __future__ import annotations

import re

from nbjudge.plain_text import NOT_SHOWN, shown_name

LONGEST_ID = 128  # characters that nbgrader's gradebook has room for
# The formgrader's pages put an id into markup and scripts as it is.
MARKUP = re.compile(r"[<>\\`]|\"(?=.*[=(\[{;])|[=(\[{;].*\"")


def invalid_id_reason(student: str) -> str | None:
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
