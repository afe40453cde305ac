"""What one notebook may take: if it takes more, it loses an exercise or a kernel, and nothing else."""

import os
import subprocess
import sys
from dataclasses import replace

import psutil
import pytest
from student_code import PATIENT

from nbjudge.sandbox.fork_server_client import claimed_processor
from nbjudge.sandbox.inside.limits import MAX_STARTS_FACTOR

pytestmark = pytest.mark.integration


MEBIBYTE = 2**20
TIGHT = replace(
    PATIENT,
    memory=150 * MEBIBYTE,
    processes=24,
    open_files=128,
    file=4 * MEBIBYTE,
    disk=10 * MEBIBYTE,
    output=100_000,
)
HOLD = "import time\ntime.sleep(20)\nprint('it was let')"
# Without an end, and slow enough to be told to stop before it is too much altogether.
FLOOD = "import time\nwhile True:\n    print('flood ' * 200)\n    time.sleep(0.01)"
# Each takes more than there is in another way.
TAKE_TOO_MUCH = {
    "at once": "held = bytearray(400 * 2**20)",
    "bit by bit": "held = []\nwhile len(held) < 400:\n    held.append(bytearray(2**20))",
    "in children": f"""
import os, time
for _ in range(8):
    if os.fork() == 0:
        held = bytearray(40 * 2**20)
        time.sleep(20)
        os._exit(0)
{HOLD}""",
    "in children that no process may inspect": f"""
import ctypes, os, time
for _ in range(8):
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
        held = bytearray(40 * 2**20)
        time.sleep(20)
        os._exit(0)
{HOLD}""",
    # Pages that it shares with its parent are made its own: written over with what is there.
    "in children that rewrite what they share": f"""
import ctypes, os, time
shared = bytearray(40 * 2**20)
start = ctypes.addressof(ctypes.c_char.from_buffer(shared))
for _ in range(8):
    if os.fork() == 0:
        for place in range(start, start + len(shared), 4096):
            ctypes.c_char.from_address(place).value = ctypes.c_char.from_address(place).value
        time.sleep(20)
        os._exit(0)
{HOLD}""",
    "in other programs": f"""
import subprocess, sys
code = "import time; held = b'x' * (40 << 20); time.sleep(20)"
held = [subprocess.Popen([sys.executable, "-S", "-E", "-c", code]) for _ in range(8)]
{HOLD}""",
    "in children without a first thread": f"""
import ctypes, os, threading, time
def hold():
    time.sleep(0.2)  # by now the first thread is gone
    held = bytearray(40 * 2**20)
    time.sleep(20)
for _ in range(8):
    if os.fork() == 0:
        threading.Thread(target=hold).start()
        ctypes.CDLL(None).syscall(60 if os.uname().machine == "x86_64" else 93, 0)
{HOLD}""",
    "in sockets": f"""
import socket
ends, sent = [], 0
try:
    while True:
        ends += socket.socketpair()
except OSError:  # as many as there may be
    pass
for end in ends:
    end.setblocking(False)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 * 2**20)
    try:
        while True:
            sent += end.send(b"x" * 2**15)
    except BlockingIOError:
        pass
if 0 < sent < 150 * 2**20:
    raise MemoryError
{HOLD}""",
    "processes": f"import subprocess\nheld = [subprocess.Popen(['sleep', '30']) for _ in range(60)]\n{HOLD}",
    "threads": f"""
import threading, time
for _ in range(60):
    threading.Thread(target=time.sleep, args=(30,)).start()
{HOLD}""",
}
REFUSALS = ("MemoryError", "temporarily unavailable", "can't start new thread")


@pytest.mark.parametrize("way", TAKE_TOO_MUCH)
def test_memory_processes_and_threads(start, tmp_path, way):
    with start(tmp_path, TIGHT) as kernel:
        kernel.says("before = 1")
        outcome, shown = kernel.run(TAKE_TOO_MUCH[way])
        assert "it was let" not in shown
        assert outcome == "died" or any(words in shown for words in REFUSALS)
        kernel.run("held = None")
        assert kernel.says("print(before)") == "1"


# Six processes at a time are fewer than may run. Threads count like processes and start far faster.
ROUNDS = """
import os, threading, time
def forks(rounds):
    for _ in range(rounds):
        children = [os.fork() or os._exit(0) for _ in range(6)]
        for child in children:
            os.waitpid(child, 0)
def threads(number):
    for _ in range(number):
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
        time.sleep(0.0005)  # a joined thread still has to end
"""
# A check may fall between any two of the short ones; the number of this one tells how many there were.
ONE_LASTS = "threading.Thread(target=time.sleep, args=(20,)).start()"


def test_processes_that_end_at_once_are_counted(start, tmp_path):
    # Each fork holds a share of the memory of the process that kernels are forked from.
    with start(tmp_path, replace(TIGHT, memory=PATIENT.memory)) as kernel:
        kernel.says(ROUNDS)
        assert kernel.run("forks(20)\nthreads(300)\nprint('as many as a notebook needs')")[0] == "done"
        outcome, shown = kernel.run(
            f"forks(20)\nthreads({TIGHT.processes * MAX_STARTS_FACTOR})\n{ONE_LASTS}\n{HOLD}"
        )
        assert outcome == "died" and "it was let" not in shown
        assert kernel.says("print(callable(forks))") == "True"


@pytest.mark.parametrize("place", [".", "/tmp", "/dev/shm"])
def test_the_size_of_a_file(start, tmp_path, place):
    with start(tmp_path, TIGHT) as kernel:
        written = kernel.says(f"print(open('{place}/big', 'wb', 0).write(bytes(5 * 2**20)))")
        assert int(written) == 4 * MEBIBYTE
        _, shown = kernel.run(f"open('{place}/big', 'ab', 0).write(b'one more')")
        assert "File too large" in shown


def test_output(start, tmp_path):
    with start(tmp_path, TIGHT) as kernel:
        _, shown = kernel.run(FLOOD)
        assert len(shown) < 2 * TIGHT.output
        assert "this notebook shows more than is kept" in shown
        # Anyone who flooded is not listened to any more, but the rest of the notebook runs.
        outcome, shown = kernel.run("print('hello')\nafterwards = 1")
        assert outcome == "done"
        assert "hello" not in shown
        assert kernel.run("assert afterwards == 1") == ("done", "")


def test_every_limit_can_be_set_for_a_lesson(start, tmp_path):
    look = (
        "import os, resource as r, shutil\nprint(*[r.getrlimit(what)[0] for what in"
        " (r.RLIMIT_NOFILE, r.RLIMIT_FSIZE, r.RLIMIT_NPROC, r.RLIMIT_CORE)], shutil.disk_usage('/tmp').total)"
    )
    data = "import resource\nprint(resource.getrlimit(resource.RLIMIT_DATA)[0])"
    with start(tmp_path, TIGHT) as kernel:
        # What the interpreter held before the notebook began comes on top.
        assert TIGHT.memory < int(kernel.says(data)) < TIGHT.memory + 2**30
        assert kernel.says(look) == f"128 {4 * MEBIBYTE} {24 + 32} 0 {10 * MEBIBYTE}"
        assert (
            "not allowed" in kernel.run("import resource as r\nr.setrlimit(r.RLIMIT_NOFILE, (4096, 4096))")[1]
        )


CLAIM = """
import sys
from nbjudge.sandbox.fork_server_client import claimed_processor
print(claimed_processor(), flush=True)
sys.stdin.read()
"""


def claimers(many: int) -> list[subprocess.Popen[str]]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return [subprocess.Popen([sys.executable, "-c", CLAIM], **pipes) for _ in range(many)]


def test_a_claim_is_exclusive_and_set_free():
    processors = sorted(map(str, os.sched_getaffinity(0)))
    for _ in range(2):
        processes = claimers(len(processors) + 1)
        lines = [process.stdout.readline().strip() for process in processes]
        for process in processes:
            process.communicate()
        claimed = [processor for processor in lines if processor != "None"]
        assert len(claimed) == len(set(claimed))
        assert set(claimed) <= {*processors}
        assert "None" in lines


def test_a_fork_claims_something_else():
    claimed = claimed_processor()
    assert claimed == claimed_processor()
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, str(claimed_processor()).encode())
        os._exit(0)
    os.wait()
    of_the_fork = os.read(reader, 20).decode()
    os.close(reader), os.close(writer)
    assert of_the_fork == "None" or of_the_fork != str(claimed)


def test_a_kernel_runs_on_its_processor(start, tmp_path):
    claimed = claimed_processor()
    wanted = {*os.sched_getaffinity(0)} if claimed is None else {claimed}
    look = (
        "import os\nprint(os.sched_getaffinity(0))\nif os.fork() == 0: os.execlp('true', 'true')\nos.wait()"
    )
    with start(tmp_path) as kernel:
        assert kernel.says(look).splitlines()[0] == str(wanted)
        outcome, shown = kernel.run("os.sched_setaffinity(0, {*range(os.cpu_count())})")
        assert "Operation not permitted" in shown
        supervisor = psutil.Process(kernel.pid).parent()
        assert {*supervisor.cpu_affinity()} == {*os.sched_getaffinity(0)}
