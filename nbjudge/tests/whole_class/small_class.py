"""A small class that hands in everything a class hands in, and all that is left of its grading."""

import json
import os
import re
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.api import Gradebook
from tiny_course import CONFIG, FOLDER, answered, hand_in, make_course, release, source, written_question

DUE = datetime(2030, 1, 1, 12)
# Students who are late get nothing, so that it is seen.
LATE = "\nc.LateSubmissionPlugin.penalty_method = 'zero'\n"
ROW_SUMS_OF_ALL = "def row_sums(x):\n    return x.sum()"
UNCHANGED = "def double(x):\n    return x * 1"
KILLER = "import os\ndef biggest(x):\n    os._exit(1)"


def make_class(root: Path) -> None:
    """A course with a written question, and ten students who have handed it in."""
    lesson = source()
    lesson.cells.insert(-1, written_question())
    make_course(root, CONFIG + LATE, lesson)
    (root / ".grading-key").write_text("5" * 64)  # the same inputs in every copy
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        gradebook.update_or_create_assignment(FOLDER, duedate=DUE)
    hand_in(root, "ada", with_reasons(answered()))
    hand_in(root, "ben", with_reasons(answered(double=UNCHANGED, row_sums=ROW_SUMS_OF_ALL)))
    hand_in(root, "blank", with_reasons(release(), text=None))
    hand_in(root, "cut off", json.dumps(answered()).encode()[:900])
    hand_in(root, "eve", with_reasons(answered()), name="tiny (1).ipynb")
    hand_in(root, "killer", with_reasons(answered(biggest=KILLER)))
    hand_in(root, "no notebook", None)
    hand_in(root, "Zoë [x] O'Brien", with_reasons(answered(row_sums=ROW_SUMS_OF_ALL)))
    for student, hours in (("in time", -1), ("late", 1)):
        folder = hand_in(root, student, with_reasons(answered()))
        (folder / "timestamp.txt").write_text(f"{DUE + timedelta(hours=hours)} UTC")
    (hand_in(root, "own file", with_reasons(answered())) / "helper.py").write_text("two = 2\n")


def with_reasons(notebook: NotebookNode, text: str | None = "Because <b>of</b> the *rows*.") -> NotebookNode:
    """The notebook with the written question in it, answered or not."""
    question = written_question()
    question.source = question.source if text is None else text
    notebook.cells.insert(-1, question)
    return notebook


def nbjudge(root: Path, *arguments: str, wait: bool = True) -> Any:
    """Run the command in a course: finished, with its words in `stdout`, or just begun."""
    line = [str(Path(sys.executable).parent / "nbjudge"), *arguments]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    start = subprocess.run if wait else subprocess.Popen
    return start(line, cwd=root, env=os.environ | {"COLUMNS": "200"}, **pipes)


def in_gradebook(root: Path, url: str | None = None) -> dict[str, dict[str, Any]]:
    """By student: the late penalty, and of each cell the scores, whether a person is needed, the comment."""
    found = {}
    with Gradebook(url or f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        for submission in gradebook.assignment_submissions(FOLDER):
            (notebook,) = submission.notebooks
            about: dict[str, Any] = {
                grade.name: (grade.auto_score, grade.manual_score, grade.needs_manual_grade, grade.max_score)
                for grade in notebook.grades
            }
            comments = {comment.name: comment.auto_comment for comment in notebook.comments}
            penalty = notebook.late_submission_penalty
            found[submission.student.id] = about | {
                "comments": comments,
                "late penalty": penalty,
                "needs a person": notebook.needs_manual_grade,
                "late by": submission.total_seconds_late,
                "score": notebook.score,
            }
    return found


def notebooks(folder: Path) -> dict[str, Any]:
    """Every file below, notebooks without what no two runs share: addresses in memory, seconds."""
    found: dict[str, Any] = {}
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        text = file.read_text()
        if file.suffix == ".ipynb":
            notebook = json.loads(re.sub(r"0x[0-9a-f]{8,}", "0x", text))
            notebook["metadata"].get("nbjudge", {}).pop("seconds", None)
            for cell in notebook["cells"]:
                if "nbval-ignore-output" in cell["metadata"].get("tags", ()):  # it looks at the clock
                    cell["outputs"] = []
            text = notebook
        found[str(file.relative_to(folder))] = text
    return found
