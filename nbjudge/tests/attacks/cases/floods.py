"""More output and more messages than anyone reads."""

from attack import HASTY, Attack, wrong
from nbformat.v4 import new_code_cell
from tiny_course import after


class OutputFlood(Attack):
    """Prints and displays without end, in small pieces and in one of hundreds of megabytes."""

    limits = HASTY
    double = """
import os
from IPython.display import display
picture = {"image/png": "iVBORw0KGgo" + "A" * 2_000_000, "text/plain": "2", "text/html": "<b>2</b>" * 10_000}
def double(x):
    while True:
        print("2" * 1000)
        os.write(1, b"2" * 65_536)
def row_sums(x):
    print("2" * 300_000_000)
    return x
def biggest(x):
    shown = display(picture, raw=True, display_id=True)
    while True:
        display(picture, raw=True)
        shown.update(picture, raw=True)
"""
    row_sums = biggest = ""

    def harm(self, arena):
        size = (arena.root / "autograded" / self.name / "01_tiny" / "tiny.ipynb").stat().st_size
        return "" if size < 6 * 2**20 else f"its graded notebook has {size} bytes"


class MultipliedOutputs(Attack):
    """Shows little and has it shown a thousand times: updates of many displays, outputs of nothing."""

    daily = "output_flood"
    limits = HASTY | {"notebook_seconds": 25}
    proof = "begins"
    most_memory = 300  # MiB
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

    def submission(self, arena):
        work = wrong(double=self.SEND)
        for number in range(20):
            work = after(
                work, "test_double", new_code_cell(self.NOTHING_MANY_TIMES if number % 2 else self.MULTIPLY)
            )
        return work

    def harm(self, arena):
        size = len(arena.shown(self.name))
        if size > self.LARGEST:
            return f"its outputs are {size >> 20} MiB in the graded notebook"
        return ""


class MessageFlood(Attack):
    """Floods the grader's wires from threads that no interrupt reaches, with messages as large as may be."""

    limits = HASTY
    double = """
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


class EndlessNonsense(Attack):
    """Sends without pause what is no message, or a reply to no one, so that no clock is looked at."""

    limits = HASTY
    proof = "begins"
    double = """
import threading, time
kernel, ways = get_ipython().kernel, []
def way(function):
    ways.append(function)
    return function
def signed(kind, parent, **content):
    message = kernel.session.msg(kind, content, parent)
    return [bytes(part) for part in kernel.session.serialize(message)]
@way
def empty():
    kernel.iopub_socket.send(b"")
@way
def unsigned():
    kernel.iopub_socket.send_multipart([b"<IDS|MSG>", b"0" * 64, b"{}", b"{}", b"{}", b"{}"])
@way
def many_parts():
    kernel.iopub_socket.send_multipart([b"x"] * 2000)
@way
def to_no_request():
    kernel.iopub_socket.send_multipart(signed("status", {"msg_id": "unknown"}, execution_state="idle"))
@way
def busy():
    parent = kernel.get_parent("shell")["header"]
    kernel.iopub_socket.send_multipart(signed("status", parent, execution_state="busy"))
@way
def replies_to_no_request():
    target = kernel._parent_ident["shell"]
    target = target if isinstance(target, list) else [target]
    parts = signed("execute_reply", {"msg_id": "unknown"}, status="ok", execution_count=1)
    kernel.shell_stream.socket.send_multipart([*target, *parts])
@way
def broken_replies():
    target = kernel._parent_ident["shell"]
    target = target if isinstance(target, list) else [target]
    kernel.shell_stream.socket.send_multipart([*target, b"<IDS|MSG>", b"", b"", b"", b"", b""])
@way
def clears():
    parent = kernel.get_parent("shell")
    kernel.session.send(kernel.iopub_socket, "clear_output", {"wait": True}, parent=parent)
def forever(function):
    while True:
        try:
            function()
        except BaseException:
            time.sleep(0.001)
def flood(chosen):
    for function in chosen:
        threading.Thread(target=forever, args=(function,), daemon=True).start()
print("begins", flush=True)
def double(x):
    flood(ways[:2] + ways[-3:-1])
    while True:
        time.sleep(0.01)
def row_sums(x):
    flood(ways)
    return x.sum()
def biggest(x):
    flood(ways[3:5])
    while True:
        pass
"""
    row_sums = biggest = ""


class UncountedBytes(Attack):
    """Fills the grader with what a count of messages leaves out: empty structures, frames, keys."""

    limits = HASTY | {"notebook_seconds": 20}
    proof = "begins"
    double = """
import json, threading
kernel = get_ipython().kernel
def send(kind="display_data", metadata=None, **content):
    parent = kernel.get_parent("shell")
    kernel.session.send(kernel.iopub_socket, kind, content, parent=parent, metadata=metadata)
def empty_structures(plain):
    for structure in ([[]] * 3_000_000, [{}] * 2_000_000):
        send(data={"text/plain": structure}, metadata={})
        send(data={"text/plain": "x", "text/html": structure}, metadata=structure)
def keys(plain):
    send(data={str(n): None for n in range(2_000_000)}, metadata={"k" * 10**7: 1})
    send("execute_result", data={"text/plain": "2"}, metadata={str(n): {} for n in range(10**6)})
def envelopes(plain):
    kernel.session.send(kernel.iopub_socket, "stream", {"name": "stdout", "text": "x"},
                        parent=kernel.get_parent("shell"), metadata={str(n): [] for n in range(10**6)})
def large_frames(plain):
    block = b"x" * (60 * 2**20)
    for _ in range(60):
        kernel.iopub_socket.send_multipart([b"stream", b"<IDS|MSG>", b"0" * 64, block, b"{}", b"{}", b"{}"])
def parts(plain):
    kernel.iopub_socket.send_multipart([b"x" * 10_000] * 30_000)
    for _ in range(200_000):
        kernel.iopub_socket.send(b"x" * 1000, 2)  # there is more to come, and it never ends
def small_outputs(plain):
    for _ in range(300_000):
        send(data={"text/plain": ""}, metadata={})
def comms(plain):
    for n in range(40):
        send("comm_open", comm_id=str(n), data={"state": {"x": [[]] * 500_000}}, target_name="jupyter.widget")
ways = [empty_structures, keys, envelopes, large_frames, parts, small_outputs, comms]
print("begins", flush=True)
def double(x):
    for way in ways[:3]:
        way(x)
    return x
def row_sums(x):
    for way in ways[3:5]:
        way(x)
    return x.sum()
def biggest(x):
    for way in ways[5:]:
        way(x)
    return x.min()
"""
    row_sums = biggest = ""
