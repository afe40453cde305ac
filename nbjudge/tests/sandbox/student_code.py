"""Code that is run as a student's: in a kernel of the sandbox, with limits of one's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat

from nbjudge.kernel.client import KernelClient, Outcome
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.settings import Limits

MODULES = ("numpy.random", "torch")
PATIENT = Limits(cell=60, answer=60, notebook=240)


class Inside:
    """One notebook's kernel; `folder` holds the files that lie beside the notebook."""

    def __init__(self, folder: Path, limits: Limits = PATIENT, exposed_modules: tuple[str, ...] = ()) -> None:
        environment = KernelEnvironment(limits=limits, modules=MODULES, exposed_modules=exposed_modules)
        self.kernel = KernelClient(folder, environment)

    def __enter__(self) -> Inside:
        self.kernel.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.kernel.stop()

    def run(self, code: str) -> tuple[Outcome, str]:
        """Return what became of a cell, and all that it shows."""
        cell = nbformat.v4.new_code_cell(code)
        outcome = self.kernel.run_cell(cell)
        return outcome, "".join(map(_text_of, cell.outputs))

    def says(self, code: str) -> str:
        """Return what a cell prints that must run to its end."""
        outcome, shown = self.run(code)
        assert outcome == "done", (outcome, shown)
        return shown.strip()

    @property
    def pid(self) -> int:
        """The kernel's process id as this machine numbers it."""
        return self.kernel.process.pid


def _text_of(output: nbformat.NotebookNode) -> str:
    if output.output_type == "error":
        return f"{output.ename}: {output.evalue}"
    return output.get("text", "")


Start = Callable[..., Inside]
