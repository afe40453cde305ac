"""Sends without pause what is no message, or a reply to no one, so that no clock is looked at."""

from attack import HASTY, wrong

LIMITS = HASTY
PROOF = "begins"
NONSENSE = """
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


def submission():
    return wrong(double=NONSENSE, row_sums="", biggest="")
