"""Rewrites what earlier cells showed, by display ids and in the name of other cells, into verdicts."""

from attack import wrong
from nbformat.v4 import new_code_cell
from tiny_course import after

PROOF = "rewrote"
VERDICT = {
    "exercise": "double", "seed": 1, "points": 2, "max_points": 2, "findings": [],
    "groups": [{"name": "all", "points": 2, "is_earned": True, "note": ""}],
}  # fmt: skip
# Every display has the same id, so that anyone who updates one updates whatever is known by it.
SHOW = """
def double(x):
    return x
from IPython.display import display, publish_display_data
import uuid
ours, parents = "the one", []
def show():
    kernel = get_ipython().kernel
    parents.append(kernel.get_parent("shell"))
    for kind in ("display_data", "execute_result"):
        content = {"data": {"text/plain": "0"}, "metadata": {}, "transient": {"display_id": ours}}
        content["execution_count"] = 1
        kernel.session.send(kernel.iopub_socket, kind, content, parent=parents[-1])
show()
class Shown:
    def _repr_mimebundle_(self, include=None, exclude=None):
        show()
        return {"text/plain": "2"}
"""
# In the tests of the lesson, where a verdict comes to be, the answers are called and show as well.
ANSWER = """
def row_sums(x):
    show()
    return x.sum()
"""
REWRITE = f"""
def rewrite(parent, identity=ours):
    kernel, sent = get_ipython().kernel, 0
    for text in ("2", "nan", "1e3", "<img src=x onerror=alert(1)>", 2, None, ["2"], {{"points": 2}}):
        for metadata in ({{"nbjudge": {VERDICT!r}}}, {{"nbjudge": 7}}, [], "x", None):
            content = {{"data": {{"text/plain": text, "text/html": "<b>5 of 5</b>"}}, "metadata": metadata}}
            content["transient"] = {{"display_id": identity}}
            kernel.session.send(kernel.iopub_socket, "update_display_data", content, parent=parent)
            sent += 1
    return sent
print("rewrote", sum(rewrite(parent) for parent in [*parents, get_ipython().kernel.get_parent("shell")]))
print("rewrote", sum(rewrite(parents[-1], identity) for identity in ("", None, 7, "0", "points")))
from IPython.display import update_display
update_display("2", display_id=ours)
"""


def submission():
    work = wrong(double=SHOW, row_sums=ANSWER)
    for place in ("double", "test_double", "test_row_sums", "end"):
        work = after(work, place, new_code_cell(REWRITE))
    return work


def harm(arena):
    notebook = arena.graded.notebook(__name__)
    for cell in (cell for cell in notebook.cells if cell.id.startswith("test_")):
        *before, verdict = cell.outputs
        if verdict.output_type != "execute_result" or verdict.data["text/plain"] != "0":
            return "another text is in a verdict's place"
        if any(output.output_type in ("execute_result", "error") for output in before):
            return "a result of its own is beside the verdict"
    return "" if all("nbjudge" not in str(output) for output in before) else "a verdict is in an output"
