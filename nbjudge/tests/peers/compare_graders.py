"""Grade assignments with stock nbgrader and with nbjudge, and see how the two differ cell by cell.

`python compare_graders.py stock|ours peers|traits|FOLDER [STUDENT ...]` grades in the working folder, in one
process: the assignments of `courses`, or an instructor's own sources. Importing nbgrader takes longer than
grading a small notebook, so its commands run one after the other in this process. What nbgrader gives up on
is written down, it is not an error. The report is `report.json`.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import nbformat
from jupyter_core.application import NoStart
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.apps.nbgraderapp import NbGraderApp
from peer_courses import AGAIN, PEERS, RELEASED, TRAITS, Assignment

STOCK = "c = get_config()\n"
OURS = f"{STOCK}from nbjudge import configure\n\nconfigure(c)\n"
LOG = "grading.log"
VERDICTS = ("equal", "better", "WORSE")  # for the student

# By cell: points, most points, whether someone has to mark it; and nbgrader's comments by cell.
Scores = dict[str, dict[str, Any]]

DELETED = (
    "The student deleted this test cell. Stock nbgrader leaves it to a person; nbjudge runs the course's "
    "own cell."
)
STDERR = "Stock nbgrader gives 0 for a warning or other text on stderr; nbjudge does not."
NO_GRADE = "Stock nbgrader gave up on this student and has no graded notebook."


@dataclass(frozen=True)
class Graded:
    """One grader's results for all its assignments, in the folder `root`."""

    root: Path

    @cached_property
    def report(self) -> dict[str, Any]:
        return json.loads((self.root / "report.json").read_text())

    @property
    def scores(self) -> Scores:
        """By "assignment student notebook"."""
        return self.report["scores"]

    @property
    def refused(self) -> list[str]:
        """Whose notebooks were graded only after `nbgrader update`, as "assignment student"."""
        return self.report["refused"]

    def notebook(self, work: str) -> dict[str, Any]:
        """The graded notebook of an "assignment student notebook" whose names hold no spaces."""
        assignment, student, name = work.split()
        return json.loads(self.file(assignment, student, name).read_text())

    def file(self, assignment: str, student: str, name: str) -> Path:
        """The path of a graded notebook."""
        return self.root / "autograded" / student / assignment / f"{name}.ipynb"


@dataclass(frozen=True)
class Comparison:
    """One graded cell of one student: `verdict` is "equal", "better" or "WORSE" (for the student)."""

    work: str
    cell: str
    stock: tuple[float | None, bool] | None  # points, and whether a person has to mark it
    ours: tuple[float | None, bool] | None
    verdict: str
    reason: str


def compare(stock: Graded, ours: Graded) -> list[Comparison]:
    """Compare every graded cell that at least one of two runs over the same class has.

    A difference without a known reason has an empty `reason`.
    """
    return [
        _compared(stock, ours, work, cell)
        for work in dict.fromkeys([*stock.scores, *ours.scores])
        for cell in dict.fromkeys([*_grades(stock, work), *_grades(ours, work)])
    ]


def _compared(stock: Graded, ours: Graded, work: str, cell: str) -> Comparison:
    before, after = (_grade(each, work, cell) for each in (stock, ours))
    verdict = "equal" if before == after else "better" if before is None else "WORSE"
    if before and after and before != after:
        change = ((after[0] or 0) - (before[0] or 0), before[1] - after[1])
        verdict = "better" if change > (0, 0) else "WORSE"
    reason = "" if verdict == "equal" else _reason(stock, ours, work, cell, before)
    return Comparison(work, cell, before, after, verdict, reason)


def _grades(graded: Graded, work: str) -> dict[str, Any]:
    return graded.scores.get(work, {}).get("grades", {})


def _grade(graded: Graded, work: str, cell: str) -> tuple[float | None, bool] | None:
    grade = _grades(graded, work).get(cell)
    return None if grade is None else (grade[0], bool(grade[2]))


def _reason(
    stock: Graded, ours: Graded, work: str, cell: str, before: tuple[float | None, bool] | None
) -> str:
    about = stock.scores.get(work) or ours.scores[work]
    file = stock.file(about["assignment"], about["student"], about["notebook"])
    if before is None or not file.exists():
        return NO_GRADE
    if "deleted-test" in about["student"] and before[1]:
        return DELETED
    if not before[0] and _has_stderr(file, cell):
        return STDERR
    return ""


def _has_stderr(file: Path, cell_name: str) -> bool:
    cells = json.loads(file.read_text())["cells"]
    named = [cell for cell in cells if cell["metadata"].get("nbgrader", {}).get("grade_id") == cell_name]
    outputs = [output for cell in named[:1] for output in cell.get("outputs", [])]
    is_error = any(output["output_type"] == "error" for output in outputs)
    return not is_error and any(output.get("name") == "stderr" for output in outputs)


def run_both(
    folder: Path, chosen: Sequence[str], configs: Mapping[str, str] | None = None
) -> dict[str, Graded]:
    """Grade what `main` knows as `chosen`, in folders of the graders' names, "stock" and "ours".

    `configs` are their nbgrader_config.py, by default those of a course before and after it adopts nbjudge.
    Raises RuntimeError when a grader's process fails; the message holds the end of its log.
    """
    configs = configs or {"stock": STOCK, "ours": OURS}
    runs = {name: _start(folder / name, name, chosen, config) for name, config in configs.items()}
    for name, run in runs.items():
        if run.wait():
            log = (folder / name / LOG).read_text(errors="replace")
            raise RuntimeError(f"Grading with {name} failed; its log ends with:\n{log[-3000:]}")
    return {name: Graded(folder / name) for name in configs}


def _start(root: Path, grader: str, chosen: Sequence[str], config: str) -> subprocess.Popen[bytes]:
    root.mkdir()
    (root / "nbgrader_config.py").write_text(config)
    with (root / LOG).open("wb") as log:
        return subprocess.Popen(
            [sys.executable, __file__, grader, *chosen],
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # nbgrader calls alembic by its name; it is installed beside the interpreter.
            env=os.environ
            | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
            | {"IPYTHONDIR": str(root / "ipython"), "OMP_NUM_THREADS": "1"},
        )


def main(grader: str, chosen: str, *students: str) -> None:
    from real_courses import assignments_in  # which imports this module

    report: dict[str, Any] = {"refused": [], "not released": [], "stopped": []}
    named = {"peers": PEERS, "traits": TRAITS}
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
    """Read the gradebook by "assignment student notebook": scores and comments by cell, the penalty."""
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
