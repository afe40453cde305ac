"""Cells that define `answer`: ways to run a ready-made step, and ways to have nothing to do with one."""

# The cell that each of them comes after.
BEFORE = """
import _thread, asyncio, ctypes, json, math, multiprocessing, os, queue, signal, socket, subprocess, sys
import threading, time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
import numpy, scipy.special, torch, torch.nn as nn, torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

def by_hand(x):
    exponentials = torch.exp(x - x.amax(dim=-1, keepdim=True))
    return exponentials / exponentials.sum(dim=-1, keepdim=True)

def ready_made(x):
    return torch.softmax(x, -1)

def in_plain_python(rows):
    return [[math.exp(x) / sum(map(math.exp, row)) for x in row] for row in rows]

def serve(read, write):
    while line := read.readline():
        write.write(json.dumps(in_plain_python(json.loads(line))) + "\\n")
        write.flush()

def ask_of(read, write, x):
    write.write(json.dumps(x.tolist()) + "\\n")
    write.flush()
    return torch.tensor(json.loads(read.readline()))

CHILD = '''import json, math
rows = json.loads(input())
print(json.dumps([[math.exp(x) / sum(map(math.exp, row)) for x in row] for row in rows]), flush=True)
'''

def run_child(x):
    command = [sys.executable, "-c", CHILD]
    ran = subprocess.run(command, input=json.dumps(x.tolist()), capture_output=True, text=True)
    return torch.tensor(json.loads(ran.stdout))

def in_a_thread(step, start):
    def put(x):
        box = queue.Queue()
        start(lambda: box.put(step(x)))
        return box.get(timeout=10)
    return put

def worker(step):
    asked, answered = queue.Queue(), queue.Queue()
    def work():
        while True:
            answered.put(step(asked.get()))
    threading.Thread(target=work, daemon=True).start()
    def put(x):
        asked.put(x)
        return answered.get(timeout=10)
    return put
"""

# What cells have left running, so that the next of them begins without.
CLEAN = """
if "workers" in globals():
    getattr(workers, "terminate", getattr(workers, "shutdown", None))()
    del workers
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) != os.getpid():
        os.kill(int(name), signal.SIGKILL)
try:
    while os.waitpid(-1, 0):
        pass
except ChildProcessError:
    pass
"""
