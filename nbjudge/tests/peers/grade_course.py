"""Grade a set of assignments in the working folder, in one process, and write down every score.

`python grade_course.py stock|ours peers|traits|FOLDER [STUDENT ...]`: those of `peer_courses`, those of
`trait_courses`, or an instructor's own sources. Importing nbgrader takes longer than grading a small
notebook, so its commands run one after the other in this process. What nbgrader gives up on is written
down, it is not an error. The report is `report.json`.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import nbformat
from jupyter_core.application import NoStart
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.apps.nbgraderapp import NbGraderApp
from peer_courses import AGAIN, ALL, RELEASED, Assignment
from real_courses import assignments_in
from trait_courses import TRAITS


def main(grader: str, chosen: str, *students: str) -> None:
    report: dict[str, Any] = {"refused": [], "not released": [], "stopped": []}
    named = {"peers": ALL, "traits": TRAITS}
    for assignment in named[chosen] if chosen in named else assignments_in(Path(chosen), students):
        started = time.monotonic()
        hand_out(assignment)
        if assignment.due:
            nbgrader("db", "assignment", "add", assignment.name, "--duedate", assignment.due)
        if not release(assignment):
            report["not released"].append(assignment.name)
            continue
        hand_in(assignment)
        if grader == "stock" and assignment.stock_needs_update:
            report["refused"] += grade_one_by_one(assignment)
        elif nbgrader("autograde", assignment.name, *assignment.settings):
            report["stopped"].append(assignment.name)
        print(f"{assignment.name}: {time.monotonic() - started:.1f} s", flush=True)
    if chosen == "peers":
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
        if isinstance(stopped.code, str):
            print(stopped.code, flush=True)
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
    for file in assignment.extra_files:
        if file.is_dir():
            shutil.copytree(file, folder / file.name)
        else:
            shutil.copy(file, folder)
    for file in assignment.course_files:
        shutil.copy(file, Path.cwd())


def release(assignment: Assignment) -> bool:
    """Generate the students' version; whether nbgrader did.

    With a second attempt: on a busy machine a neighbour may take the port meant for a kernel's start.
    """
    command = ("generate_assignment", assignment.name, *assignment.settings)
    if nbgrader(*command) == 0 or nbgrader(*command) == 0:
        return True
    # The notebooks are of an old metadata format, which the instructor is asked to update.
    return nbgrader("update", f"source/{assignment.name}") == 0 and nbgrader(*command) == 0


def hand_in(assignment: Assignment) -> None:
    for student, notebooks in assignment.students.items():
        folder = Path("submitted", student, assignment.name)
        folder.mkdir(parents=True)
        for name, work in notebooks.items():
            released = Path("release", assignment.name, f"{name}.ipynb")
            if callable(work):
                source = nbformat.read(released.parents[2] / "source" / assignment.name / f"{name}.ipynb", 4)
                work = work(nbformat.read(released, 4), source)
            (folder / f"{name}.ipynb").write_bytes(content(released if work == RELEASED else work))
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
                        "assignment": assignment.name,
                        "student": submission.student.id,
                        "notebook": notebook.name,
                        "grades": {
                            grade.name: [grade.auto_score, grade.max_score, grade.needs_manual_grade]
                            for grade in notebook.grades
                        },
                        "penalty": notebook.late_submission_penalty,
                        "comments": {comment.name: comment.auto_comment for comment in notebook.comments},
                    }
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
