"""Closes its kernel's sockets, its context and all open files, and goes on living."""

from attack import HASTY, wrong

LIMITS = HASTY
CLOSE = """
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


def submission():
    return wrong(double=CLOSE)
