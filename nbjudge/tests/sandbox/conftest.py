"""Kernels that are all forked from one fork server, and what a notebook's first cell finds."""

import json
from collections.abc import Iterator

import pytest
from student_code import Inside, Start

from nbjudge.sandbox.fork_server_client import close_fork_server


@pytest.fixture(scope="session")
def start() -> Iterator[Start]:
    """Starts kernels, all forked from one fork server, which ends with the tests."""
    yield Inside
    close_fork_server()


LOOK_AROUND = """
import json, os, random, resource, socket
import numpy

random_numbers = [random.random(), float(numpy.random.rand())]
try:
    import torch
    random_numbers.append(float(torch.rand(1)))
except ImportError:
    pass

def listing(place):
    return sorted(os.listdir(place))

def state(process):
    return dict(line.split(":", 1) for line in open(f"/proc/{process}/status"))

print(json.dumps({
    "environment": dict(os.environ),
    "files": {place: listing(place) for place in (".", os.environ["HOME"], "/tmp", "/dev/shm", "/dev")},
    "runs": listing("/run"),
    "processes": [int(name) for name in listing("/proc") if name.isdigit()],
    "self": {"pid": os.getpid(), "parent": os.getppid(), "session": os.getsid(0)},
    "state": {name: value.split()[0] for name, value in state("self").items() if value.split()},
    "mounts": [line.split()[4] for line in open("/proc/self/mountinfo")],
    "interfaces": [name for _, name in socket.if_nameindex()],
    "open": sorted({os.readlink(f"/proc/self/fd/{n}") for n in listing("/proc/self/fd")
                    if os.path.lexists(f"/proc/self/fd/{n}")}),
    "host": socket.gethostname(),
    "random": random_numbers,
}))
"""


@pytest.fixture(scope="session")
def view(start: Start, tmp_path_factory: pytest.TempPathFactory) -> dict:
    """What a notebook's first cell finds, its work folder holding one given file."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "given.txt").write_text("given")
    with start(folder) as kernel:
        return json.loads(kernel.says(LOOK_AROUND))


@pytest.fixture(scope="session")
def another_view(view: dict, start: Start, tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The same, asked by the next notebook."""
    with start(tmp_path_factory.mktemp("work")) as kernel:
        return json.loads(kernel.says(LOOK_AROUND))
