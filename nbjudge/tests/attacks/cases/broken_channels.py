"""Attacks on the sockets and the loop by which a kernel is asked."""

from attack import HASTY, Attack, wrong
from nbformat.v4 import new_code_cell
from tiny_course import after


class StaleLoops(Attack):
    """Stops, swaps or closes the loop in which its kernel takes in messages."""

    daily = "endless_answer"
    limits = HASTY | {"notebook_seconds": 20}
    CELLS = [
        "import asyncio\nasyncio.get_event_loop().stop()",
        "get_ipython().kernel.io_loop.stop()",
        "import asyncio\nasyncio.set_event_loop(asyncio.new_event_loop())",
        "get_ipython().kernel.msg_queue = None",
        "get_ipython().kernel.shell_stream.close()",
        "get_ipython().kernel.shell_handlers.clear()",
        "get_ipython().kernel.do_execute = None",
        "import asyncio\nasync def run():\n    while True:\n        await asyncio.sleep(0)\nawait run()",
        "get_ipython().kernel.session.key = b'other'",
        "get_ipython().kernel.iopub_thread.stop()",
    ]

    def submission(self, arena):
        work = wrong()
        for cell in self.CELLS:
            work = after(work, "test_double", new_code_cell(cell))
        return work


class ClosesTheWires(Attack):
    """Closes its kernel's sockets, its context and all open files, and goes on living."""

    limits = HASTY
    double = """
import os, threading, time
def close():
    kernel = get_ipython().kernel
    kernel.shell_stream.socket.close(0)
    kernel.iopub_socket.close()
    os.closerange(0, 1024)
def double(x):
    close()
    time.sleep(1000)
"""


class BrokenWires(Attack):
    """Writes bytes of its own on the connections below the messages: broken and endless frames."""

    limits = HASTY
    proof = "writes|took too long|used up"
    double = r"""
import os, socket, stat, threading

def connections():
    for number in range(3, 400):
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                yield number
        except OSError:
            pass
huge = b"\x02" + (2**62).to_bytes(8, "big")
more = b"\x01\x01x"  # a part, and more to come
ping = b"\x04\x09\x04PING\x00\x00" + b"x" * 2
noise = [b"\xff" * 4096, huge + b"x" * 1000, more * 5000, b"\x06" + (2**40).to_bytes(8, "big"), ping * 500,
         b"\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x00NULL", b"\x00" * 4096]
def write(rounds):
    written = 0
    for turn in range(rounds):
        for number in list(connections()):
            try:
                written += os.write(number, noise[turn % len(noise)])
            except OSError:
                pass
    return written
print("writes", flush=True)
def double(x):
    write(1)
    return x
def row_sums(x):
    threading.Thread(target=write, args=(10**9,), daemon=True).start()
    return x.sum()
def biggest(x):
    write(3)
    while True:
        write(1)
"""
    row_sums = biggest = ""


class SocketsFolder(Attack):
    """Replaces, removes and adds to the sockets of its kernel, the one folder that the grader sees too."""

    proof = "tried [1-9]"
    double = """
import os, socket
tried, done = 0, []
for folder in ("/run/kernel", "/run/sockets", "/run/fork_server", "/run/fork_server/inside", "/run"):
    names = os.listdir(folder) if os.access(folder, os.R_OK) else []
    for name in {*names, "new", "kernel-9"} - {"private"}:  # which holds its own home and /tmp
        path = os.path.join(folder, name)
        for act in (
            lambda: os.unlink(path), lambda: os.rename(path, path + "x"), lambda: os.symlink("/etc", path),
            lambda: open(path, "w").close(), lambda: os.mkdir(path), lambda: os.mkfifo(path),
            lambda: os.chmod(path, 0), lambda: os.utime(path, (0, 0)), lambda: os.link(path, "/tmp/x"),
            lambda: socket.socket(socket.AF_UNIX).bind(path), lambda: os.setxattr(path, "user.x", b"x"),
        ):
            tried += 1
            try:
                act()
                done.append(path)
            except OSError:
                pass
print("tried", tried, "done", done)
def double(x):
    return x
"""

    def harm(self, arena):
        left = [str(path.name) for path in arena.sockets.rglob("*") if not path.is_dir()]
        if left:
            return f"it left {left} in the folder of the sockets"
        return "" if "done []" in arena.shown(self.name) else arena.shown(self.name)[:300]
