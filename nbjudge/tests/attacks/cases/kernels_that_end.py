"""Kernels that end, or that refuse to."""

from attack import HASTY, Attack, wrong
from nbformat.v4 import new_code_cell
from tiny_course import after


class Exits(Attack):
    """Ends its kernel in every cell and answer by every polite way: exit, quit, SystemExit, os._exit."""

    represents = "kernels that end"
    limits = HASTY
    double = """
import os, sys
def double(x):
    os._exit(0)
def row_sums(x):
    sys.exit(2)
def biggest(x):
    get_ipython().ask_exit()
    raise KeyboardInterrupt
"""
    row_sums = ""
    biggest = "quit()"


class KillsItself(Attack):
    """Kills its kernel by signals, an abort, and a read of memory that is not there."""

    limits = HASTY
    double = """
import ctypes, os, signal
def double(x):
    os.kill(os.getpid(), signal.SIGKILL)
    os.abort()
def row_sums(x):
    ctypes.string_at(0)
def biggest(x):
    signal.raise_signal(signal.SIGSEGV)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(0, signal.SIGTERM)
    os._exit(9)
"""
    row_sums = biggest = ""


class OverflowsTheStack(Attack):
    """Recurses without end, in Python with the limit taken off, and in C."""

    limits = HASTY
    double = """
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
"""
    biggest = ""


class DiesWhenRunAgain(Attack):
    """Lets cells run once and kill the kernel whenever they are run again, so that it begins without end."""

    limits = HASTY | {"notebook_seconds": 15}
    proof = "first time"
    CELL = """
import os, time

if time.time() > {until}:
    os._exit(1)
print("first time")
"""

    def submission(self, arena):
        import time

        work = wrong(double="import os\ndef double(x):\n    os._exit(1)", row_sums="", biggest="")
        for number in range(40):
            work = after(
                work, "setup", new_code_cell(self.CELL.format(until=time.time() + 1.5 + number / 20))
            )
        return after(work, "double", new_code_cell("time.sleep(3)\nos._exit(1)"))


class WillNotGo(Attack):
    """Refuses to end: exit handlers, threads that are waited for, and every signal that asks ignored."""

    limits = HASTY
    double = """
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
"""


class SignalsEveryone(Attack):
    """Sends every signal to every process that it can name: its group, its parent, the first."""

    proof = "sent them all"
    double = """
import os, signal
numbers = [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGSTOP, signal.SIGTSTP, signal.SIGKILL]
def send():
    assert os.getpid() == 1, "not in a sandbox: these would be everyone's"
    for process in [-1, 1, os.getppid(), os.getpgid(0), *range(2, 400)]:
        for number in numbers:
            try:
                os.kill(process, number)
            except OSError:
                pass
for number in numbers[:3]:
    signal.signal(number, signal.SIG_IGN)
send()
print("sent them all")
def double(x):
    send()
    return x
"""
