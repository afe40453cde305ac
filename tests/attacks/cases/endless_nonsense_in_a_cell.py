"""Sends what is no message without pause while a cell runs, and shuts its ears to being told to stop."""

from attack import HASTY, wrong

DAILY = "endless_nonsense"
LIMITS = HASTY | {"notebook_seconds": 8}
NONSENSE = """
import signal, threading
signal.signal(signal.SIGINT, signal.SIG_IGN)
kernel = get_ipython().kernel
def flood():
    while True:
        kernel.iopub_socket.send_multipart([b"<IDS|MSG>"] * 50)
threads = [threading.Thread(target=flood, daemon=True) for _ in range(4)]
print("begins", flush=True)
for thread in threads:
    thread.start()
flood()
"""


def submission():
    return wrong(double=NONSENSE)
