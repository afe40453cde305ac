"""Refuses to end: exit handlers, threads that are waited for, and every signal that asks ignored."""

from attack import HASTY, wrong

LIMITS = HASTY
STAY = """
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


def submission():
    return wrong(double=STAY)
