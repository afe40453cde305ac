"""The student's kernel: cells run in it, answers are asked of it, and it may hang or die at any time.

A cell or an answer that kills the kernel costs itself only: a new kernel is started, the
earlier cells are run again, and whatever killed the last one is left out.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import nbformat
from jupyter_core.utils import run_sync
from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode

from attention_lab.grading import protocol
from attention_lab.grading.answers import Answer, Reply, read_reply
from attention_lab.grading.channels import Runner, World, start
from attention_lab.grading.patience import Patience
from attention_lab.grading.sandbox.forked_kernel import SandboxError

WAKING = 3.0  # seconds in which a kernel that was interrupted says so
SETTLE = 0.05  # seconds in which a kernel that was told to exit is gone
MOST_BENEFITS_OF_DOUBT = 2  # a notebook whose cells keep dying is a killer's, not an accident
TOO_LATE = {
    "ename": "TimeoutError",
    "evalue": "This cell took too long and was stopped.",
    "traceback": ["TimeoutError: This cell took too long and was stopped."],
}

Outcome = Literal["done", "late", "died", "skipped"]


class StudentKernel:
    """One kernel for one notebook, started again as often as its code kills it."""

    def __init__(self, notebook: NotebookNode, folder: Path, world: World) -> None:
        self.world = world
        self.limits = limits = world.limits
        self.ends = time.monotonic() + limits.notebook
        self._played: list[tuple[int, NotebookNode]] = []
        self._late_cells = 0
        self._deaths = 0
        self.last_words = ""  # why the sandbox ended the last kernel that it ended
        self._asked_to_exit = False
        self._folder = folder
        self._manager: Any = None
        self._sockets: TemporaryDirectory[str] | None = None
        self._client = Runner(
            # nbclient keeps executed cells in its notebook; cells that are run again belong in no one's.
            # (Not `new_notebook`: it gives ids to cells of a format that has none.)
            NotebookNode(nbformat=4, nbformat_minor=5, metadata=NotebookNode(), cells=list(notebook.cells)),
            limits,
            kernel_name=world.kernel_name,
            resources={"metadata": {"path": str(folder)}},
            allow_errors=True,
            interrupt_on_timeout=True,
            error_on_timeout=TOO_LATE,
            raise_on_iopub_timeout=False,
            store_widget_state=False,
            shutdown_kernel="immediate",
            on_cell_executed=self._note_reply,
            record_timing=False,
            startup_timeout=int(limits.startup),
        )

    @property
    def out_of_time(self) -> bool:
        return time.monotonic() >= self.ends

    def run_cell(self, cell: NotebookNode, index: int) -> Outcome:
        """Run one code cell; its outputs are left in it."""
        if self.out_of_time:
            return "skipped"
        # Whoever wrote one endless loop often calls it again further down: each costs less patience.
        patience = self.limits.cell / (1 + self._late_cells)
        outcome = self._execute(cell, index, patience)
        self._deaths += outcome == "died"
        if outcome == "died" and self._deaths <= MOST_BENEFITS_OF_DOUBT:
            # A cell before this one may have ended the kernel: a thread or a timer of its own.
            self._start_again()
            cell.outputs = []
            outcome = self._execute(cell, index, patience)
        if outcome == "died" or (outcome == "late" and not self._listens()):
            self._start_again()
        self._late_cells += outcome == "late"
        if outcome == "done":
            self._played.append((index, cell))
        return outcome

    def ask(self, name: str, calls: list[dict[str, Any]], trace: bool) -> Reply:
        """Put calls to the answer `name`; whatever goes wrong becomes an answer that says so."""
        if self.out_of_time:
            return Reply([Answer("late")] * len(calls))
        patience = max(1.0, min(self.limits.answer, self.ends - time.monotonic()))
        try:
            printed = self._evaluate(protocol.question(name, calls, trace), patience)
            return read_reply(protocol.read_printed(printed), len(calls))
        except TimeoutError:
            self._start_again()
            return Reply([Answer("late")] * len(calls), lost=True)
        except DeadKernelError:
            self._start_again()
            return Reply([Answer("died")] * len(calls), lost=True)
        except Exception as error:  # whatever a kernel sends must not stop the class
            return Reply([Answer("unreadable", message=str(error)[:200])] * len(calls), lost=True)

    def start(self) -> None:
        """Start a kernel. Raises SandboxError where the sandbox gives none."""
        try:
            self._sockets = start(self._client, self._folder, self.world)
        except SandboxError:  # such as: the warm interpreter has died; it is replaced when one asks again
            self.stop()
            self._sockets = start(self._client, self._folder, self.world)
        self._manager = self._client.km

    def stop(self) -> None:
        if self._client.km is not None:
            provisioner = self._client.km.provisioner
            self._client._cleanup_kernel()
            self.last_words = getattr(provisioner, "report", "")
        if self._manager is not None:  # nbclient lets go of its manager where the kernel has died
            self._manager.context.destroy(linger=0)
        if self._sockets is not None:
            self._sockets.cleanup()
        self._client.km = self._client.kc = self._sockets = None

    def _execute(self, cell: NotebookNode, index: int, patience: float) -> Outcome:
        started = time.monotonic()
        self._client.timeout = max(2, int(min(patience, self.ends - started)))
        self._asked_to_exit = False
        try:
            self._client.execute_cell(cell, index)
        except DeadKernelError:
            return "died"
        if self._asked_to_exit:
            return "died"
        stopped = any(output.get("ename") == TOO_LATE["ename"] for output in cell.outputs)
        return "late" if stopped or time.monotonic() - started >= self._client.timeout else "done"

    def _note_reply(self, cell: NotebookNode, cell_index: int, execute_reply: dict[str, Any]) -> None:
        """What the reply says of a cell that its outputs do not."""
        content = execute_reply["content"]
        # `exit()` takes effect only after the cell's reply, but the reply announces it.
        payload = content.get("payload") or []
        self._asked_to_exit = any(entry.get("source") == "ask_exit" for entry in payload)
        # Whoever replaces IPython's display of errors hides them from the outputs that nbgrader reads.
        shown = any(output.output_type == "error" for output in cell.outputs)
        if content.get("status") == "error" and not shown:
            name, said = str(content.get("ename")), str(content.get("evalue"))
            trace = [f"{name}: {said}"]
            cell.outputs.append(nbformat.v4.new_output("error", ename=name, evalue=said, traceback=trace))

    def _start_again(self) -> None:
        """A fresh kernel in the state of the last one: every earlier cell but the killers, run again."""
        while True:
            self.stop()
            self.start()
            killer = next((entry for entry in self._played if not self._survives(*entry)), None)
            if killer is None:
                return
            self._played.remove(killer)

    def _survives(self, index: int, cell: NotebookNode) -> bool:
        if self.out_of_time:
            return True
        if self._execute(copy.deepcopy(cell), index, self.limits.cell) == "died":
            return False
        time.sleep(SETTLE)
        return self._listens()

    def _listens(self) -> bool:
        """Whether the kernel answers at all after it was interrupted."""
        try:
            return self._evaluate("1", patience=WAKING) == "1"
        except Exception:  # dead, silent, or talking nonsense
            return False

    def _evaluate(self, expression: str, patience: float) -> str:
        """The printed form of an expression's value in the kernel.

        Raises TimeoutError, DeadKernelError, or KeyError where the expression itself failed.
        """
        return run_sync(self._async_evaluate)(expression, patience)

    async def _async_evaluate(self, expression: str, patience: float) -> str:
        client: Any = self._client.kc
        sent = client.execute("", silent=True, store_history=False, user_expressions={"answer": expression})
        content = await self._reply_to(sent, patience)
        if content is None:  # what was answered until now comes when it is interrupted
            await self._manager.interrupt_kernel()
            content = await self._reply_to(sent, WAKING)
        if content is None:
            raise TimeoutError
        answer = content["user_expressions"]["answer"]
        if answer["status"] != "ok":
            raise ValueError(f"{answer.get('ename')}: {answer.get('evalue')}")
        return str(answer["data"]["text/plain"])

    async def _reply_to(self, sent: str, patience: float) -> dict[str, Any] | None:
        """What the kernel says to a message, or None where it takes too long. Raises DeadKernelError."""
        client: Any = self._client.kc
        clock = Patience(self._manager.provisioner.pid, patience)
        while clock.seconds_left > 0:
            if not await self._manager.is_alive():
                raise DeadKernelError("Kernel died")
            try:
                message = await client.get_shell_msg(timeout=min(1.0, max(0.05, clock.seconds_left)))
            except Exception:  # queue.Empty: not yet
                continue
            if message["parent_header"].get("msg_id") == sent:
                return dict(message["content"])
        return None


@contextmanager
def student_kernel(notebook: NotebookNode, folder: Path, world: World) -> Iterator[StudentKernel]:
    """A started kernel, stopped on the way out."""
    kernel = StudentKernel(notebook, folder, world)
    try:
        kernel.start()
        yield kernel
    finally:
        kernel.stop()
