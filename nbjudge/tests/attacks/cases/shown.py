"""Attacks by what is shown: forged verdicts, and the pages and readers that show a student's work."""

from arena import IMPATIENT, WRONG, Attack, wrong
from nbformat.v4 import new_markdown_cell, new_raw_cell
from tiny_course import after

from nbjudge.record.graded_cell import is_verdict


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
