"""What is in git: the course, and nothing of a class's."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def git(*arguments: str) -> list[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True).stdout.split()


CLASS_DATA = ("submitted", "autograded", "feedback")
COURSE = ("source", "release", "solutions")


def test_nothing_is_in_git_that_gitignore_names():
    assert git("ls-files", "--cached", "--ignored", "--exclude-standard")[:5] == []


def test_a_classs_data_is_not_in_git():
    assert set(git("ls-files", *CLASS_DATA)) <= {f"{folder}/README.md" for folder in CLASS_DATA}
    private = [f"{folder}/ada/01_dot_product/dot_product.ipynb" for folder in CLASS_DATA]
    private += ["gradebook.db", "gradebook.db-journal", ".grading-key", "demo/gradebook.db"]
    private += [".grading-lock", ".graded-solutions", "nbgrader.log", "reports/01_dot_product/students.csv"]
    assert git("check-ignore", "--no-index", *private) == private


def test_what_the_course_is_made_of_is_not_ignored():
    notebooks = [f"{folder}/01_dot_product/dot_product.ipynb" for folder in COURSE]
    readmes = [f"{folder}/README.md" for folder in (*CLASS_DATA, *COURSE)]
    assert git("check-ignore", "--no-index", *notebooks, *readmes, "checks/dot_product/softmax.py") == []
