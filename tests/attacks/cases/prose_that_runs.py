"""Writes prose whose links, pictures, definitions, headings and formulas would run scripts or take places."""

import re

from attack import wrong
from bs4 import BeautifulSoup
from nbconvert.filters.markdown_mistune import markdown2html_mistune
from nbconvert.filters.strings import strip_files_prefix
from nbformat.v4 import new_markdown_cell, new_raw_cell
from tiny_course import after

PROOF = "prose was handed in"
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


def submission():
    work = wrong(double="print('prose was handed in')")
    cells = [new_markdown_cell(each) for each in (*PROSE, "\n\n".join(PROSE))]
    return after(work, "title", *cells, new_raw_cell("\n\n".join(PROSE)))


def harm(arena):
    for cell in arena.graded.notebook(__name__).cells:
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
