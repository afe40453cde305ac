"""What student code finds around it in the sandbox: nothing of the machine, of the course or of others."""

from __future__ import annotations

import json
import os
import socket
import sys
import sysconfig
from pathlib import Path

import psutil
import pytest

import nbjudge
from nbjudge.sandbox.bubblewrap import ENVIRONMENT, HOME
from nbjudge.sandbox.fork_server_client import close_fork_server
from nbjudge.sandbox.inside.supervisor import OTHERS

pytestmark = pytest.mark.integration

# What ipykernel and matplotlib set in every kernel.
SET_BY_THE_KERNEL = {"CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR", "GIT_PAGER", "MPLBACKEND", "PAGER", "TERM"}


def test_home_tmp_and_shared_memory_are_empty_but_for_the_notebooks_own_files(view):
    files = view["files"]
    assert files["."] == ["given.txt"]
    assert set(files[HOME]) <= {"work", ".kernel.json", ".ipython", ".cache", ".config"}
    # Where the packages themselves lie in /tmp, the way to them is there, too.
    installed = [Path(place) for place in (sys.prefix, sys.base_prefix, nbjudge.__file__)]
    assert set(files["/tmp"]) <= {place.parts[2] for place in installed if place.is_relative_to("/tmp")}
    assert files["/dev/shm"] == []


def test_nothing_that_one_notebook_writes_is_there_for_the_next(start, tmp_path):
    places = (".", HOME, "/tmp", "/dev/shm")
    look = f"import os\nprint([os.path.exists(place + '/left') for place in {places}])"
    with start(tmp_path) as first:
        first.says(f"for place in {places}:\n    open(place + '/left', 'w').write('here')")
        assert first.says(look) == str([True] * 4)
        with start(tmp_path) as second:
            assert second.says(look) == str([False] * 4)
    with start(tmp_path) as after:
        assert after.says(look) == str([False] * 4)
    assert list(tmp_path.iterdir()) == []


def test_everything_but_the_private_folders_is_read_only(view, start, tmp_path):
    private = (HOME, "/tmp", "/dev/shm", "/run/private", "/proc")
    shown = (sys.prefix, str(Path(nbjudge.__file__).parent))
    places = [place for place in view["mounts"] if place.startswith(shown) or not place.startswith(private)]
    packages = sysconfig.get_path("purelib")
    assert {"/", "/usr/lib", "/dev", "/run", "/run/kernel", "/run/sockets", packages} <= {*places}
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


def test_what_proc_tells_of_others_and_of_the_machines_memory_is_empty(start, tmp_path):
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


MODULES = ("shown_helpers.plots", "shown_helpers.marking", "nbjudge.tutor.tutor", "nbjudge.judge")


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
for name in {MODULES!r}:
    try:
        print(importlib.import_module(name).__file__ or "", end="")
    except ImportError:
        pass
"""
    with start(work) as kernel:
        assert kernel.says(code).splitlines() == ["[]"]
    with start(work, exposed_modules=("shown_helpers.plots",)) as kernel:
        assert kernel.says(code).splitlines()[1:] == [str(helpers / "plots.py")]


def test_none_of_the_graders_environment_variables_is_there(view):
    own = set(ENVIRONMENT) | SET_BY_THE_KERNEL
    assert "PYTEST_VERSION" in os.environ
    assert not (set(view["environment"]) & set(os.environ)) - own - {"PWD"}
    assert view["environment"]["PWD"] == HOME
    assert {name: view["environment"][name] for name in ENVIRONMENT} == ENVIRONMENT


def test_a_kernel_is_the_first_of_its_own_processes_and_sees_no_others(view):
    assert view["processes"] == [1]
    assert view["self"] == {"pid": 1, "parent": 0, "session": 1}
    assert view["host"] != socket.gethostname()


def test_it_has_no_privileges_and_no_way_to_any(view, start, tmp_path):
    state = view["state"]
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(state[kind], 16) == 0, kind
    assert state["NoNewPrivs"] == "1"
    assert state["Uid"] == "1000"
    # A process of its own tries: the kernel has threads, which alone would forbid it.
    code = """
import subprocess
for wanted in (["--version"], ["--user", "true"], ["--map-root-user", "true"]):
    print(subprocess.run(["unshare", *wanted], capture_output=True).returncode)
"""
    with start(tmp_path) as kernel:
        assert kernel.says(code).split() == ["0", "1", "1"]


def test_nothing_open_leads_out_of_the_sandbox(view):
    files = [name for name in view["open"] if name.startswith("/") and not name.startswith("/proc/")]
    assert set(files) <= {"/dev/null", "/dev/urandom", "/dev/random"}
    assert not any("memfd" in name for name in view["open"])


def test_random_numbers_differ_from_notebook_to_notebook(view, another_view):
    for library, one, other in zip(
        ("random", "numpy", "torch"), view["random"], another_view["random"], strict=False
    ):
        assert one != other, library


def test_nothing_that_a_notebook_started_outlives_it(start, tmp_path):
    code = """
import os, subprocess
first = os.fork()
if first == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "7654"])
    os._exit(0)
os.waitpid(first, 0)
subprocess.Popen(["sleep", "7654"], start_new_session=True)
"""

    def left() -> list[int]:
        return [p.pid for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", "7654"]]

    with start(tmp_path) as kernel:
        kernel.says(code)
        kernel.says("import time\ntime.sleep(0.3)")
        assert len(left()) == 2
    assert left() == []
