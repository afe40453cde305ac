"""One merged notebook in, one graded notebook out: run, ask, judge, record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from nbjudge.cell_metadata import checked_exercise, is_left_out, nbgrader_metadata
from nbjudge.course.course import Assignment
from nbjudge.course.loading import in_folder
from nbjudge.grading.answer_statuses import AnswerStatuses
from nbjudge.judge.judge import judge
from nbjudge.judge.verdict import Finding, GroupVerdict, Verdict
from nbjudge.kernel.client import KernelClient, Outcome, open_kernel
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.kernel.replies import Answer, Ask, Reply
from nbjudge.probe.watching import Watch
from nbjudge.record.graded_cell import write_cell_status, write_verdict
from nbjudge.record.graded_notebook import read_record, write_record
from nbjudge.record.schema import Status

LEFT_OUT = "(Not run for grading: no answer depends on this cell.)\n"
CELL_STATUSES: dict[Outcome, Status] = {
    "done": Status.COMPLETED,
    "late": Status.TIMED_OUT,
    "died": Status.KERNEL_DIED,
    "skipped": Status.NOT_REACHED,
}


def grade(
    notebook: NotebookNode, assignment: Assignment, folder: Path, seed: int, environment: KernelEnvironment
) -> list[Verdict]:
    """Run a merged notebook in a kernel of its own and write a verdict into each judged cell.

    `folder` is the kernel's working folder. Cells that no `check` belongs to are run and left to
    nbgrader's own reading of their outputs. The verdicts stand nowhere but here until the kernel has
    ended: nothing that it sends, to whichever cell, can meet one.
    """
    judged, stopped = list[tuple[NotebookNode, Verdict, Status]](), dict[str, NotebookNode]()
    with open_kernel(folder, environment) as kernel:
        for cell in notebook.cells:
            if cell.cell_type != "code":
                continue
            if is_left_out(cell):
                cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=LEFT_OUT)]
                continue
            _run(kernel, cell)
            for output in cell.outputs:
                if output.output_type == "error":
                    stopped[nbgrader_metadata(cell).get("grade_id") or cell.get("id", "")] = output
            name = checked_exercise(cell)
            if name is None:
                _refuse_invalid_points(cell)
            else:
                ask = AnswerStatuses(_with_cell_errors(kernel.ask, stopped.get(name)))
                with in_folder(assignment.source_path.parent):
                    verdict = judge(assignment.exercises[name], assignment.reference_answer(name), ask, seed)
                judged.append((cell, verdict, ask.status))
    for cell, verdict, status in judged:
        write_verdict(cell, verdict, status)
    return [verdict for _, verdict, _ in judged]


def _with_cell_errors(ask: Ask, stopped: NotebookNode | None) -> Ask:
    """Where there is no answer because its cell stopped with an error, let the answer say so."""

    def explained(name: str, calls: list[dict[str, Any]], watch: Watch) -> Reply:
        reply = ask(name, calls, watch)
        if stopped is None or not all(answer.status == "missing" for answer in reply.answers):
            return reply
        missing = Answer("missing", error=stopped.ename, message=stopped.evalue)
        return Reply([missing] * len(calls))

    return explained


def grade_without_running(notebook: NotebookNode, assignment: Assignment, reason: str) -> list[Verdict]:
    """Nothing can be run: every judged cell gets 0, and the reason."""
    write_record(notebook, replace(read_record(notebook), status=Status.NOT_RUN, reason=reason))
    verdicts = []
    for cell in notebook.cells:
        name = checked_exercise(cell)
        if name is None and cell.cell_type == "code" and nbgrader_metadata(cell).get("grade"):
            # nbgrader gives a silent test full marks.
            cell.outputs = [_error("NotRun", reason)]
        if name is not None:
            groups = (GroupVerdict(g.name, g.points, False) for g in assignment.exercises[name].groups)
            verdicts.append(Verdict(name, 0, tuple(groups), (Finding(reason),)))
            write_verdict(cell, verdicts[-1], Status.NOT_RUN)
    return verdicts


def _run(kernel: KernelClient, cell: NotebookNode) -> None:
    outcome = kernel.run_cell(cell)
    write_cell_status(cell, CELL_STATUSES[outcome])
    said = {
        "died": "The kernel died while this cell ran; the rest of the notebook was run without it.",
        "skipped": "The time for this notebook was used up before this cell.",
    }.get(outcome)
    if outcome == "died" and kernel.last_words:
        said = f"This cell was stopped: it took {kernel.last_words}. The rest was run without it."
    if said is not None:
        # Whether the count came before the kernel went is chance.
        cell.outputs, cell.execution_count = [_error(outcome, said)], None


def _refuse_invalid_points(cell: NotebookNode) -> None:
    """A test's own result that nbgrader would stop the submission at: 0, with the reason.

    nbgrader reads the first result of a graded cell as its points. It gives up on the whole
    submission where that result shows no text, or is a number above the points of the cell.
    """
    settings = nbgrader_metadata(cell)
    shows_result = any(output.output_type == "execute_result" for output in cell.outputs)
    if not settings.get("grade") or settings.get("solution") or not shows_result:
        return
    from nbgrader.utils import determine_grade  # its package takes seconds to import

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
