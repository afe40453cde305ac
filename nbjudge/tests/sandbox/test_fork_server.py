"""The fork server: one thread, out of its kernels' sight and reach, and replaced when it dies."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace

import psutil
import pytest
from student_code import MODULES, PATIENT

from nbjudge.errors import SandboxError
from nbjudge.sandbox import fork_server_client as server_module
from nbjudge.sandbox.fork_server_client import ForkServer, current_fork_server

pytestmark = pytest.mark.integration

# A process and what it may do to another one of the same user.
REACH = """
import ctypes, os, signal

libc = ctypes.CDLL(None, use_errno=True)
found, own = [], set(map(int, os.listdir("/proc/self/task")))
for process in set(range(2, 200)) - own:
    try:
        os.kill(process, 0)
        found.append(process)
    except ProcessLookupError:
        pass
    if libc.ptrace(16, process, None, None) == 0 or os.path.exists(f"/proc/{process}"):
        found.append(process)
print(found)
try:
    os.kill(-1, signal.SIGTERM)
except ProcessLookupError:
    print("no process")
"""


def the_interpreter() -> psutil.Process:
    """bubblewrap's second process is the first of its namespace; the interpreter is the child of that."""
    process = psutil.Process(current_fork_server(MODULES)._process.pid)
    while process.name() == "bwrap":
        # The oldest: a kernel whose supervisor has just ended is the sandbox's for a moment.
        process = min(process.children(), key=psutil.Process.create_time)
    return process


def test_it_rather_does_not_start_than_lose_a_thread(monkeypatch):
    thread = "import threading, time; threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); "
    monkeypatch.setattr(server_module.bubblewrap, "START", thread + server_module.bubblewrap.START)
    interpreter = ForkServer(())
    with pytest.raises(SandboxError, match="warming up has started 1 threads: a fork would lose them"):
        interpreter.fork(replace(PATIENT, startup=1), {})
    interpreter.close()


def test_a_kernel_can_neither_see_trace_nor_signal_it(start, tmp_path):
    with start(tmp_path) as kernel:
        before = the_interpreter()
        assert kernel.says(REACH).splitlines() == ["[]", "no process"]
        assert the_interpreter() == before


def test_what_a_kernel_changes_is_not_changed_in_the_next(start, tmp_path):
    pytest.importorskip("torch")
    spoil = """
import builtins, math, os, sys
import numpy, torch
numpy.pi = math.pi = 3
torch.softmax = None
builtins.LEFT = True
os.environ["LEFT"] = "here"
sys.path.append("/left")
sys.modules["left"] = os
torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
"""
    look = """
import builtins, math, os, sys
import numpy, torch
print(numpy.pi == math.pi > 3.1, torch.softmax is not None, torch.get_default_dtype())
print(hasattr(builtins, "LEFT"), "LEFT" in os.environ, "/left" in sys.path, "left" in sys.modules)
"""
    with start(tmp_path) as kernel:
        kernel.says(spoil)
    with start(tmp_path) as kernel:
        assert kernel.says(look).splitlines() == ["True True torch.float32", "False False False False"]


def test_it_is_asked_for_kernels_as_often_as_wanted_and_keeps_one_for_the_next(start, tmp_path):
    with start(tmp_path) as kernel:
        first = psutil.Process(kernel.pid)
        sockets = kernel.kernel.process.sockets
        assert first.is_running() and sockets.is_dir()
    assert not first.is_running()
    assert not sockets.exists()
    assert len(forks()) == 1  # the next kernel's supervisor
    current_fork_server(MODULES).drop_spare()
    assert forks(at_most=0) == []


def forks(at_most: int = 1) -> list[psutil.Process]:
    """The supervisors of the interpreter's kernels, as soon as there are no more than that."""
    ends = time.monotonic() + 10
    while len(found := the_interpreter().children()) > at_most and time.monotonic() < ends:
        time.sleep(0.02)
    return found


def the_next_kernel() -> psutil.Process:
    (supervisor,) = forks()
    ends = time.monotonic() + 10
    while not (kernels := kernels_of(supervisor)) and time.monotonic() < ends:
        time.sleep(0.02)
    return kernels[0]


def kernels_of(supervisor: psutil.Process) -> list[psutil.Process]:
    """Without the reader, which has no processes of its own."""
    own = os.readlink(f"/proc/{supervisor.pid}/ns/pid")
    return [child for child in supervisor.children() if os.readlink(f"/proc/{child.pid}/ns/pid") != own]


def test_the_next_kernel_is_begun_while_this_one_runs(start, tmp_path):
    with start(tmp_path):
        pass
    begun = the_next_kernel()
    (tmp_path / "given.txt").write_text("only now")
    with start(tmp_path) as kernel:
        assert kernel.pid == begun.pid
        assert kernel.says("print(open('given.txt').read())") == "only now"


def test_a_next_kernel_of_other_limits_is_not_taken(start, tmp_path):
    with start(tmp_path):
        pass
    begun = the_next_kernel()
    with start(tmp_path, replace(PATIENT, open_files=100)) as kernel:
        assert kernel.pid != begun.pid
        assert (
            kernel.says("import resource\nprint(resource.getrlimit(resource.RLIMIT_NOFILE))") == "(100, 100)"
        )
    psutil.wait_procs([begun], timeout=10)
    assert not begun.is_running()


@pytest.mark.parametrize("who", ["kernel", "supervisor"])
def test_a_next_kernel_that_died_meanwhile_costs_no_one_anything(start, tmp_path, who):
    with start(tmp_path):
        pass
    begun = the_next_kernel()
    (begun if who == "kernel" else begun.parent()).kill()
    with start(tmp_path) as kernel:
        assert kernel.pid != begun.pid
        assert kernel.says("print('hello')") == "hello"


@pytest.mark.parametrize("dead", ["interpreter", "sandbox"])
def test_a_dead_one_is_replaced_at_once(start, tmp_path, dead):
    with start(tmp_path):
        old = current_fork_server(MODULES)
        process = the_interpreter() if dead == "interpreter" else psutil.Process(old._process.pid)
    process.kill()
    with start(tmp_path) as kernel:
        assert kernel.says("print('hello')") == "hello"
    assert current_fork_server(MODULES) is not old


def test_kernels_end_with_it(start, tmp_path):
    with start(tmp_path) as kernel:
        process = psutil.Process(kernel.pid)
        os.kill(current_fork_server(MODULES)._process.pid, signal.SIGKILL)
        psutil.wait_procs([process], timeout=10)
        assert not process.is_running()
