"""Waits in threads, timers and events until other answers are asked for, and acts then."""

from attack import wrong

PROOF = "armed"
BOMB = """
import asyncio, os, signal, threading, time
def act(*arguments):
    get_ipython().displayhook(2)
    get_ipython().user_ns["biggest"] = get_ipython().user_ns["row_sums"] = lambda x: dict(points=2)
    torch.allclose = torch.equal = lambda *arguments, **options: True
for seconds in (0.05, 0.1, 0.2, 0.4):
    threading.Timer(seconds, act).start()
    asyncio.get_event_loop().call_later(seconds, act)
signal.signal(signal.SIGALRM, act)
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.05)
signal.signal(signal.SIGVTALRM, lambda *arguments: os._exit(3))
print("armed")
def double(x):
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.3)
    return x
"""


def submission():
    return wrong(double=BOMB)
