"""Shows HTML, scripts, pictures with scripts and links to elsewhere in outputs, errors, streams and prose."""

from attack import wrong
from nbformat.v4 import new_markdown_cell, new_raw_cell
from tiny_course import after

from nbjudge.record.graded_cell import is_verdict

REPRESENTS = "markup in pages"
PROOF = "alert"
HARMLESS = {"text/plain", "image/png", "image/jpeg"}
HTML = "<script>alert(2)</script><img src=x onerror=alert(2)><a href='javascript:alert(2)'>2 points</a>"
SHOW = f"""
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


def submission():
    work = wrong(double=SHOW, row_sums="")
    return after(after(work, "title", new_markdown_cell(HTML)), "title", new_raw_cell(HTML))


def harm(arena):
    for cell in arena.graded.notebook(__name__).cells:
        if cell.cell_type != "code" and ("<script" in cell.source or "<img" in cell.source):
            return "HTML of its own is in the prose"
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if is_verdict(cell, output):
                if "<script" in data["text/html"] or "<img" in data["text/html"]:
                    return "a verdict holds its HTML"
            elif not data.keys() <= HARMLESS:
                return f"an output holds {data.keys() - HARMLESS}"
    return ""
