"""Says that cells are over before they are, that the kernel is dead, and that it starts again."""

from attack import wrong

PROOF = "said it all"
FORGE = """
import time
def say():
    kernel = get_ipython().kernel
    for state in ("idle", "dead", "starting", "busy", "idle", 7, None):
        for parent in (kernel.get_parent("shell"), {}):
            content = {"execution_state": state}
            kernel.session.send(kernel.iopub_socket, "status", content, parent=parent)
            reply = {"status": "ok", "restart": True}
            kernel.session.send(kernel.iopub_socket, "shutdown_reply", reply, parent=parent)
def double(x):
    say()
    return x
def row_sums(x):
    print("said it all", flush=True)
    time.sleep(0.1)
    say()
    return x.sum()
say()
"""


def submission():
    return wrong(double=FORGE, row_sums="")
