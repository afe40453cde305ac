"""Attacks by what is shown: forged verdicts, and the pages and readers that show a student's work."""

from arena import IMPATIENT, WRONG, Attack, wrong
from nbformat.v4 import new_markdown_cell, new_raw_cell
from tiny_course import after, cell_of

from nbjudge.record.graded_cell import is_verdict


class RewrittenDisplays(Attack):
    """Rewrites what earlier cells showed, by display ids and in the name of other cells, into verdicts."""

    proof = "rewrote"
    VERDICT = {
        "exercise": "double", "seed": 1, "points": 2, "max_points": 2, "findings": [],
        "groups": [{"name": "all", "points": 2, "is_earned": True, "note": ""}],
    }  # fmt: skip
    # Every display has the same id, so that anyone who updates one updates whatever is known by it.
    code = """
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
# In the tests of the lesson, where a verdict comes to be, the answers are called and show as well.
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

    more_cells = [("double", REWRITE), ("test_double", REWRITE), ("test_row_sums", REWRITE), ("end", REWRITE)]

    def harm(self, arena):
        notebook = arena.graded.notebook(self.name)
        for cell in (cell for cell in notebook.cells if cell.id.startswith("test_")):
            *before, verdict = cell.outputs
            if verdict.output_type != "execute_result" or verdict.data["text/plain"] != "0":
                return "another text is in a verdict's place"
            if any(output.output_type in ("execute_result", "error") for output in before):
                return "a result of its own is beside the verdict"
        return "" if all("nbjudge" not in str(output) for output in before) else "a verdict is in an output"


class HtmlEverywhere(Attack):
    """Shows HTML, scripts, pictures with scripts and links in outputs, errors and prose."""

    represents = "markup in pages"
    proof = "alert"
    HARMLESS = {"text/plain", "image/png", "image/jpeg"}
    HTML = "<script>alert(2)</script><img src=x onerror=alert(2)><a href='javascript:alert(2)'>2 points</a>"
    code = f"""
from IPython.display import HTML, Javascript, Latex, Markdown, display
html = {HTML!r}
kinds = ["text/html", "application/javascript", "text/markdown", "text/latex", "image/svg+xml",
         "application/pdf", "application/vnd.jupyter.widget-view+json", "image/png", "image/jpeg",
         "application/x-anything", html]
def double(x):
    display({{kind: html for kind in kinds}}, raw=True)
    display(HTML(html), Javascript("alert(2)"), Markdown(html), Latex(html))
    print(html)
    raise ValueError(html)
def row_sums(x):
    raise type(html[1:7] + html, (Exception,), {{}})(html * 10)
"""

    more_cells = [("title", new_markdown_cell(HTML)), ("title", new_raw_cell(HTML))]

    def harm(self, arena):
        for cell in arena.graded.notebook(self.name).cells:
            if cell.cell_type != "code" and ("<script" in cell.source or "<img" in cell.source):
                return "HTML of its own is in the prose"
            for output in cell.get("outputs", []):
                data = output.get("data", {})
                if is_verdict(cell, output):
                    if "<script" in data["text/html"] or "<img" in data["text/html"]:
                        return "a verdict holds its HTML"
                elif not data.keys() <= self.HARMLESS:
                    return f"an output holds {data.keys() - self.HARMLESS}"
        return ""


CHOKING = ["if False: import " + "biggest." * 25_000 + "a", "a." * 50_000, "-" * 50_000 + "1", "(" * 50_000]
CHOKING += ["def biggest(x):\n    return " + "[" * 50_000, "f'" + "{1}" * 30_000 + "'", "'''" * 30_001]


class LinesThatChokeReaders(Attack):
    """Writes lines that take Python's parser, Pygments or a reader of markdown minutes and gigabytes."""

    daily = "source_bombs"
    limits = IMPATIENT
    proof = "was handed in"
    code = "print('was handed in')"
    SLOW_PROSE = ["\\\\[" * 50_000, "\\begin{a}" * 20_000, "[" * 100_000, "\\begin{a}" * 2_000]

    def submission(self, arena):
        """No answer of its own to `biggest`, so that it is looked for in all the other cells."""
        work = super().submission(arena)
        work.cells.remove(cell_of(work, "biggest"))
        cell_of(work, "test_biggest").source = CHOKING[0]
        return after(work, "end", *CHOKING[1:], *map(new_markdown_cell, self.SLOW_PROSE))

    def harm(self, arena):
        notebook = arena.graded.notebook(self.name)
        slow = [cell for cell in notebook.cells if cell.cell_type == "markdown" and len(cell.source) > 25_000]
        if not all(cell.source.startswith("~~~") for cell in slow):
            return "long prose is read as markdown"
        return "" if notebook.metadata.language_info.pygments_lexer == "text" else "its code is coloured"


class SourceBombs(Attack):
    """Hands in code that takes gigabytes or hours to be read as code, before any of it runs."""

    limits = IMPATIENT | {"notebook_seconds": 20}
    answers = dict.fromkeys(WRONG, "")
    BOMBS = [
        "a;" * 200_000, "a" + ".a" * 60_000, "+".join("1" * 50_000), "[" * 100_000, ":" * 100_000,
        "-" * 200_000 + "1", "'''" * 50_000, '"' * 100_001,
        "\n".join(f"def double{n}(): pass" for n in range(5_000)), "if 1:\n " * 99,
        "def double(x):\n    return " + "x if x else " * 20_000 + "x", "\n" * 200_000,
        "@double\n" * 20_000 + "def double(x): return x", "0x" + "f" * 200_000,
        "9**9**9", "def double(x):\n    return " + "(" * 90 + "x" + ")" * 90,
    ]  # fmt: skip
    more_cells = [("end" if number % 2 else "setup", bomb) for number, bomb in enumerate(BOMBS)]


class ChainsOfNames(Attack):
    """Hands in thousands of cells that each bind a name from the next, for a grader that follows them."""

    limits = IMPATIENT | {"notebook_seconds": 20}

    def submission(self, arena):
        links = [f"v{n} = v{n + 1}" for n in range(2_000)]
        return after(wrong(), "setup", "import os; os._exit(0)", "\n".join(["q = 1"] * 30), *links)


ATTACKS = {
    "hides_in_widgets": Attack(
        "Has output widgets take what cells show, errors too, and opens more of them than anybody counts.",
        proof="not hidden",
        code="""
kernel = get_ipython().kernel
print("not hidden", flush=True)
def comm(kind, number, **state):
    content = {"comm_id": str(number), "data": {"method": "update", "state": state, "buffer_paths": []}}
    if kind == "comm_open":
        content |= {"target_name": "jupyter.widget", "target_module": None}
    kernel.session.send(kernel.iopub_socket, kind, content, parent=kernel.get_parent("shell"))
def double(x):
    header = kernel.get_parent("shell")["header"]["msg_id"]
    comm("comm_open", "hider", _model_name="OutputModel", msg_id=header, outputs=[])
    comm("comm_msg", "hider", msg_id=header, outputs=[{"output_type": "execute_result", "data": 2}])
    return x
for number in range(3000):
    comm("comm_open", number, _model_name="OutputModel", _model_module="@jupyter-widgets/output", msg_id="")
for odd in ({}, {"msg_id": []}, {"msg_id": {}}, {"_model_name": []}, {"outputs": 7}):
    comm("comm_open", "odd", **odd)
    comm("comm_msg", "odd", **odd)
double(torch.ones(2))
raise ValueError("unseen")
""",
    ),
}
