"""What honest notebooks do besides tensors works in the sandbox: processes, shells, sockets of their own."""

from dataclasses import replace

import pytest
from student_code import PATIENT

pytestmark = pytest.mark.integration

MEBIBYTE = 2**20
ROOMY = replace(PATIENT, memory=512 * MEBIBYTE)
WORKS = {
    "a shell": "get_ipython().system('echo 4')",
    "a program": "import subprocess\nprint(subprocess.check_output(['expr', '2', '+', '2']))",
    "its own interpreter": "get_ipython().system('python -c \"import numpy; print(2 + 2)\"')",
    "values of several processes": """
import multiprocessing
context = multiprocessing.get_context("fork")
number, numbers, queue = context.Value("i", 1), context.Array("d", [0, 1]), context.Queue()
def work():
    with number.get_lock():
        number.value += 1
    numbers[0] = 1
    queue.put(1)
process = context.Process(target=work)
process.start()
got = queue.get(timeout=20)
process.join()
print(int(number.value + sum(numbers)) if got else 0)
""",
    "what a child prints": """
import os
if os.fork() == 0:
    print(4, flush=True)
    os._exit(0)
os.wait()
""",
    "a stored value": "get_ipython().db['kept'] = 4\nprint(get_ipython().db['kept'])",
    "an awaited value": "import asyncio\nprint(await asyncio.sleep(0.01, 4))",
    "a pool": """
import multiprocessing
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(sum(pool.map(abs, [-1, 3])))
""",
    "memory with a name": """
from multiprocessing import shared_memory
held = shared_memory.SharedMemory(create=True, size=100)
held.buf[0] = 4
again = shared_memory.SharedMemory(held.name)
print(again.buf[0])
held.unlink()
""",
    "a loader's processes": """
import torch, warnings
warnings.simplefilter("ignore")
loader = torch.utils.data.DataLoader(list(range(4)), batch_size=2, num_workers=2)
print(sum(len(batch) for batch in loader))
""",
    "shared tensors": """
import torch, torch.multiprocessing as m
shared = torch.zeros(4).share_memory_()
process = m.get_context("fork").Process(target=lambda: shared.fill_(1))
process.start(), process.join()
print(int(shared.sum()))
""",
    "threads": "import torch\ntorch.set_num_threads(2)\nprint(int(torch.ones(2, 2).square().sum()))",
    "a server": """
import socket
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    with socket.create_server((host, 0), family=family) as server:
        with socket.create_connection(server.getsockname()[:2]) as asked:
            server.accept()[0].sendall(b"4")
            assert asked.recv(1) == b"4"
print(socket.getaddrinfo("127.0.0.1", 4)[0][4][1])
""",
    "psutil": """
import psutil
psutil.net_if_addrs(), psutil.virtual_memory(), psutil.net_connections()
print(4)
""",
    "time zones": "import zoneinfo\nzoneinfo.ZoneInfo('Europe/Berlin')\nprint(4)",
    "asyncio": """
import asyncio
program = await asyncio.create_subprocess_exec("echo", "4", stdout=asyncio.subprocess.PIPE)
print((await program.communicate())[0])
""",
    # What forks share counts once.
    "eight forks of a large process": """
import os, time
held = b"x" * (200 * 2**20)
for _ in range(8):
    if os.fork() == 0:
        time.sleep(1)
        os._exit(0)
time.sleep(1)
print(4)
""",
    # For a moment before it becomes another program, a process has all of its parent's memory.
    "many programs of a large process": """
import subprocess
held = b"x" * (300 * 2**20)
for _ in range(200):
    subprocess.run(["true"], check=True)
print(4)
""",
}


@pytest.mark.parametrize("what", WORKS)
def test_it_works(start, tmp_path, what):
    with start(tmp_path, ROOMY) as kernel:
        assert "4" in kernel.says(WORKS[what])
