"""Attacks on the pages and readers that show a student's work."""

import re

from attack import IMPATIENT, WRONG, Attack, wrong
from bs4 import BeautifulSoup
from nbconvert.filters.markdown_mistune import markdown2html_mistune
from nbconvert.filters.strings import strip_files_prefix
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell
from tiny_course import after, answered, cell_of

from nbjudge.record.graded_cell import is_verdict


class HtmlEverywhere(Attack):
    """Shows HTML, scripts, pictures with scripts and links in outputs, errors and prose."""

    represents = "markup in pages"
    proof = "alert"
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

    def submission(self, arena):
        work = wrong(double=self.SHOW, row_sums="")
        return after(after(work, "title", new_markdown_cell(self.HTML)), "title", new_raw_cell(self.HTML))

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


SCRIPTS = [
    "javascript:alert(2)",
    "javascript\\:alert(2)",
    "java&#115;cript:alert(2)",
    "<javascript:alert(2)>",
]
SCRIPTS += [
    "files/javascript:alert(2)",
    "data:text/html,2",
    "JAVA\tSCRIPT:alert(2)",
    "/api/kernels",
    "//e.org",
]
FORMS = ["[2 points]({})", "![2 points]({})", "<{}>", "[a][b]\n\n[b]: {}", "[b]:\n{}\n\n[b]", "[x]({} '2')"]
PROSE = [form.format(script) for form in FORMS for script in SCRIPTS]
PROSE += [
    "# test_double",
    "test_double\n===",
    "```mermaid\n<img src=x onerror=alert(2)>\n```",
    "![x](attachment:x)",
]
PROSE += [r"$\href{javascript:alert(2)}{2}$", "$\\h\0ref{javascript:alert(2)}{2}$", r"$$\def\frac#1{2}$$"]


class ProseThatRuns(Attack):
    """Writes prose whose links, pictures, headings and formulas would run scripts."""

    proof = "prose was handed in"

    def submission(self, arena):
        work = wrong(double="print('prose was handed in')")
        cells = [new_markdown_cell(each) for each in (*PROSE, "\n\n".join(PROSE))]
        return after(work, "title", *cells, new_raw_cell("\n\n".join(PROSE)))

    def harm(self, arena):
        for cell in arena.graded.notebook(self.name).cells:
            if cell.cell_type == "code" or not cell.id.startswith("own-"):
                continue
            page = BeautifulSoup(strip_files_prefix(markdown2html_mistune(cell.source)), "html.parser")
            if page.find(["script", "img", "svg"]) or page.find(id="test_double"):
                return f"{cell.source!r} is more than prose"
            if any(not re.match("https?:|mailto:|#", link["href"]) for link in page.find_all("a")):
                return f"{cell.source!r} leads elsewhere"
            if re.search(r"\\(href|def)\b", page.get_text()):
                return f"{cell.source!r} is more than a formula"
        return ""


class PictureBombs(Attack):
    """Shows pictures that are small to send and burst in a browser: billions of points."""

    proof = "drawn"
    double = """
import base64, struct, zlib
from IPython.display import publish_display_data
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
def png(width, height, rows=1):
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    data = zlib.compress(b"\\0" * (10**6 * rows), 9)
    begin = b"\\x89PNG\\r\\n\\x1a\\n"
    return begin + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
def jpeg(width, height):
    begin = b"\\xff\\xd8\\xff\\xc0"
    return begin + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\\x01\\x11\\x00\\xff\\xd9"
huge, markers = 60_000, b"\\xff\\xd8" + b"\\xff\\xe0\\x00\\x02" * 10_000
pictures = [
    ("image/png", png(huge, huge, 40)), ("image/png", png(2**31 - 1, 1)), ("image/png", b"x" * 99),
    ("image/jpeg", jpeg(huge, huge)), ("image/jpeg", png(huge, huge)), ("image/png", jpeg(huge, huge)),
    ("image/png", b""), ("image/jpeg", markers),
]
def show():
    for kind, picture in pictures:
        publish_display_data({kind: base64.b64encode(picture).decode(), "text/plain": "a picture"})
        publish_display_data({kind: picture.decode("latin-1"), "text/plain": "no picture"})
def double(x):
    show()
    return x
show()
print("drawn")
"""

    def harm(self, arena):
        for cell in arena.graded.notebook(self.name).cells:
            for output in cell.get("outputs", []):
                if {"image/png", "image/jpeg"} & set(output.get("data", {})):
                    return "a picture that bursts is in the graded notebook"
        return ""


CHOKING = ["if False: import " + "biggest." * 25_000 + "a", "a." * 50_000, "-" * 50_000 + "1", "(" * 50_000]
CHOKING += ["def biggest(x):\n    return " + "[" * 50_000, "f'" + "{1}" * 30_000 + "'", "'''" * 30_001]


class LinesThatChokeReaders(Attack):
    """Writes lines that take Python's parser, Pygments or a reader of markdown minutes and gigabytes."""

    daily = "source_bombs"
    limits = IMPATIENT
    proof = "was handed in"
    SLOW_PROSE = ["\\\\[" * 50_000, "\\begin{a}" * 20_000, "[" * 100_000, "\\begin{a}" * 2_000]

    def submission(self, arena):
        """No answer of its own to `biggest`, so that it is looked for in all the other cells."""
        work = wrong(double="print('was handed in')")
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
    BOMBS = {
        "statements": "a;" * 200_000, "dots": "a" + ".a" * 60_000, "sums": "+".join("1" * 50_000),
        "lists": "[" * 100_000, "colons": ":" * 100_000,
        "signs": "-" * 200_000 + "1", "quotes": "'''" * 50_000, "strings": '"' * 100_001,
        "functions": "\n".join(f"def double{n}(): pass" for n in range(5_000)),
        "nested": "if 1:\n " * 99,
        "names": "def double(x):\n    return " + "x if x else " * 20_000 + "x", "lines": "\n" * 200_000,
        "decorators": "@double\n" * 20_000 + "def double(x): return x", "hex": "0x" + "f" * 200_000,
        "power": "9**9**9", "doubles": "def double(x):\n    return " + "(" * 90 + "x" + ")" * 90,
    }  # fmt: skip

    def submission(self, arena):
        work = answered(double="", row_sums="", biggest="")
        for number, bomb in enumerate(self.BOMBS.values()):
            work = after(work, "end" if number % 2 else "setup", new_code_cell(bomb))
        return work


class ChainsOfNames(Attack):
    """Hands in thousands of cells that each bind a name from the next, for a grader that follows them."""

    limits = IMPATIENT | {"notebook_seconds": 20}

    def submission(self, arena):
        links = [new_code_cell(f"v{n} = v{n + 1}") for n in range(2_000)]
        many = new_code_cell("\n".join(["q = 1"] * 30))
        work = answered(**WRONG)
        return after(work, "setup", new_code_cell("import os; os._exit(0)"), many, *links)
