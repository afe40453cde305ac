"""The client of a student's kernel: runs cells in it and calls answers, and restarts it when it is lost.

A cell or a call that ends the kernel loses only its own points: a new kernel runs the earlier cells again,
without the one that ended the last kernel.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import msgspec
import nbformat
from nbformat import NotebookNode

from nbjudge.calls import Answer, Call, Reply, read_reply
from nbjudge.cell_metadata import is_written_by_student, nbgrader_metadata
from nbjudge.errors import SandboxError
from nbjudge.kernel import protocol
from nbjudge.kernel.process import (
    Channel,
    KernelDiedError,
    KernelEnvironment,
    KernelProcess,
    R,
    start_process,
    without_surrogates,
)
from nbjudge.kernel.timing import Costs, Deadline, TimeBudget, read_cpu_time
from nbjudge.probe.respond import NOTE_GIVEN, NOTE_STUDENTS
from nbjudge.probe.watching import WatchedCalls
from nbjudge.sandbox.inside import messages

RESPONSE_TIMEOUT = 3.0  # seconds in which an interrupted kernel must evaluate an expression
EXIT_GRACE = 0.05  # seconds in which a kernel that was told to exit has ended
MAX_DEATH_RETRIES = 2  # after so many deaths it is no accident that cells end their kernels
DIED_MESSAGE = "The kernel died while this cell ran; the rest of the notebook was run without it."
STOPPED_MESSAGE = "This cell was stopped: it took {}. The rest was run without it."
TIMEOUT_MESSAGE = "This cell took too long and was stopped (limit: {:.3g} s)."
OUTPUT_CUT_MESSAGE = "[The rest is left out: this notebook shows more than is kept.]\n"
OVERFLOW_REASON = "more memory for what it sent than is allowed"

Outcome = Literal["done", "timeout", "died", "skipped"]


class KernelClient:
    """One kernel for one notebook, restarted whenever the notebook's code ends it.

    `folder` is its working folder, of whose files a kernel in the sandbox gets a copy. `costs` takes up what
    it costs.
    """

    def __init__(self, folder: Path, environment: KernelEnvironment, costs: Costs | None = None) -> None:
        self.costs = costs or Costs()
        self.environment = environment
        self.limits = environment.limits
        self.budget = TimeBudget(environment.limits.notebook)  # starts with the first kernel
        self.end_reason = ""  # why the sandbox ended the last kernel that it ended
        self.process: KernelProcess | None = None
        self._channel: Channel | None = None
        self._called = set[str]()  # the exercises whose answers have been called
        self._has_probe = False  # whether the kernel keeps the probe of an earlier request
        self.killers = list[NotebookNode]()  # cells that ended a kernel, at once or when they had run
        self._folder = folder
        self._executed: list[NotebookNode] = []
        self._deaths = 0
        self._output_left = environment.limits.output  # bytes that cells may still show
        self._output_was_cut = False

    def start(self) -> None:
        """Start a kernel. Raises SandboxError if the sandbox cannot start one."""
        self.costs.counts["kernels"] += 1
        with self.costs.phase("start the kernel"):
            try:
                self.process = start_process(self._folder, self.environment)
            except SandboxError:  # for example because the fork server has died: the next start replaces it
                self.process = start_process(self._folder, self.environment)
        self._channel, self._has_probe = Channel(self.process, self.costs.counts), False
        self.budget.start()

    def stop(self) -> None:
        """End the kernel, if one runs, and note in `end_reason` why the sandbox had ended it."""
        if self.process is not None and self._channel is not None:
            with self.costs.phase("end the kernel"):
                self.costs.kernel_cpu_seconds += read_cpu_time(self.process.pid)
                self.process.close()
            overflow = OVERFLOW_REASON if self._channel.overflowed else ""
            self.end_reason = self.process.end_reason or overflow
            self.process = self._channel = None

    def run_cell(self, cell: NotebookNode) -> Outcome:
        """Run one code cell, and replace its outputs and its execution count.

        "done" is also returned for a cell that ends with an error, "skipped" if the notebook's time is used
        up. Raises SandboxError if the kernel was lost and no other can be started.
        """
        if self.budget.is_used_up:
            return "skipped"
        with self.costs.phase("run cells"):
            seconds = self.budget.cell_seconds(self.limits.cell)
            outcome = self._execute(cell, seconds)
            self._deaths += outcome == "died"
            if outcome == "died" and self._deaths <= MAX_DEATH_RETRIES:
                # An earlier cell may have ended the kernel, by a thread or a timer.
                self._restart()
                outcome = self._execute(cell, seconds)
            if outcome == "died":
                self._restart(killer=cell)
            elif outcome == "timeout" and not self._is_responsive():
                self._restart()
        if outcome == "done":
            self._executed.append(cell)
        else:
            self.budget.count_cell(timed_out=outcome == "timeout")
        return outcome

    def call(self, name: str, calls: list[Call], watched_calls: WatchedCalls) -> Reply:
        """Call the answer of this name: one answer per call, whatever goes wrong.

        `calls` are made by `nbjudge.calls.calls_for`; if a step of `watched_calls` runs, that is noted.
        Raises SandboxError if the kernel was lost and no other can be started.
        """
        if self.budget.is_used_up:
            return Reply([Answer("timeout")] * len(calls))
        phase = "call answers again" if name in self._called else "call answers"
        self._called.add(name)
        with self.costs.phase(phase):
            reply = self._call(name, calls, watched_calls)
        self.budget.count_reply(name, calls, reply)
        return reply

    def _call(self, name: str, calls: list[Call], watched_calls: WatchedCalls) -> Reply:
        # An error in a request is the grader's, not the student's.
        request = protocol.request(name, calls, watched_calls)
        run = protocol.expression(with_probe=not self._has_probe)
        try:
            printed = self._evaluate(run, self._deadline(self.limits.answer), request)
            if printed == protocol.NO_PROBE:
                run = protocol.expression()
                printed = self._evaluate(run, self._deadline(self.limits.answer), request)
            self._has_probe = True
            return read_reply(protocol.read_printed(printed), len(calls))
        except TimeoutError:
            self._restart()
            return Reply([Answer("timeout")] * len(calls), lost=True)
        except KernelDiedError:
            self._restart()
            return Reply([Answer("died")] * len(calls), lost=True)
        except Exception as error:  # whatever a kernel sends must not stop the class
            return Reply([Answer("unreadable", message=str(error)[:200])] * len(calls), lost=True)

    def _execute(self, cell: NotebookNode, seconds: float) -> Outcome:
        source = without_surrogates(cell.source)
        # Given cells may rebind the student's names, and answers are called with their own.
        note_names = NOTE_STUDENTS if is_written_by_student(cell) else NOTE_GIVEN
        try:
            command = messages.Execute(source, self._output_left, self.limits.output, note_names)
            shown, timed_out = self._request(command, messages.CellReply, self._deadline(seconds))
        except KernelDiedError:
            return "died"
        except TimeoutError:
            shown, timed_out = messages.CellReply(), True
        cell.outputs = [nbformat.from_dict(msgspec.to_builtins(output)) for output in shown.outputs]
        if shown.output_left is not None:
            self._output_left = shown.output_left
        if shown.was_cut and not self._output_was_cut:
            self._output_was_cut = True
            cell.outputs.append(nbformat.v4.new_output("stream", name="stdout", text=OUTPUT_CUT_MESSAGE))
        reply = shown.reply
        cell.execution_count = reply.count if reply is not None else None
        if reply is not None and reply.exits:
            return "died"
        # nbgrader reads errors in the outputs, where student code that replaces IPython's display hides them.
        errors = [output for output in cell.outputs if output.output_type == "error"]
        if timed_out:
            message = TIMEOUT_MESSAGE.format(seconds)
            if errors and errors[-1].ename == "KeyboardInterrupt":  # which says only where it was stopped
                lines = [*errors[-1].traceback[:-1], f"KeyboardInterrupt: {message}"]
                errors[-1].update(evalue=message, traceback=lines)
            elif not errors:
                cell.outputs.append(_error("TimeoutError", message))
        elif not errors and reply is not None and reply.failed:
            cell.outputs.append(_error(reply.ename, reply.evalue))
        if not timed_out and (reply is None or reply.failed):  # the names were not noted
            with suppress(KernelDiedError, TimeoutError, ValueError):  # the next cell meets the same
                self._evaluate(note_names, self._deadline(self.limits.cell))
        return "timeout" if timed_out else "done"

    def _restart(self, killer: NotebookNode | None = None) -> None:
        """Start a new kernel and run the earlier cells again, without any that ends it, which is told so."""
        while True:
            self.stop()
            if killer is not None:
                self._tell(killer)
                self._executed = [cell for cell in self._executed if cell is not killer]
            self.start()
            killer = next((cell for cell in self._executed if not self._survives(cell)), None)
            if killer is None:
                return

    def _tell(self, killer: NotebookNode) -> None:
        """Put the reason into a cell that ended the kernel, behind what it showed when it first ran."""
        has_run = any(cell is killer for cell in self._executed)
        if has_run and nbgrader_metadata(killer).get("grade"):
            return  # a test that has passed keeps its points
        message = STOPPED_MESSAGE.format(self.end_reason) if self.end_reason else DIED_MESSAGE
        error = nbformat.v4.new_output("error", ename="died", evalue=message, traceback=[message])
        # Whether it got a count before the kernel went is chance.
        killer.outputs, killer.execution_count = [*(killer.outputs if has_run else []), error], None
        self.killers.append(killer)

    def _survives(self, cell: NotebookNode) -> bool:
        """Run a cell again; whether the kernel still answers afterwards."""
        if self.budget.is_used_up:
            return True
        if self._execute(copy.deepcopy(cell), self.limits.cell) == "died":
            return False
        time.sleep(EXIT_GRACE)
        return self._is_responsive()

    def _is_responsive(self) -> bool:
        """Return whether the kernel evaluates an expression, after it was interrupted."""
        try:
            return self._evaluate("1", Deadline(RESPONSE_TIMEOUT)) == "1"
        except Exception:  # it has died, is silent, or sends something else
            return False

    def _evaluate(self, expression: str, deadline: Deadline, request: str = "") -> str:
        """Return the printed value of an expression, for which `request` is in the kernel's message.

        Raises TimeoutError, KernelDiedError, or ValueError if there is no readable value.
        """
        evaluation, _ = self._request(messages.Evaluate(expression, request), messages.Evaluation, deadline)
        if evaluation.status == "stopped":
            raise TimeoutError
        if evaluation.status != "ok":
            raise ValueError(evaluation.text)
        return evaluation.text

    def _request(self, command: messages.Command, reply_type: type[R], deadline: Deadline) -> tuple[R, bool]:
        """Send a command and wait for its reply, see `Channel.request`."""
        if self._channel is None:
            raise KernelDiedError
        try:
            return self._channel.request(command, reply_type, deadline)
        except TimeoutError:
            self.stop()
            raise

    def _deadline(self, seconds: float) -> Deadline:
        return self.budget.deadline(self.process.pid if self.process is not None else None, seconds)


def _error(name: str, message: str) -> NotebookNode:
    return nbformat.v4.new_output("error", ename=name, evalue=message, traceback=[f"{name}: {message}"])


@contextmanager
def open_kernel(
    folder: Path, environment: KernelEnvironment, costs: Costs | None = None
) -> Iterator[KernelClient]:
    """Start a kernel for a `with` block and end it afterwards. Raises SandboxError if none can be started."""
    kernel = KernelClient(folder, environment, costs)
    try:
        kernel.start()
        yield kernel
    finally:
        kernel.stop()
