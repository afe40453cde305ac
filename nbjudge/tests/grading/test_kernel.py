"""A cell or an answer may hang, or kill its kernel: it costs itself, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
import torch

import nbjudge.torch  # noqa: F401  # tensors are values that are read
from nbjudge.authoring import case
from nbjudge.calls import Reply, calls_for
from nbjudge.kernel.client import KernelClient, open_kernel
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.settings import Limits

pytestmark = pytest.mark.integration

PATIENT = Limits(cell=60, answer=60, notebook=240)
HURRIED = Limits(cell=1, answer=1, notebook=240)
LOOP = "while True:\n    pass"
DIE = "import os\nos._exit(1)"
# Nothing but killing it ends this one: the interrupt is ignored.
DEAF = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True:\n    time.sleep(0.1)"


@contextmanager
def running(folder: Path, *sources: str) -> Iterator[tuple[KernelClient, list[str], nbformat.NotebookNode]]:
    """A kernel that has run these cells, what came of each, and the notebook."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    with open_kernel(folder, KernelEnvironment(limits=PATIENT)) as kernel:
        outcomes = []
        for cell in notebook.cells:
            # Only what never ends is hurried, so that a slow machine fails no test.
            kernel.limits = HURRIED if cell.source in (LOOP, DEAF) else PATIENT
            outcomes.append(kernel.run_cell(cell))
            kernel.limits = PATIENT
        yield kernel, outcomes, notebook


def printed(notebook: nbformat.NotebookNode, index: int) -> str:
    return "".join(output.get("text", "") for output in notebook.cells[index].outputs)


def put(kernel: KernelClient, name: str, *inputs: torch.Tensor) -> Reply:
    cases = [case(given) for given in inputs]
    return kernel.call(name, calls_for(cases, [None] * len(cases)), False)


def test_a_loop_without_end_is_stopped_and_the_names_before_it_are_kept(tmp_path):
    with running(tmp_path, "kept = 7", LOOP, "print(kept)") as (_, outcomes, notebook):
        assert outcomes == ["done", "timeout", "done"]
        stopped = notebook.cells[1].outputs[-1]
        assert stopped.ename == "KeyboardInterrupt" and "limit: " in stopped.evalue
        assert stopped.evalue in stopped.traceback[-1]
        assert printed(notebook, 2) == "7\n"


@pytest.mark.parametrize(("killer", "outcome"), [(DIE, "died"), (DEAF, "timeout")], ids=["dead", "deaf"])
def test_a_lost_kernel_comes_back_in_the_state_it_had_without_what_killed_it(tmp_path, killer, outcome):
    cells = ("order = [1]", "order.append(2)", "order.append(3)\n" + killer, "print(order)")
    if killer == DEAF:
        cells = (*cells[:2], killer, cells[3])
    with running(tmp_path, *cells) as (_, outcomes, notebook):
        assert outcomes == ["done", "done", outcome, "done"]
        assert printed(notebook, 3) == "[1, 2]\n"


@pytest.mark.parametrize("leaver", ["exit()", "quit()"])
def test_a_kernel_that_leaves_after_a_cell_takes_no_other_cell_with_it(tmp_path, leaver):
    with running(tmp_path, "a = 1", leaver, "b = 2", "print(a, b)") as (_, _outcomes, notebook):
        assert printed(notebook, 3) == "1 2\n"


def test_a_cell_that_ends_the_kernel_when_a_later_one_runs_is_told_so(tmp_path):
    late = "import os, threading\nthreading.Timer(0.03, os._exit, [1]).start()"
    with running(tmp_path, "a = 1", late, "import time\ntime.sleep(1)", "print(a)") as (kernel, _, notebook):
        assert kernel.killers == [notebook.cells[1]]
        assert notebook.cells[1].outputs[0].evalue.startswith("The kernel died while this cell ran")
        assert printed(notebook, 3) == "1\n"


def test_sys_exit_is_an_error_like_any_other(tmp_path):
    with running(tmp_path, "import sys\nsys.exit(1)", "print('here')") as (_, outcomes, notebook):
        assert outcomes == ["done", "done"]
        assert printed(notebook, 1) == "here\n"


ANSWERS = f"""
import torch
def right(x):
    return x + 1
def hangs(x):
    {LOOP.replace(chr(10), chr(10) + "    ")}
def dies(x):
    {DIE.replace(chr(10), chr(10) + "    ")}
def deaf(x):
    {DEAF.replace(chr(10), chr(10) + "    ")}
def questions(x):
    return input("how many? ")
def half(x):
    if len(x) == 2:
        while True:
            pass
    return x
"""


# What became of two calls, and whether the kernel was lost with the answers it already had.
CAME_IN = {
    "hangs": (["timeout", "timeout"], False),
    "dies": (["died", "died"], True),
    "deaf": (["timeout", "timeout"], True),
    "half": (["value", "timeout"], False),
}


def test_an_answer_that_hangs_or_kills_its_kernel_leaves_the_others_their_answers(tmp_path):
    with running(tmp_path, ANSWERS) as (kernel, _, _notebook):
        for name, came in CAME_IN.items():
            assert put(kernel, "right", torch.ones(2)).answers[0].value.tolist() == [2.0, 2.0]
            kernel.limits = Limits(cell=60, answer=60 if name == "dies" else 1, notebook=240)
            reply = put(kernel, name, torch.ones(1), torch.ones(2))
            assert ([answer.status for answer in reply.answers], reply.lost) == came, name
            kernel.limits = PATIENT
        assert put(kernel, "right", torch.ones(2)).answers[0].status == "value"
        assert put(kernel, "absent", torch.ones(2)).answers[0].status == "missing"
        (input_answer,) = put(kernel, "questions", torch.ones(2)).answers
        assert input_answer.status == "raised"


def test_a_notebook_cannot_take_longer_than_its_budget_by_being_late_again_and_again(tmp_path):
    cells = [nbformat.v4.new_code_cell(LOOP) for _ in range(20)]
    with open_kernel(tmp_path, KernelEnvironment(limits=Limits(cell=1, answer=1, notebook=4))) as kernel:
        outcomes = [kernel.run_cell(cell) for cell in cells]
    assert outcomes[0] == "timeout"
    assert outcomes[-10:] == ["skipped"] * 10


def test_cells_and_answers_that_exceed_limits_are_counted(tmp_path):
    with running(tmp_path, ANSWERS, DIE) as (kernel, _, _notebook):
        assert kernel.budget.losses == 1
        for name in ("right", "dies", "right", "absent"):
            put(kernel, name, torch.ones(1))
        assert kernel.budget.losses == 2
