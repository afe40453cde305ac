"""Kernels and their readers as processes: Jupyter's own, nothing of it patched, none left behind."""

from __future__ import annotations

import json
import subprocess
import sys

import nbformat
import psutil
import pytest

from nbjudge.errors import SandboxError
from nbjudge.kernel.client import open_kernel
from nbjudge.kernel.process import KernelEnvironment, refuse_other_languages

pytestmark = pytest.mark.integration

JULIA = {"argv": ["julia", "{connection_file}"], "display_name": "Julia", "language": "julia"}


def test_a_kernel_of_another_language_is_refused(tmp_path, monkeypatch):
    (tmp_path / "kernels" / "julia").mkdir(parents=True)
    (tmp_path / "kernels" / "julia" / "kernel.json").write_text(json.dumps(JULIA))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    with pytest.raises(SandboxError, match=r"'julia' runs julia: .* grades Python notebooks only\.$"):
        refuse_other_languages("julia")


def test_a_kernel_that_is_not_installed_is_said_to_be_missing():
    with pytest.raises(SandboxError, match=r"There is no kernel 'unheard-of' on this machine: install it"):
        refuse_other_languages("unheard-of")


@pytest.mark.parametrize("name", ["python", "python2", "Python 3.9"])
def test_a_python_by_another_name_is_the_sandboxs_own(name):
    refuse_other_languages(name)


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
    assert not own.is_running()
    if not sandbox:  # the fork server stays, for the next notebook
        assert not [process for process in begun if process.is_running()]


def test_the_sandbox_has_one_reader_for_each_kernel(tmp_path):
    """A kernel's parent is its supervisor, and the supervisor's other child is the reader."""
    with open_kernel(tmp_path, KernelEnvironment()) as kernel:
        own = psutil.Process(kernel.process.pid)
        family = own.parent().children()
        assert own in family and len(family) == 2
        (reader,) = set(family) - {own}
    psutil.wait_procs([reader], timeout=20)
    assert not reader.is_running()


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


def test_nothing_of_jupyters_is_patched_by_importing_the_grader():
    run = subprocess.run([sys.executable, "-c", PATCHED], capture_output=True, text=True, check=True)
    looked_at, changed = json.loads(run.stdout)
    assert looked_at > 500
    assert changed == []
