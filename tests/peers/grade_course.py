"""Grade all of `peer_courses` in the working folder, in one process, and write down every score.

`python grade_course.py stock|ours`. Importing nbgrader takes longer than grading a small notebook,
so its commands run one after the other in this process. What nbgrader gives up on is written down
with its exit status, not an error. The report is `report.json`.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

from jupyter_core.application import NoStart
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.apps.nbgraderapp import NbGraderApp
from peer_courses import AGAIN, ALL, RELEASED, Assignment


def main(grader: str) -> None:
    report: dict[str, Any] = {"refused": []}
    for assignment in ALL:
        started = time.monotonic()
        hand_out(assignment)
        if assignment.due:
            nbgrader("db", "assignment", "add", assignment.name, "--duedate", assignment.due)
        release(assignment)
        hand_in(assignment)
        if grader == "stock" and assignment.stock_needs_update:
            report["refused"] += grade_one_by_one(assignment)
        else:
            nbgrader("autograde", assignment.name, *assignment.settings)
        print(f"{assignment.name}: {time.monotonic() - started:.1f} s", flush=True)
    hand_in_again()
    Path("report.json").write_text(json.dumps(report | {"scores": scores()}, indent=1))


def hand_in_again() -> None:
    """A newer submission in the place of one that is graded, which nbgrader sees by its time."""
    folder = Path("submitted", "student", AGAIN.name)
    (folder / "p1.ipynb").write_bytes(Path("release", AGAIN.name, "p1.ipynb").read_bytes())
    (folder / "timestamp.txt").write_text("2015-02-02 16:58:23.948203 America/Los_Angeles")
    nbgrader("autograde", AGAIN.name)


def nbgrader(*arguments: str) -> int:
    """One nbgrader command; its exit status."""
    app = NbGraderApp.instance()
    try:
        app.initialize(list(arguments))
        app.start()
    except NoStart:
        return 0
    except SystemExit as stopped:
        return stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
    finally:
        app.reset()
    return 0


def grade_one_by_one(assignment: Assignment) -> list[str]:
    """As stock nbgrader asks for it: graded, and where that is refused, updated and graded again.

    Returns who was refused at first.
    """
    refused = []
    for student in assignment.students:
        command = ("autograde", assignment.name, "--student", student, *assignment.settings)
        if nbgrader(*command):
            refused.append(f"{assignment.name} {student}")
            nbgrader("update", f"submitted/{student}/{assignment.name}")
            nbgrader(*command)
    return refused


def hand_out(assignment: Assignment) -> None:
    folder = Path("source", assignment.name)
    folder.mkdir(parents=True)
    for name, fixture in assignment.source.items():
        (folder / f"{name}.ipynb").write_bytes(content(fixture))
    for file in assignment.beside:
        shutil.copy(file, folder)
    for file in assignment.course_files:
        shutil.copy(file, Path.cwd())


def release(assignment: Assignment) -> None:
    """With a second attempt: on a busy machine a neighbour may take the port meant for a kernel's start."""
    command = ("generate_assignment", assignment.name, *assignment.settings)
    assert nbgrader(*command) == 0 or nbgrader(*command) == 0, f"{assignment.name} is not released"


def hand_in(assignment: Assignment) -> None:
    for student, notebooks in assignment.students.items():
        folder = Path("submitted", student, assignment.name)
        folder.mkdir(parents=True)
        for name, fixture in notebooks.items():
            if fixture == RELEASED:
                fixture = Path("release", assignment.name, f"{name}.ipynb")
            (folder / f"{name}.ipynb").write_bytes(content(fixture))
        (folder / "timestamp.txt").write_text("2015-02-02 15:58:23.948203 America/Los_Angeles")


def content(file: Path | NotebookNode) -> bytes:
    """The bytes of a notebook: of a file, of one in an archive, or of one made here."""
    if isinstance(file, NotebookNode):
        return json.dumps(file).encode()
    if file.parent.suffix != ".zip":
        return file.read_bytes()
    with zipfile.ZipFile(file.parent) as archive:
        return archive.read(file.name)


def scores() -> dict[str, Any]:
    """What the gradebook says, by "assignment student notebook": scores and comments by cell, the penalty."""
    found = {}
    with Gradebook(f"sqlite:///{Path.cwd() / 'gradebook.db'}") as gradebook:
        for assignment in gradebook.assignments:
            for submission in assignment.submissions:
                for notebook in submission.notebooks:
                    found[f"{assignment.name} {submission.student.id} {notebook.name}"] = {
                        "grades": {
                            grade.name: [grade.auto_score, grade.max_score, grade.needs_manual_grade]
                            for grade in notebook.grades
                        },
                        "penalty": notebook.late_submission_penalty,
                        "comments": {comment.name: comment.auto_comment for comment in notebook.comments},
                    }
    return found


if __name__ == "__main__":
    main(sys.argv[1])
