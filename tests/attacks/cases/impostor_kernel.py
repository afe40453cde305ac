"""Replaces the kernel's own handler, so that every request is answered without being carried out."""

from attack import wrong

IMPOSTOR = """
kernel = get_ipython().kernel
async def do_execute(code, silent, store_history=True, user_expressions=None, *rest, **options):
    two = {"data": {"text/plain": "2"}, "metadata": {"nbjudge": {"points": 2}}}
    kernel.send_response(kernel.iopub_socket, "execute_result", two | {"execution_count": 1})
    forged = dict.fromkeys(user_expressions or {}, two | {"status": "ok"})
    return dict(status="ok", execution_count=1, payload=[], user_expressions=forged)
kernel.do_execute = do_execute
def double(x):
    return x
"""


def submission():
    return wrong(double=IMPOSTOR)
