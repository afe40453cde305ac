"""Where we and stock nbgrader give different scores to the same fixture, and why that is meant."""

from __future__ import annotations

from dataclasses import dataclass

# Points, and how many cells wait for someone to mark them; None where there is no grade at all.
Points = tuple[float, int] | None


@dataclass(frozen=True)
class Difference:
    stock: Points
    ours: Points
    reason: str


GIVES_UP = (
    "Stock nbgrader gives up on this student and ends with an error. We read a submission's text only, so a "
    "changed cell type means nothing: the cell is the lesson's own, and what is not answered is 0."
)
UNMARKED = (
    "Stock nbgrader finds none of its cells and leaves every score open. We find the cells by what they "
    "define, so the work gets its marks."
)
NO_FILE = (
    "Stock nbgrader writes 0 for what was not handed in, written answers too. We grade an empty notebook "
    "that says so; its written answers wait for a person, like every blank one."
)
NO_GRADE = (
    "The test's own result is no grade: nbgrader stops at it and leaves the student without one. With us it "
    "is 0 with a reason."
)
TOO_MANY = (
    "The test's own result is above its cell's points: nbgrader stops at it and leaves the student without a "
    "grade. With us it counts as all of them, which the highest number that is allowed would give as well."
)

DIFFERENCES = {
    "variables answer-cell-type-changed p1": Difference((0, 4), (1, 0), GIVES_UP),
    "variables grade-cell-type-changed p1": Difference((0, 4), (1, 0), GIVES_UP),
    "squares no-metadata p1": Difference((0, 6), (3, 2), UNMARKED),
    "squares no-metadata-autotest p1": Difference((0, 6), (3, 2), UNMARKED),
    "old_formats v0-invalid p1": Difference(
        (0, 6),
        (3, 2),
        "`nbgrader update` refuses a cell without a name, so stock nbgrader cannot grade the notebook. We "
        "need no update, and miss that one cell only.",
    ),
    "old_formats too-new p1": Difference(
        (0, 6),
        (0, 2),
        "Stock nbgrader stops the whole class at it. It is another notebook under this name: 0, with that "
        "reason.",
    ),
    "missing without-p2 p2": Difference((0, 0), (0, 2), NO_FILE),
    "missing empty-folder p1": Difference(None, (0, 2), NO_FILE),
    "missing empty-folder p2": Difference(None, (0, 2), NO_FILE),
    "ps1_archive hacker-again problem2": Difference((0, 0), (0, 2), NO_FILE),
    "ps1_archive hacker problem1": Difference(
        (0, 0),
        (3, 2),
        "It was handed in as `myproblem1.ipynb`, which stock nbgrader passes over. We grade it and say so.",
    ),
    "ps1_autotest hacker problem1": Difference(
        (3, 4),
        (3, 3),
        "The submission is older than the lesson's last test, which is worth 0 points. Stock nbgrader "
        "leaves it open; we run the lesson's own tests, so it is judged.",
    ),
    "results empty p1": Difference((0, 1), (0, 0), NO_GRADE),
    "results too-many p1": Difference((0, 1), (2, 0), TOO_MANY),
}
