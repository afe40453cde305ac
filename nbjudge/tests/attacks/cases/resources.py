"""Attacks that use up the machine, that never end, and kernels that end or refuse to."""

import os
import re
import time

from arena import HASTY, IMPATIENT, Attack
from tiny_course import after

from nbjudge.sandbox.fork_server_client import claimed_processor


class EveryProcessor(Attack):
    """Keeps every processor busy, and lets its processes run on others than the one it was given."""

    proof = r"ran on \[\d"
    code = """
import ctypes, os, subprocess, time
libc = ctypes.CDLL(None)
everywhere = (ctypes.c_ulong * 16)(*[2**64 - 1] * 16)
number, attributes = (203, 314) if os.uname().machine == "x86_64" else (122, 274)
reader, writer = os.pipe()
for way in range(12):
    if os.fork() == 0:
        if way % 2:
            os.setsid()
        with suppress(OSError):
            os.sched_setaffinity(0, range(os.cpu_count()))
        libc.syscall(number, 0, ctypes.sizeof(everywhere), everywhere)
        libc.syscall(attributes, 0, (ctypes.c_uint32 * 12)(48, 0, 0, 0, 0, 0), 0)
        subprocess.run(["taskset", "-pc", f"0-{os.cpu_count() - 1}", str(os.getpid())], capture_output=True)
        seen, ends = set(), time.monotonic() + 1
        while time.monotonic() < ends:
            seen.add(int(open("/proc/self/stat").read().rpartition(")")[2].split()[36]))
        os.write(writer, b"".join(b"%d " % place for place in seen))
        os._exit(0)
os.close(writer)
places = b""
while said := os.read(reader, 100):
    places += said
print("ran on", sorted(set(map(int, places.split()))))
"""

    def harm(self, arena):
        places = re.search(r"ran on (\[[^]]*\])", arena.shown(self.name))[1]
        claimed = claimed_processor()
        if claimed is None or len(os.sched_getaffinity(0)) == 1:  # a machine full of graders
            return ""
        return "" if places == f"[{claimed}]" else f"it ran on {places}, and not only on {claimed}"


class FillsTheDisk(Attack):
    """Fills every folder it can write: large files, many small ones, and ten terabytes of holes."""

    proof = r"wrote [1-9]\d* MiB"
    code = """
import os, tempfile
wrote = 0
for folder in ("/tmp", "/dev/shm", "/home/student", ".", "/run", "/run/private", "/var/tmp"):
    with suppress(OSError):
        for number in range(40):
            with open(f"{folder}/big{number}", "wb") as stream:
                for _ in range(400):
                    wrote += stream.write(b"2" * 10**5) / 2**20
    with suppress(OSError):
        with open(f"{folder}/holes", "wb") as stream:
            stream.truncate(10**13)
    with suppress(OSError):
        for number in range(30_000):
            os.mkdir(f"{folder}/{number}")
print("wrote", int(wrote), "MiB")
"""
    nothing_left = "free True"
    next_looks = "import shutil\nprint('free', shutil.disk_usage('/tmp').free > 60 * 2**20)"

    def harm(self, arena):
        written = int(re.search(self.proof, arena.shown(self.name))[0].split()[1])
        return "it wrote more than is allowed" if written > 100 else ""


class AllTerminals(Attack):
    """Takes all terminals of the machine, so that no one else can open one."""

    proof = "took [0-9]+"
    code = """
import os
def take():
    taken = 0
    try:
        while True:
            os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
            taken += 1
    except OSError:
        return taken
took = take()
for _ in range(20):
    if os.fork() == 0:
        take()
        import time
        time.sleep(5)
        os._exit(0)
print("took", took)
"""
    MOST = 64

    def harm(self, arena):
        taken = int(arena.shown(self.name).split("took ")[1].split("\\n")[0])
        os.close(os.openpty()[0])  # the machine has some left
        return f"it took {taken} terminals" if taken > self.MOST else ""


class DiesWhenRunAgain(Attack):
    """Lets cells run once and kill the kernel whenever they are run again, so that it begins without end."""

    limits = HASTY | {"notebook_seconds": 15}
    proof = "first time|The kernel died"  # where a busy machine begins too late
    code = "import os\ndef double(x):\n    os._exit(1)"
    answers = {"row_sums": "", "biggest": ""}

    def submission(self, arena):
        soon = time.time() + 1.5
        cells = [
            f"import os, time\nif time.time() > {soon + number / 20}:\n    os._exit(1)\nprint('first time')"
            for number in reversed(range(40))
        ]
        work = after(super().submission(arena), "setup", *cells)
        return after(work, "double", "time.sleep(3)\nos._exit(1)")


ATTACKS = {
    "fork_bomb": Attack(
        "Forks as often as it can.",
        represents="using up the machine",
        limits=HASTY,
        code="""
import os
def double(x):
    while True:
        with suppress(OSError):
            os.fork()
""",
    ),
    "tensor_of_all_memory": Attack(
        "Fills memory with tensors and lists, a little at a time and all at once.",
        code="""
kept = []
def double(x):
    kept.append(torch.ones(10**9))
    return x
def row_sums(x):
    while True:
        kept.append(torch.ones(10**6))
def biggest(x):
    while True:
        kept.extend([[None] * 10**5 for _ in range(10)])
""",
    ),
    "exits": Attack(
        "Ends its kernel in every cell and answer by every polite way: exit, quit, SystemExit, os._exit.",
        represents="kernels that end",
        limits=HASTY,
        code="""
import os, sys
def double(x):
    os._exit(0)
def row_sums(x):
    sys.exit(2)
def biggest(x):
    get_ipython().ask_exit()
    raise KeyboardInterrupt
""",
        answers={"biggest": "quit()"},
    ),
    "overflows_the_stack": Attack(
        "Recurses without end, in Python with the limit taken off, and in C.",
        limits=HASTY,
        code="""
import sys

sys.setrecursionlimit(10**9)
class Endless:
    def __repr__(self): return repr(self)
    def __getattr__(self, name): return getattr(self, name + "x")
def double(x):
    def deeper(n): return deeper(n + 1)
    return deeper(0)
def biggest(x):
    return repr(Endless())
""",
    ),
    "will_not_go": Attack(
        "Refuses to end: exit handlers, threads that are waited for, and every signal that asks ignored.",
        limits=HASTY,
        code="""
import atexit, os, signal, threading, time
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGINT, signal.SIGCHLD}:
    signal.signal(number, signal.SIG_IGN)
atexit.register(time.sleep, 1000)
threading.Thread(target=time.sleep, args=(1000,)).start()
get_ipython().kernel.do_shutdown = lambda restart: time.sleep(1000)
def double(x):
    if os.fork() == 0:
        os.setsid()
        time.sleep(1000)
    return x
""",
    ),
    "signals_everyone": Attack(
        "Sends every signal to every process that it can name: its group, its parent, the first.",
        proof="sent them all",
        code="""
import os, signal
numbers = [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGSTOP, signal.SIGTSTP, signal.SIGKILL]
def send():
    assert os.getpid() == 1, "not in a sandbox: these would be everyone's"
    for process in [-1, 1, os.getppid(), os.getpgid(0), *range(2, 400)]:
        for number in numbers:
            with suppress(OSError):
                os.kill(process, number)
for number in numbers[:3]:
    signal.signal(number, signal.SIG_IGN)
send()
print("sent them all")
def double(x):
    send()
    return x
""",
    ),
    "endless_answer": Attack(
        "Never ends its answers: a loop, and a loop that swallows the interrupt.",
        limits=HASTY,
        code="""
def double(x):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
""",
    ),
    "holds_the_interpreter": Attack(
        "Holds the interpreter's lock in C code that no interrupt of Python's reaches.",
        limits=HASTY,
        code="""
import ctypes, signal
signal.signal(signal.SIGINT, lambda *arguments: None)
def double(x):
    ctypes.PyDLL(None).sleep(1000)
    return x
""",
    ),
    "asks_for_input": Attack(
        "Asks the grader to type something, in every cell and every answer, and waits for it.",
        limits=IMPATIENT,
        proof="no input",
        code="""
import getpass
def ask():
    for question in (input, getpass.getpass):
        try:
            question("How many points? ")
        except Exception as error:
            print("no input:", type(error).__name__)
def double(x):
    ask()
    kernel = get_ipython().kernel
    kernel._allow_stdin = True
    return x * float(input("How many points? "))
def row_sums(x):
    ask()
    return x.sum()
""",
    ),
    "deep_folders": Attack(
        "Works in a folder within 18,000 others, whose name the system takes minutes to put together.",
        proof="longer than any program can use",
        code="""
import os
for _ in range(18_000):
    os.mkdir("d")
    os.chdir("d")
""",
    ),
}
