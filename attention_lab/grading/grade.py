"""One rebuilt notebook in, one graded notebook out: run, ask, judge, record."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import determine_grade, is_grade, is_solution

from attention_lab.errors import CourseError
from attention_lab.grading.answers import Answer, Ask, Reply
from attention_lab.grading.channels import World
from attention_lab.grading.course import Lesson
from attention_lab.grading.judge import judge
from attention_lab.grading.kernel import StudentKernel, student_kernel
from attention_lab.grading.rebuild import is_left_out
from attention_lab.grading.record import neutralise, write_verdict
from attention_lab.grading.verdict import Finding, GroupVerdict, Verdict

LEFT_OUT = "(Not run for grading: no answer depends on this cell.)\n"
KEY_FILE = ".grading-key"


def grade(notebook: NotebookNode, lesson: Lesson, folder: Path, seed: int, world: World) -> list[Verdict]:
    """Run a rebuilt notebook in a kernel of its own and write a verdict into each judged cell.

    `folder` is the kernel's working folder. Cells that no `check` belongs to are run and left to
    nbgrader's own reading of their outputs.
    """
    verdicts, stopped = [], dict[str, NotebookNode]()
    with student_kernel(notebook, folder, world) as kernel:
        for index, cell in enumerate(notebook.cells):
            if cell.cell_type != "code":
                continue
            if is_left_out(cell):
                cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=LEFT_OUT)]
                continue
            _run(kernel, cell, index)
            stopped |= {
                cell.get("id", ""): output for output in cell.outputs if output.output_type == "error"
            }
            name = exercise_of(cell)
            if name is None:
                _refuse_what_is_no_grade(cell)
            else:
                ask = _explaining(kernel.ask, stopped.get(name))
                verdicts.append(_judge_cell(cell, lesson, name, ask, seed))
    return verdicts


def _explaining(ask: Ask, stopped: NotebookNode | None) -> Ask:
    """Where there is no answer because its cell stopped with an error, let the answer say so."""

    def explained(name: str, calls: list[dict[str, Any]], trace: bool) -> Reply:
        reply = ask(name, calls, trace)
        if stopped is None or not all(answer.status == "missing" for answer in reply.answers):
            return reply
        missing = Answer("missing", error=stopped.ename, message=stopped.evalue)
        return Reply([missing] * len(calls))

    return explained


def refuse(notebook: NotebookNode, lesson: Lesson, reason: str) -> list[Verdict]:
    """Nothing can be run: every judged cell gets 0, and the reason."""
    verdicts = []
    for cell in notebook.cells:
        name = exercise_of(cell)
        if name is None and cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade"):
            # nbgrader gives a silent test full marks.
            cell.outputs = [_error("NotRun", reason)]
        if name is not None:
            groups = (GroupVerdict(g.name, g.points, False) for g in lesson.exercises[name].groups)
            verdicts.append(Verdict(name, 0, tuple(groups), (Finding(reason),)))
            write_verdict(cell, verdicts[-1])
    return verdicts


def exercise_of(cell: NotebookNode) -> str | None:
    """The exercise that the judge is to ask about after this cell."""
    name: str | None = cell.metadata.get("attention_lab", {}).get("check")
    return name


def submission_seed(root: Path, student: str, notebook: NotebookNode) -> int:
    """Fresh inputs for every submission, and the same again when it is graded again.

    Derived from what was handed in and from a key that only the course has, so that a student
    can neither predict the inputs nor see the same ones twice.
    """
    digest = hmac.new(_course_key(root), student.encode(), hashlib.sha256)
    for cell in notebook.cells:
        digest.update(cell.cell_type.encode() + b"\0" + cell.source.encode("utf-8", "replace") + b"\0")
    return int.from_bytes(digest.digest()[:6], "big")


def _run(kernel: StudentKernel, cell: NotebookNode, index: int) -> None:
    outcome = kernel.run_cell(cell, index)
    neutralise(cell)
    said = {
        "died": "The kernel died while this cell ran; the rest of the notebook was run without it.",
        "skipped": "The time for this notebook was used up before this cell.",
    }.get(outcome)
    if outcome == "died" and kernel.last_words:
        said = f"This cell was stopped: it took {kernel.last_words}. The rest was run without it."
    if said is not None:
        # Whether the count came before the kernel went is chance.
        cell.outputs, cell.execution_count = [_error(outcome, said)], None


def _refuse_what_is_no_grade(cell: NotebookNode) -> None:
    """A test's own result that nbgrader would stop the submission at: 0, with the reason.

    nbgrader reads the first result of a graded cell as its points. It gives up on the whole
    submission where that result shows no text, or is a number above the points of the cell.
    """
    if not is_grade(cell) or is_solution(cell):
        return
    try:
        determine_grade(cell)
    except (KeyError, ValueError):
        points = cell.metadata.nbgrader["points"]
        cell.outputs.append(
            _error("NoPoints", f"The result of this cell is no number of at most {points:g}.")
        )
        cell.outputs = [output for output in cell.outputs if output.output_type != "execute_result"]


def _error(name: str, sentence: str) -> NotebookNode:
    return nbformat.v4.new_output("error", ename=name, evalue=sentence, traceback=[sentence])


def _judge_cell(cell: NotebookNode, lesson: Lesson, name: str, ask: Ask, seed: int) -> Verdict:
    verdict = judge(lesson.exercises[name], lesson.reference_answer(name), ask, seed)
    write_verdict(cell, verdict)
    return verdict


def _course_key(root: Path) -> bytes:
    """The course's own key, made once and kept beside its gradebook."""
    file = root / KEY_FILE
    if not file.exists():
        # Written aside and then linked, so that of several graders one wins and none reads half a key.
        draft = root / f"{KEY_FILE}-{secrets.token_hex(8)}"
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
            stream.write(secrets.token_hex(32))
        with suppress(FileExistsError):
            os.link(draft, file)
        draft.unlink()
    key = file.read_bytes()
    if not key:
        raise CourseError(
            f"{file} is empty: put back this course's key, or delete the file to get a new one."
        )
    return key
