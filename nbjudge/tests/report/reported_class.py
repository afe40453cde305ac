"""A small class that nbgrader's own command grades. Its names hold what breaks pages and spreadsheets."""

from pathlib import Path

from nbgrader.api import Gradebook
from tiny_course import FOLDER, NAME, answered, hand_in, make_course, succeed

MARKUP = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'
FORMULA = "=HYPERLINK(1)"
LATE, COMMA, TAG, BROKEN = "beryl", "Chloë, jr", "&lt;b&gt;dora", "edith"
ABSENT, UNGRADED = "frances", "grace"
RENAMED = "Chloë <b>2.ipynb"
NOT_DOUBLED = "def double(x):\n    return x * 1"
NOT_WRITTEN = "def row_sums(x):\n    raise NotImplementedError()"
OWN_WORDS = "class BerylsError(Exception):\n    pass\n\nraise BerylsError('Beryl was here <b>')"


def make_class(root: Path) -> None:
    """A course, what six students handed in, and their grades; one more hands in when all is done."""
    make_course(root)
    hand_in(root, "ada", answered())
    hand_in(root, LATE, answered(biggest=OWN_WORDS))
    hand_in(root, COMMA, answered(double=NOT_DOUBLED), RENAMED)
    hand_in(root, FORMULA, answered(double=NOT_DOUBLED), RENAMED)
    hand_in(root, TAG, answered(double=NOT_DOUBLED, row_sums=NOT_WRITTEN))
    hand_in(root, BROKEN, b'{"cells": [')
    with opened(root) as gradebook:
        gradebook.add_student(TAG, first_name="Dora", last_name=MARKUP)
        gradebook.add_student(ABSENT)
    succeed(root, "autograde", FOLDER)
    hand_in(root, UNGRADED, answered())
    with opened(root) as gradebook:
        # A person has marked one answer of ada's and means to look at another; beryl was late.
        gradebook.find_grade("test_double", NAME, FOLDER, "ada").manual_score = 1.5
        gradebook.find_grade("test_biggest", NAME, FOLDER, "ada").needs_manual_grade = True
        gradebook.find_submission_notebook(NAME, FOLDER, LATE).late_submission_penalty = 1
        gradebook.db.commit()


def opened(root: Path) -> Gradebook:
    return Gradebook(f"sqlite:///{root / 'gradebook.db'}", "tiny")
