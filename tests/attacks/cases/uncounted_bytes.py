"""Fills the grader with what a count of messages leaves out: empty structures, large frames, keys, parts."""

from attack import HASTY, wrong

LIMITS = HASTY | {"notebook_seconds": 20}
PROOF = "begins"
FILL = """
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


def submission():
    return wrong(double=FILL, row_sums="", biggest="")
