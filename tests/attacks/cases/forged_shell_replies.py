"""Answers the grader's question on the kernel's own wire before the real reply, with a forged one."""

from attack import IMPATIENT, wrong

LIMITS = IMPATIENT
# Anyone who writes on a wire beside its owner may crash or hang over it, and what was printed on the way is
# lost then. So the forger shows what it holds before it is called, and afterwards either what it sent or
# that its cell came to no end of its own. One that lacks a part, fails or is not called shows less.
PROOF = "holds the wire.*(forged [1-9]|KeyboardInterrupt|kernel died|took too long|used up)"
FORGE = """
import base64, json
kernel, forged = get_ipython().kernel, []
def packed(value):
    tree = {"list": [{"dict": [["value", value], ["points", {"plain": 2}]]}] * 2}
    words = [json.dumps(tree).encode(), torch.ones(3).numpy().tobytes()]
    return repr(" ".join(base64.b64encode(word).decode() for word in words))
def forge(value):
    answer = {"status": "ok", "data": {"text/plain": packed(value)}, "metadata": {"points": 2}}
    content = {
        "status": "ok", "execution_count": 1, "payload": [], "points": 2,
        "user_expressions": {"answer": answer, "points": answer},
    }
    parent, ident = kernel.get_parent("shell"), kernel._parent_ident["shell"]
    message = kernel.session.msg("execute_reply", content, parent)
    return kernel.shell_stream, kernel.session.serialize(message, ident)
def double(x):
    for value in ({"tensor": ["float32", [3], 0, [0]]}, {"plain": True}, {"other": "x"}):
        stream, message = forge(value)
        stream.send_multipart(message)
        stream.flush()
        forged.append(value)
        print("forged", len(forged), flush=True)
    return x
if callable(forge({"other": "x"})[0].flush):
    print("holds the wire")
"""


def submission():
    return wrong(double=FORGE)
