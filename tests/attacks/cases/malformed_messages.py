"""Sends messages that are unsigned, cut off, repeated, of the wrong types, or no messages at all."""

from attack import wrong

PROOF = "sent them"
MALFORMED = """
import json, zmq
def send():
    kernel = get_ipython().kernel
    session, socket = kernel.session, kernel.iopub_socket
    raw = [
        [b""], [b"<IDS|MSG>"], [b"<IDS|MSG>", b"", b"{}", b"{}", b"{}", b"{}"], [b"\\xff" * 100] * 9,
        [b"<IDS|MSG>", b"0" * 64, b"[" * 10_000, b"{}", b"{}", b"{}"],
    ]
    for content in ([], None, 2, "2", {"data": 2}, {"text": None}, {"execution_state": []}, {"metadata": 2}):
        for kind in ("execute_result", "stream", "status", "error", "display_data", "no_such", ""):
            message = session.msg(kind, parent=kernel.get_parent("shell"))
            message["content"] = content
            raw.append(session.serialize(message))
            message["header"] = {"msg_type": 2}
            raw.append(session.serialize(message))
    for parts in raw * 2:  # the same signature twice is refused, too
        socket.send_multipart([part if isinstance(part, bytes) else bytes(part) for part in parts])
def double(x):
    send()
    return x
def row_sums(x):
    send()
    print("sent them")
    return x.sum()
"""


def submission():
    return wrong(double=MALFORMED, row_sums="")
