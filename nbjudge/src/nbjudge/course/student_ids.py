"""Which names of submission folders can be students' ids."""

from __future__ import annotations

import re
import unicodedata

from nbjudge.plain_text import shown_name

LONGEST_ID = 128  # characters that fit into nbgrader's gradebook
# Letters and marks that are drawn as nothing: two ids that differ in one would look the same.
BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
# The formgrader's pages put an id into markup and scripts as it is.
MARKUP = re.compile(r"[<>\\`]|\"(?=.*[=(\[{;])|[=(\[{;].*\"")


def invalid_id_reason(student: str) -> str | None:
    """The reason why this name cannot be a student's id, in a sentence; None if it can."""
    if BLANK.search(student) or any(map(_is_invisible, student)):
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


def _is_invisible(character: str) -> bool:
    """Whether it steers how text is set (such as U+200B and U+00AD), ends a line, or is no character yet."""
    return unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")
