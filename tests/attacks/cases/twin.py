"""Forks its kernel, so that two of them answer every request on the same sockets."""

from attack import HASTY, wrong

LIMITS = HASTY
TWIN = """
import os
def double(x):
    if os.fork() == 0:
        kernel = get_ipython().kernel
        parent, ident = kernel.get_parent("shell"), kernel._parent_ident["shell"]
        answer = {"status": "ok", "data": {"text/plain": "'2'"}, "metadata": {}}
        content = {"status": "ok", "user_expressions": {"answer": answer}, "payload": []}
        for _ in range(100):
            kernel.session.send(kernel.shell_stream, "execute_reply", content, parent=parent, ident=ident)
            kernel.shell_stream.flush()
    return x
"""


def submission():
    return wrong(double=TWIN)
