"""What student code finds around it: nothing of the machine, the course or others; its fork server."""

import json
import os
import signal
import socket
import sys
import sysconfig
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from student_code import MODULES, PATIENT

import nbjudge
from nbjudge.errors import SandboxError
from nbjudge.sandbox import fork_server_client as server_module
from nbjudge.sandbox.bubblewrap import ENVIRONMENT, HOME
from nbjudge.sandbox.fork_server_client import ForkServer, close_fork_server, current_fork_server
from nbjudge.sandbox.inside.supervisor import OTHERS

pytestmark = pytest.mark.integration


# What ipykernel and matplotlib set in every kernel.
SET_BY_THE_KERNEL = {"CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "GIT_PAGER", "MPLBACKEND", "PAGER", "TERM"}


def test_home_and_tmp_hold_only_own_files(view):
    files = view["files"]
    assert files["."] == ["given.txt"]
    assert set(files[HOME]) <= {"work", ".ipython", ".cache", ".config"}
    # Where the packages themselves lie in /tmp, the way to them is there, too.
    installed = [Path(place) for place in (sys.prefix, sys.base_prefix, nbjudge.__file__)]
    assert set(files["/tmp"]) <= {place.parts[2] for place in installed if place.is_relative_to("/tmp")}
    assert files["/dev/shm"] == []


def test_all_but_private_folders_is_read_only(view, start, tmp_path):
    private = (HOME, "/tmp", "/dev/shm", "/run/private", "/proc")
    shown = (sys.prefix, str(Path(nbjudge.__file__).parent))
    places = [place for place in view["mounts"] if place.startswith(shown) or not place.startswith(private)]
    packages = sysconfig.get_path("purelib")
    assert {"/", "/usr/lib", "/dev", "/run", packages} <= {*places}
    inner = [str(Path(json.__file__).parent), str(Path(nbjudge.__file__).parent), "/etc", "/home"]
    try_to_write = f"""
import os
def written(place):
    try:
        if os.path.isdir(place):
            open(place + "/left", "w").close()
        elif os.path.isfile(place):
            open(place, "a").close()
        else:
            return False
        return True
    except OSError:
        return False
print([place for place in {[*places, *inner]!r} if written(place)])
"""
    with start(tmp_path) as kernel:
        assert kernel.says(try_to_write) == "[]"


def test_proc_tells_nothing_of_others(start, tmp_path):
    read = f"""
import os
found = []
for name in {OTHERS!r}:
    try:
        found += [name] if os.read(os.open("/proc/" + name, os.O_RDONLY | os.O_NONBLOCK), 100) else []
    except OSError:
        pass
print(found)
"""
    assert any(Path("/proc", name).exists() for name in OTHERS)
    with start(tmp_path) as kernel:
        assert kernel.says(read) == "[]"


NOT_EXPOSED = ("shown_helpers.plots", "shown_helpers.marking", "nbjudge.tutor.tutor", "nbjudge.judge")


@pytest.fixture
def helpers(tmp_path, monkeypatch) -> Path:
    """A course's package: one of its modules is exposed in the tests; the fork server starts again."""
    package = tmp_path / "course" / "shown_helpers"
    package.mkdir(parents=True)
    for name in ("__init__", "plots", "marking"):
        (package / f"{name}.py").touch()
    monkeypatch.syspath_prepend(str(package.parent))
    close_fork_server()  # one that is there sees what its grader found
    yield package
    close_fork_server()
    for name in [name for name in sys.modules if name.startswith("shown_helpers")]:
        del sys.modules[name]


def test_no_course_no_grader_and_nobodys_home(helpers, start, tmp_path):
    """Of a course's package only the exposed module is there, as the copy that the grader finds."""
    work = tmp_path / "work"
    work.mkdir()
    hidden = [str(tmp_path), "/etc/passwd", "/etc/hostname", "/var", "/sys", "/mnt", "/run/user"]
    hidden += [str(Path(__file__).parent)]
    # Of a grader in a folder that is shown, a hidden file is there and cannot be read; a folder is empty.
    code = f"""
import importlib, os
print([place for place in {hidden!r} if os.path.exists(place)])
try:
    print(open({str(Path(nbjudge.__file__).with_name("errors.py"))!r}).read())
except OSError:
    pass
for name in {NOT_EXPOSED!r}:
    try:
        print(importlib.import_module(name).__file__ or "", end="")
    except ImportError:
        pass
"""
    with start(work) as kernel:
        assert kernel.says(code).splitlines() == ["[]"]
    with start(work, exposed_modules=("shown_helpers.plots",)) as kernel:
        assert kernel.says(code).splitlines()[1:] == [str(helpers / "plots.py")]


def test_the_graders_variables_are_not_there(view):
    own = set(ENVIRONMENT) | SET_BY_THE_KERNEL
    assert "PYTEST_VERSION" in os.environ
    assert not (set(view["environment"]) & set(os.environ)) - own - {"PWD"}
    assert view["environment"]["PWD"] == HOME
    assert {name: view["environment"][name] for name in ENVIRONMENT} == ENVIRONMENT


def test_it_sees_only_its_own_and_has_no_privileges(view):
    """No process of others, and no open file that leads out of the sandbox."""
    assert view["processes"] == [1]
    assert view["self"] == {"pid": 1, "parent": 0, "session": 1}
    assert view["host"] != socket.gethostname()
    state = view["state"]
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(state[kind], 16) == 0, kind
    assert (state["NoNewPrivs"], state["Uid"]) == ("1", "1000")
    files = [name for name in view["open"] if name.startswith("/") and not name.startswith("/proc/")]
    assert set(files) <= {"/dev/null", "/dev/urandom", "/dev/random"}
    assert not any("memfd" in name for name in view["open"])


def test_random_numbers_differ_by_notebook(view, another_view):
    assert not set(view["random"]) & set(another_view["random"])


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


def test_it_keeps_one_kernel_for_the_next(start, tmp_path):
    with start(tmp_path) as kernel:
        first = psutil.Process(kernel.pid)
        assert first.is_running()
    assert not first.is_running()
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


LIMIT = "import resource\nprint(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"


@pytest.mark.parametrize("change", ["other limits", "kernel", "supervisor", "interpreter", "sandbox"])
def test_a_dead_or_unfit_next_kernel_is_replaced(start, tmp_path, change):
    """At once: whatever is killed, and where the next notebook has other limits."""
    with start(tmp_path):
        old = current_fork_server(MODULES)
    begun = the_next_kernel()
    if change != "other limits":
        processes = {"kernel": begun, "supervisor": begun.parent(), "interpreter": the_interpreter()}
        processes["sandbox"] = psutil.Process(old._process.pid)
        processes[change].kill()
    with start(tmp_path, replace(PATIENT, open_files=100)) as kernel:
        assert kernel.pid != begun.pid and kernel.says(LIMIT) == "100"
    psutil.wait_procs([begun], timeout=10)
    assert not begun.is_running()
    assert (current_fork_server(MODULES) is old) == (change not in ("interpreter", "sandbox"))


def test_kernels_end_with_it(start, tmp_path):
    with start(tmp_path) as kernel:
        process = psutil.Process(kernel.pid)
        os.kill(current_fork_server(MODULES)._process.pid, signal.SIGKILL)
        psutil.wait_procs([process], timeout=10)
        assert not process.is_running()
