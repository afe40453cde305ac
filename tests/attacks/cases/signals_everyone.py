"""Sends every signal to every process that it can name: all, its group, its parent, the first, the next."""

from attack import wrong

PROOF = "sent them all"
SIGNALS = """
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


def submission():
    return wrong(double=SIGNALS)
