"""Kernels of the sandbox come through Jupyter's own extension point, and nothing of Jupyter's is patched."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import jupyter_client
import nbclient
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager
from jupyter_client.provisioning import KernelProvisionerBase, KernelProvisionerFactory
from jupyter_client.provisioning.factory import entry_points
from student_code import MODULES, PATIENT
from tiny_course import ROOT

from attention_lab.grading import channels
from attention_lab.grading.sandbox.forked_kernel import SandboxError
from attention_lab.grading.sandbox.provisioner import NAME, SandboxProvisioner, SandboxSpecs

JULIA = {"argv": ["julia", "{connection_file}"], "display_name": "Julia", "language": "julia"}


def test_it_is_registered_where_jupyter_looks_for_provisioners():
    (found,) = entry_points(group=KernelProvisionerFactory.GROUP_NAME, name=NAME)
    assert found.load() is SandboxProvisioner
    assert found.load() is SandboxProvisioner
    assert issubclass(SandboxProvisioner, KernelProvisionerBase)


def test_jupyters_own_factory_makes_it_for_a_kernel_of_the_sandbox():
    manager = KernelManager(kernel_name="python3")
    manager.kernel_spec_manager = SandboxSpecs(limits={"cell": 1}, modules=["numpy"])
    factory = KernelProvisionerFactory.instance()
    made = factory.create_provisioner_instance("some id", manager.kernel_spec, manager)
    assert type(made) is SandboxProvisioner
    assert made.limits == {"cell": 1}
    assert made.modules == ["numpy"]


def test_the_installed_kernel_specs_are_left_as_they_are():
    before = KernelSpecManager().get_kernel_spec("python3").to_dict()
    ours = SandboxSpecs(limits={"cell": 1}).get_kernel_spec("python3").to_dict()
    assert KernelSpecManager().get_kernel_spec("python3").to_dict() == before
    assert ours["argv"] == before["argv"]
    assert "kernel_provisioner" not in before["metadata"]


def test_a_kernel_of_another_language_is_refused(tmp_path, monkeypatch):
    (tmp_path / "kernels" / "julia").mkdir(parents=True)
    (tmp_path / "kernels" / "julia" / "kernel.json").write_text(json.dumps(JULIA))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    with pytest.raises(
        SandboxError, match=r"'julia' runs julia: the sandbox grades Python notebooks only\.$"
    ):
        SandboxSpecs().get_kernel_spec("julia")


def test_the_graders_kernels_are_its_own(start, tmp_path):
    with start(tmp_path) as kernel:
        provisioner = kernel.kernel._manager.provisioner
        assert type(provisioner) is SandboxProvisioner
        assert provisioner.limits["memory"] == PATIENT.memory
        assert tuple(provisioner.modules) == MODULES
        assert kernel.kernel._manager.transport == "ipc"
        connection = json.loads(Path(kernel.kernel._manager.connection_file).read_text())
        assert connection["transport"] == "ipc"


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
import attention_lab.grading.nbgrader_plugin
print(json.dumps([len(before), [name for name, value in everything() if before.get(name, 0) is not value]]))
"""


def test_nothing_of_jupyters_is_patched_by_importing_the_grader():
    run = subprocess.run([sys.executable, "-c", PATCHED], capture_output=True, text=True, check=True)
    looked_at, changed = json.loads(run.stdout)
    assert looked_at > 500
    assert changed == []


def test_the_graders_own_classes_are_subclasses_of_jupyters():
    for ours in (channels.Manager, channels.Client, channels.Runner, SandboxSpecs):
        assert any(base.__module__.startswith(("jupyter_client", "nbclient")) for base in ours.__bases__)
    assert inspect.getmodule(jupyter_client.AsyncKernelManager).__name__.startswith("jupyter_client")
    assert "RunAndJudge" in (ROOT / "nbgrader_config.py").read_text()
    assert nbclient.NotebookClient is channels.NotebookClient
