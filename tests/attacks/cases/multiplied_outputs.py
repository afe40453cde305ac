"""Shows little and has it shown a thousand times: updates of many displays, outputs of nothing."""

from attack import HASTY, wrong
from nbformat.v4 import new_code_cell
from tiny_course import after

DAILY = "output_flood"
LIMITS = HASTY | {"notebook_seconds": 25}
PROOF = "begins"
MOST_MEMORY = 300  # MiB
LARGEST = 8 * 2**20  # bytes of the graded notebook, for a capacity of 1 MiB
SEND = """
kernel = get_ipython().kernel
def send(kind, data, name=None):
    content = {"data": data, "metadata": {}, "transient": {"display_id": name} if name else {}}
    kernel.session.send(kernel.iopub_socket, kind, content, parent=kernel.get_parent("shell"))
print("begins", flush=True)
def double(x):
    return x
"""
MULTIPLY = """
for _ in range(990):
    send("display_data", {}, "a")
for size in (20_000, 60_000, 120_000):
    send("update_display_data", {"text/plain": "x" * size}, "a")
"""
NOTHING_MANY_TIMES = """
for kind in ("display_data", "execute_result"):
    for _ in range(2_000):
        send(kind, {})
for _ in range(500):
    get_ipython().display_pub.clear_output(wait=True)
    send("display_data", {"text/plain": ""})
"""


def submission():
    work = wrong(double=SEND)
    for number in range(20):
        work = after(work, "test_double", new_code_cell(NOTHING_MANY_TIMES if number % 2 else MULTIPLY))
    return work


def harm(arena):
    size = len(arena.shown(__name__))
    if size > LARGEST:
        return f"its outputs are {size >> 20} MiB in the graded notebook"
    return ""
