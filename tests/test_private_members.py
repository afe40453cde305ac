"""Private parts of other packages that the grader uses: known, and still there.

What a package does not promise may go with its next version. Anyone who raises a pin looks here first.
nbconvert is pinned from above. torch is not, because a learner's host chooses its version: CI runs this file
with the newest one, too.
"""

import ast
import importlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GRADER = ROOT / "nbjudge" / "src" / "nbjudge"
# By the name under which each is reached; why nothing public will do.
USED = {
    # Kernels of operators are exchanged for ones that note that they run: nothing else sees all routes.
    "torch._C._dispatch_library": "torch/values.py",
    "torch._C._dispatch_key_parse": "torch/values.py",
    "torch._C._dispatch_get_computed_kernel_for_dispatch_key": "torch/values.py",
    # Which operators of a kind the installed torch has, backward ones among them.
    "torch._C._dispatch_get_all_op_names": "torch/values.py",
    "torch._C._dispatch_has_kernel_for_dispatch_key": "torch/values.py",
    # Whether an operator runs in a backward pass.
    "torch._C._current_graph_task_id": "torch/values.py",
    # The judge's own backward pass must not be taken for a student's.
    "torch.autograd.Variable._execution_engine": "torch/values.py",
    # Records allocations and no operators, which the public profiler cannot.
    "torch._C._profiler": "torch/memory.py",
    "torch._C._autograd": "torch/memory.py",
    # Counts products. The public mode that does so imports torch's compiler, half a second in each kernel.
    "torch.utils._python_dispatch.TorchDispatchMode": ("torch/memory.py", "torch/values.py"),
    # Imported ahead, as torch imports it later, inside a notebook's time.
    "torch._subclasses.schema_check_mode": "sandbox/inside/fork_server.py",
    # nbconvert makes folders there, and says nothing of a full disk.
    "nbconvert.writers.files.FilesWriter._makedir": "nbgrader_hooks/autograde.py",
    # ipykernel's streams hand what is printed to a thread, and its kernel answers in a thread of its own.
    "ipykernel.iostream.OutStream._schedule_flush": "sandbox/inside/kernel.py",
    "ipykernel.iostream.OutStream._flush": "sandbox/inside/kernel.py",
    "ipykernel.kernelbase.Kernel._supports_kernel_subshells": "sandbox/inside/kernel.py",
    "ipykernel.kernelbase.Kernel._execute_sleep": "sandbox/inside/kernel.py",
}


def private_names(code: str) -> Iterator[str]:
    """Dotted names of other packages with a part that begins with one underscore."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute):
            yield ast.unparse(node)


def used_by(file: Path) -> set[str]:
    found = {name for name in private_names(file.read_text()) if re.search(r"\._[a-zA-Z]", name)}
    outside = {name for name in found if name.startswith(("torch.", "nbconvert.", "nbgrader.", "nbformat."))}
    # A chain of attributes comes with each of its beginnings.
    return {name for name in outside if not any(other.startswith(f"{name}.") for other in outside)}


def test_no_other_private_parts_are_used():
    found = {
        (name, file.relative_to(GRADER).as_posix()) for file in GRADER.rglob("*.py") for name in used_by(file)
    }
    overridden = {name for name in USED if name.startswith(("nbconvert.", "ipykernel."))}
    assert {name for name, _ in found} == USED.keys() - overridden
    assert [(name, file) for name, file in found if file not in USED[name]] == []


@pytest.mark.parametrize("name", USED)
def test_each_is_still_there(name):
    parts = name.split(".")
    owner = importlib.import_module(parts[0])
    for depth, part in enumerate(parts[1:], 2):
        try:
            owner = getattr(owner, part)
        except AttributeError:
            owner = importlib.import_module(".".join(parts[:depth]))


def test_nbconvert_is_pinned_from_above():
    project = tomllib.loads((ROOT / "nbjudge" / "pyproject.toml").read_text())["project"]
    (pin,) = [each for each in project["optional-dependencies"]["grading"] if each.startswith("nbconvert")]
    assert "<" in pin
