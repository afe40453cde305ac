"""Answers the grader's question on the kernel's own wire before the real reply, with a forged one."""

from attack import wrong

PROOF = "forged [1-9]|kernel died"  # whoever writes on a wire beside its owner may crash instead
FORGE = """
import base64, json
from safetensors.torch import save
forged = []
def packed(value):
    tree = {"dict": [["answers", {"list": [{"dict": [["value", value]]}] * 2}], ["points", {"plain": 2}]]}
    words = [json.dumps(tree).encode(), save({"0": torch.ones(3)})]
    return repr(" ".join(base64.b64encode(word).decode() for word in words))
def double(x):
    kernel = get_ipython().kernel
    parent = kernel.get_parent("shell")
    for value in ({"tensor": "0"}, {"plain": True}, {"other": "x"}):
        answer = {"status": "ok", "data": {"text/plain": packed(value)}, "metadata": {"points": 2}}
        content = {
            "status": "ok", "execution_count": 1, "payload": [], "points": 2,
            "user_expressions": {"answer": answer, "points": answer},
        }
        stream, ident = kernel.shell_stream, kernel._parent_ident["shell"]
        kernel.session.send(stream, "execute_reply", content, parent=parent, ident=ident)
        stream.flush()
        forged.append(value)
    return x
def row_sums(x):
    print("forged", len(forged))
    return x.sum()
"""


def submission():
    return wrong(double=FORGE, row_sums="")
