"""The student's kernel: cells run in it, answers are asked of it, and it may hang or die at any time.

A cell or an answer that kills the kernel costs itself only: a new kernel is started, the
earlier cells are run again, and whatever killed the last one is left out.
"""

from __future__ import annotations

import copy
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import nbformat
from nbformat import NotebookNode

from nbjudge.cell_metadata import is_written_by_student
from nbjudge.kernel import requests
from nbjudge.kernel.deadlines import CpuTimeDeadline
from nbjudge.kernel.process import KernelEnvironment, KernelProcess, start
from nbjudge.kernel.replies import Answer, Reply, read_reply
from nbjudge.kernel.time_budget import TimeBudget
from nbjudge.probe.names import REMEMBER
from nbjudge.probe.watching import Watch
from nbjudge.sandbox.channel import Deadline, WallClockDeadline, WireBroken
from nbjudge.sandbox.forked_kernel import SandboxError

INTERRUPT_TIMEOUT = 3.0  # seconds in which a kernel that was interrupted says so
DRAIN_TIMEOUT = 1.0  # seconds in which its reader hands over what came until then
EXIT_GRACE = 0.05  # seconds in which a kernel that was told to exit is gone
MIN_CELL_SECONDS = 2.0  # seconds that a cell has, however many were late before it
MIN_SECONDS = 1.0  # seconds that a cell or an answer has, however little of the notebook's time is left
MAX_DEATH_RETRIES = 2  # a notebook whose cells keep dying is a killer's, not an accident
TOO_LATE = "This cell took too long and was stopped."
TOO_MUCH_OUTPUT = "[The rest is left out: this notebook shows more than is kept.]\n"
SENT_TOO_MUCH = "more memory for what it sent than is allowed"

Outcome = Literal["done", "late", "died", "skipped"]


class KernelDiedError(Exception):
    """The kernel has ended, or its reader has, and with it what was asked."""


class KernelClient:
    """One kernel for one notebook, started again as often as its code kills it."""

    def __init__(self, folder: Path, environment: KernelEnvironment) -> None:
        self.environment = environment
        self.limits = environment.limits
        self.budget = TimeBudget(environment.limits.notebook)  # from the first kernel on
        self.last_words = ""  # why the sandbox ended the last kernel that it ended
        self.process: KernelProcess | None = None
        self._folder = folder
        self._executed: list[NotebookNode] = []
        self._late_cells = 0
        self._deaths = 0
        self._output_room = environment.limits.output  # bytes that cells may still show
        self._was_cut = False
        self._sent_too_much = False

    def run_cell(self, cell: NotebookNode) -> Outcome:
        """Run one code cell; its outputs are left in it."""
        if self.budget.is_used_up:
            return "skipped"
        # Whoever wrote one endless loop often calls it again further down: each costs less patience.
        least = min(MIN_CELL_SECONDS, self.limits.cell)
        patience = max(least, self.limits.cell / (1 + self._late_cells))
        outcome = self._execute(cell, patience)
        self._deaths += outcome == "died"
        if outcome == "died" and self._deaths <= MAX_DEATH_RETRIES:
            # A cell before this one may have ended the kernel: a thread or a timer of its own.
            self._start_again()
            outcome = self._execute(cell, patience)
        if outcome == "died" or (outcome == "late" and not self._listens()):
            self._start_again()
        self._late_cells += outcome == "late"
        if outcome in ("late", "died"):
            self.budget.count_cell()
        if outcome == "done":
            self._executed.append(cell)
        return outcome

    def ask(self, name: str, calls: list[dict[str, Any]], watch: Watch) -> Reply:
        """Put calls to the answer `name`; whatever goes wrong becomes an answer that says so."""
        if self.budget.is_used_up:
            return Reply([Answer("late")] * len(calls))
        reply = self._ask(name, calls, watch)
        self.budget.count_reply(name, calls, reply)
        return reply

    def _ask(self, name: str, calls: list[dict[str, Any]], watch: Watch) -> Reply:
        question = requests.question(name, calls, watch)  # an error in it is the grader's, not the student's
        try:
            printed = self._evaluate(question, self._deadline(self.limits.answer))
            return read_reply(requests.read_printed(printed), len(calls))
        except TimeoutError:
            self._start_again()
            return Reply([Answer("late")] * len(calls), lost=True)
        except KernelDiedError:
            self._start_again()
            return Reply([Answer("died")] * len(calls), lost=True)
        except SandboxError:
            raise
        except Exception as error:  # whatever a kernel sends must not stop the class
            return Reply([Answer("unreadable", message=str(error)[:200])] * len(calls), lost=True)

    def start(self) -> None:
        """Start a kernel. Raises SandboxError where the sandbox gives none."""
        try:
            self.process = start(self._folder, self.environment)
        except SandboxError:  # such as: the fork server has died; it is replaced when one asks again
            self.process = start(self._folder, self.environment)
        self._sent_too_much = False
        self.budget.start()

    def stop(self) -> None:
        if self.process is not None:
            self.process.close()
            self.last_words = self.process.report or (SENT_TOO_MUCH if self._sent_too_much else "")
            self.process = None

    def _execute(self, cell: NotebookNode, patience: float) -> Outcome:
        command = {"source": cell.source, "room": self._output_room, "most": self.limits.output}
        try:
            said, late = self._command("execute", command, self._deadline(patience))
        except KernelDiedError:
            return "died"
        except TimeoutError:
            said, late = {}, True
        cell.outputs = [nbformat.from_dict(output) for output in said.get("outputs", [])]
        self._output_room = said.get("room", self._output_room)
        if said.get("cut") and not self._was_cut:
            self._was_cut = True
            cell.outputs.append(nbformat.v4.new_output("stream", name="stdout", text=TOO_MUCH_OUTPUT))
        reply = said.get("reply") or {}
        cell.execution_count = reply.get("count")
        if reply.get("exits"):
            return "died"
        # Whoever replaces IPython's display of errors hides them from the outputs that nbgrader reads.
        if not any(output.output_type == "error" for output in cell.outputs):
            if reply.get("failed"):
                cell.outputs.append(_error(reply["ename"], reply["evalue"]))
            elif late:
                cell.outputs.append(_error("TimeoutError", TOO_LATE))
        if is_written_by_student(cell) and not late:
            self._remember_names()
        return "late" if late else "done"

    def _remember_names(self) -> None:
        """So that given cells may use the same names, and answers are asked with the student's own."""
        with suppress(KernelDiedError, TimeoutError, ValueError):  # the next cell meets the same
            self._evaluate(REMEMBER, self._deadline(self.limits.cell))

    def _start_again(self) -> None:
        """A fresh kernel in the state of the last one: every earlier cell but the killers, run again."""
        while True:
            self.stop()
            self.start()
            killer = next((cell for cell in self._executed if not self._survives(cell)), None)
            if killer is None:
                return
            self._executed = [cell for cell in self._executed if cell is not killer]

    def _survives(self, cell: NotebookNode) -> bool:
        if self.budget.is_used_up:
            return True
        if self._execute(copy.deepcopy(cell), self.limits.cell) == "died":
            return False
        time.sleep(EXIT_GRACE)
        return self._listens()

    def _listens(self) -> bool:
        """Whether the kernel answers at all after it was interrupted."""
        try:
            return self._evaluate("1", WallClockDeadline(INTERRUPT_TIMEOUT)) == "1"
        except Exception:  # dead, silent, or talking nonsense
            return False

    def _evaluate(self, expression: str, deadline: Deadline) -> str:
        """The printed form of an expression's value in the kernel.

        Raises TimeoutError, KernelDiedError, or ValueError where no readable value comes.
        """
        said, _ = self._command("evaluate", {"expression": expression}, deadline)
        if said.get("status") == "stopped":
            raise TimeoutError
        if said.get("status") != "ok":
            raise ValueError(said.get("said", "nothing"))
        return str(said["text"])

    def _command(
        self, command: str, options: dict[str, Any], deadline: Deadline
    ) -> tuple[dict[str, Any], bool]:
        """Have the reader ask the kernel: what came of it, and whether the kernel had to be interrupted.

        Where an interrupted kernel says nothing, what was sent until then. Raises KernelDiedError, and
        TimeoutError where not even the reader answers.
        """
        process = self.process
        if process is None or not process.is_alive():
            raise KernelDiedError
        said = None
        try:
            process.wire.send({"do": command} | options, deadline)
            said = process.wire.receive(deadline, self._limit_output)
            if said is not None:
                return said, False
            process.send_signal(signal.SIGINT)
            # What was answered until now comes when it is interrupted.
            said = process.wire.receive(WallClockDeadline(INTERRUPT_TIMEOUT), self._limit_output)
            if said is None:
                process.wire.send({"do": "stop"}, WallClockDeadline(DRAIN_TIMEOUT))
                said = process.wire.receive(WallClockDeadline(DRAIN_TIMEOUT))
        except TimeoutError:  # the reader takes nothing in
            said = None
        except WireBroken:
            self._sent_too_much = process.is_alive()
            raise KernelDiedError from None
        if said is None:  # and whatever it says now would be taken for the answer to something else
            self.stop()
            raise TimeoutError
        return said, True

    def _limit_output(self, event: dict[str, Any]) -> None:
        """Stop a cell that fills the room for output; end the kernel where it goes on all the same."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL if event["event"] == "drowning" else signal.SIGINT)

    def _deadline(self, seconds: float) -> Deadline:
        """So many seconds of the kernel's own work, as far as the notebook's time goes."""
        pid = self.process.pid if self.process is not None else None
        return CpuTimeDeadline(pid, seconds, ends=max(self.budget.ends, time.monotonic() + MIN_SECONDS))


def _error(name: str, said: str) -> NotebookNode:
    return nbformat.v4.new_output("error", ename=name, evalue=said, traceback=[f"{name}: {said}"])


@contextmanager
def open_kernel(folder: Path, environment: KernelEnvironment) -> Iterator[KernelClient]:
    """A started kernel, stopped on the way out."""
    kernel = KernelClient(folder, environment)
    try:
        kernel.start()
        yield kernel
    finally:
        kernel.stop()
