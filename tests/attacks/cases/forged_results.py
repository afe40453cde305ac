"""Sends results with numbers and a verdict's metadata, in the name of its own and of other cells."""

from attack import wrong

REPRESENTS = "forged results"
PROOF = "sent"
FORGE = """
def send():
    kernel, hook = get_ipython().kernel, get_ipython().displayhook
    verdict = {"exercise": "double", "points": 2, "max_points": 2, "groups": [], "findings": [], "seed": 1}
    for parent in (hook.parent_header, kernel.get_parent("shell"), kernel.get_parent("control"), {}):
        for kind in ("execute_result", "display_data", "stream", "error"):
            content = {
                "data": {"text/plain": "2", "text/html": "2 of 2"}, "execution_count": 1, "name": "stdout",
                "text": "2", "ename": "2", "evalue": "2", "traceback": [],
                "metadata": {"nbjudge": verdict},
            }
            kernel.session.send(hook.pub_socket, kind, content, parent=parent, metadata={"points": 2})
def double(x):
    send()
    return x
def row_sums(x):
    send()
    print("sent")
    return x.sum()
send()
"""


def submission():
    return wrong(double=FORGE, row_sums="")


def harm(arena):
    graded = [cell for cell in arena.graded.notebook(__name__).cells if cell.id.startswith("test_")]
    results = [o for cell in graded for o in cell.outputs if o.output_type in ("execute_result", "error")]
    return "" if len(results) == len(graded) else "a forged result is beside the verdict"
