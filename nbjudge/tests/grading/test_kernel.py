"""Kernels as processes: what a cell or an answer breaks costs itself only, and no name is lost."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import psutil
import pytest
import torch

import nbjudge.torch  # noqa: F401  # tensors are values that are read
from nbjudge.authoring import case
from nbjudge.calls import Answer, Reply, calls_for
from nbjudge.cell_metadata import Origin, mark_origin
from nbjudge.kernel import client
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


def put(kernel: KernelClient, name: str, *inputs: object) -> Reply:
    return kernel.call(name, calls_for([case(given) for given in inputs], [None] * len(inputs)), {})


def test_a_loop_without_end_is_stopped(tmp_path):
    with running(tmp_path, "kept = 7", LOOP, "print(kept)") as (_, outcomes, notebook):
        assert outcomes == ["done", "timeout", "done"]
        stopped = notebook.cells[1].outputs[-1]
        assert stopped.ename == "KeyboardInterrupt" and "limit: " in stopped.evalue
        assert stopped.evalue in stopped.traceback[-1]
        assert printed(notebook, 2) == "7\n"


ORDER = ["order = [1]", "order.append(2)", "print(order)"]


@pytest.mark.parametrize(
    ("cells", "outcome", "shown"),
    [
        ([*ORDER[:2], f"order.append(3)\n{DIE}", ORDER[2]], "died", "[1, 2]\n"),
        ([*ORDER[:2], DEAF, ORDER[2]], "timeout", "[1, 2]\n"),
        (["a = 1", "b = 2", "exit()", "print(a, b)"], None, "1 2\n"),
        (["a = 1", "b = 2", "quit()", "print(a, b)"], None, "1 2\n"),
        (["a = 1", "b = 2", "import sys\nsys.exit(1)", "print(a, b)"], "done", "1 2\n"),
    ],
    ids=["dead", "deaf", "exit", "quit", "sys.exit"],
)
def test_later_cells_find_the_state_before_a_loss(tmp_path, cells, outcome, shown):
    """A lost kernel comes back without what killed it; one that leaves takes no other cell with it."""
    with running(tmp_path, *cells) as (_, outcomes, notebook):
        assert outcome in (None, outcomes[2])
        assert printed(notebook, 3) == shown


def test_a_cell_that_ends_the_kernel_later_is_told_so(tmp_path):
    late = "import os, threading\nthreading.Timer(0.03, os._exit, [1]).start()"
    with running(tmp_path, "a = 1", late, "import time\ntime.sleep(1)", "print(a)") as (kernel, _, notebook):
        assert kernel.killers == [notebook.cells[1]]
        assert notebook.cells[1].outputs[0].evalue.startswith("The kernel died while this cell ran")
        assert printed(notebook, 3) == "1\n"


def test_a_test_that_passed_keeps_its_result(tmp_path, monkeypatch):
    """Also where it ends the kernel when it is run again, or is slow to answer then."""
    monkeypatch.setattr(client, "EXIT_GRACE", 1.0)
    late = "import os, threading\nprint('2 of 2')\nthreading.Timer(0.4, os._exit, [1]).start()"
    with running(tmp_path, late) as (kernel, _, notebook):
        (cell,) = notebook.cells
        cell.metadata.nbgrader = {"grade": True}
        kernel.run_cell(given("import time\ntime.sleep(2)"))
        assert printed(notebook, 0) == "2 of 2\n" and len(cell.outputs) == 1 and cell not in kernel.killers


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


def test_an_answer_that_breaks_costs_no_other(tmp_path):
    with running(tmp_path, ANSWERS, DIE) as (kernel, _, _notebook):
        losses = [kernel.budget.losses]  # what exceeds limits is counted
        for name, came in CAME_IN.items():
            assert put(kernel, "right", torch.ones(2)).answers[0].value.tolist() == [2.0, 2.0]
            kernel.limits = Limits(cell=60, answer=60 if name == "dies" else 1, notebook=240)
            reply = put(kernel, name, torch.ones(1), torch.ones(2))
            assert ([answer.status for answer in reply.answers], reply.lost) == came, name
            kernel.limits = PATIENT
            losses.append(kernel.budget.losses)
        assert losses == [1, 2, 3, 4, 4]
        for name, status in (("right", "value"), ("absent", "missing"), ("questions", "raised")):
            assert put(kernel, name, torch.ones(2)).answers[0].status == status


def test_no_notebook_takes_longer_than_its_budget(tmp_path):
    with open_kernel(tmp_path, KernelEnvironment(limits=Limits(cell=1, answer=1, notebook=4))) as kernel:
        outcomes = [kernel.run_cell(given(LOOP)) for _ in range(20)]
    assert outcomes[0] == "timeout"
    assert outcomes[-10:] == ["skipped"] * 10


# ---- processes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("sandbox", [True, False], ids=["in the sandbox", "without one"])
def test_a_kernel_and_its_reader_end_together(tmp_path, sandbox):
    here = psutil.Process()
    (tmp_path / "given.txt").write_text("given")
    before = set(here.children(recursive=True))
    with open_kernel(tmp_path, KernelEnvironment(sandbox=sandbox)) as kernel:
        cell = nbformat.v4.new_code_cell("print(open('given.txt').read())")
        assert kernel.run_cell(cell) == "done"
        assert cell.outputs[0].text == "given\n"
        own = psutil.Process(kernel.process.pid)
        begun = set(here.children(recursive=True)) - before
        assert own in begun and len(begun) >= 2
        if sandbox:  # a kernel's parent is its supervisor, whose only other child is the reader
            (reader,) = set(own.parent().children()) - {own}
            begun = {reader}  # the fork server stays, for the next notebook
    assert not own.is_running()
    psutil.wait_procs(begun, timeout=20 if sandbox else 0)
    assert not [process for process in begun if process.is_running()]


PATCHED = """
import importlib, inspect, json, sys

NAMES = ("jupyter_client.manager", "jupyter_client.provisioning.factory", "jupyter_client.session",
         "jupyter_client.channels", "nbclient.client", "ipykernel.kernelapp", "ipykernel.ipkernel",
         "nbgrader.converters.autograde", "nbgrader.converters.base", "nbgrader.utils", "nbgrader.api")

def everything():
    for module in map(importlib.import_module, NAMES):
        own = [c for _, c in inspect.getmembers(module, inspect.isclass) if c.__module__ == module.__name__]
        for owner in [module, *own]:
            for name, value in vars(owner).items():
                yield f"{module.__name__} {owner.__name__} {name}", value

before = dict(everything())
import nbjudge.nbgrader_hooks
print(json.dumps([len(before), [name for name, value in everything() if before.get(name, 0) is not value]]))
"""


def test_importing_the_grader_patches_nothing():
    run = subprocess.run([sys.executable, "-c", PATCHED], capture_output=True, text=True, check=True)
    looked_at, changed = json.loads(run.stdout)
    assert looked_at > 500
    assert changed == []


# ---- names ---------------------------------------------------------------------------------------


def given(source: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_code_cell(source)


def written(source: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_code_cell(source, metadata={"nbgrader": {"solution": True}})


def answer_of(kernel: KernelClient, *cells: nbformat.NotebookNode) -> Answer:
    for cell in cells:
        kernel.run_cell(cell)
    (answer,) = put(kernel, "total", 3).answers
    return answer


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[KernelClient]:
    with running(tmp_path) as (kernel, _, _notebook):
        yield kernel


HELPED = "def weights(n):\n    return n + 1\ndef total(n):\n    return 2 * weights(n)"
WEIGHTS = written(HELPED)
TOTAL = written("def total(n):\n    return min(n, limit)")
USED = {
    "its helper's name": ([WEIGHTS, given("weights = [0.5, 0.5]")], 8),
    "a removed helper": ([WEIGHTS, given("del weights")], 8),
    "its own name": ([WEIGHTS, given("total = 0")], 8),
    "its helper's name after an error": ([written(f"{HELPED}\n1 / 0"), given("weights = 0")], 8),
    "its helper's name before a new kernel": ([WEIGHTS, given("weights = 0"), written(DIE)], 8),
    "a name that only given cells have": (
        [written("def total(n):\n    return n + later"), given("later = 4")],
        7,
    ),
    "a name that the student uses again": (
        [WEIGHTS, given("weights = [0.5]"), written("def weights(n):\n    return n")],
        6,
    ),
    # A given cell that sets its own name again takes effect; one that sets a student's does not.
    "its own again": ([given("limit = 1.0"), TOTAL, given("limit = 2.0")], 2),
    "its own again, and fails": ([given("limit = 1.0"), TOTAL, given("limit = 2.0\n1 / 0")], 2),
    "its own after a failure": ([given("limit = 1.0\n1 / 0"), TOTAL, given("limit = 2.0")], 2),
    "a student's first": ([written("limit = 1.0"), given("limit = 2.0"), TOTAL], 2),
    "builtin names": ([written("limit = dict = set = 2.0"), TOTAL, given("limit = 1.0")], 2),
    "a student's later": ([given("limit = 1.0"), written("limit = 2.0"), TOTAL, given("limit = 1.0")], 2),
}


@pytest.mark.parametrize(("cells", "value"), USED.values(), ids=USED)
def test_an_answer_finds_the_names_of_its_student(kernel, cells, value):
    assert answer_of(kernel, *cells).value == value


def test_given_cells_find_their_names_after_a_call(kernel):
    answer_of(kernel, WEIGHTS, given("weights = [0.5, 0.5]; new = 7"))
    shown = given("print(weights, new)")
    kernel.run_cell(shown)
    assert shown.outputs[0].text == "[0.5, 0.5] 7\n"


@pytest.mark.parametrize(("origin", "status"), [(Origin.STUDENT, "value"), (Origin.COURSE, "raised")])
def test_without_cell_ids_the_merge_says_whose_it_is(kernel, origin, status):
    total = written("def total(n):\n    return 2 * weights(n)")
    helper, taken = given("def weights(n):\n    return n + 1"), given("weights = [0.5, 0.5]")
    mark_origin(helper, origin)
    mark_origin(taken, Origin.COURSE)
    for cell in (total, helper, taken):
        del cell["id"]
    answer = answer_of(kernel, total, helper, taken)
    assert answer.status == status
