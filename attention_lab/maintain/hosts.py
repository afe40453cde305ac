"""Colab, Kaggle and Binder: the links that open a lesson there, and the lines that install the course.

All of it follows from one setting, `Repository` under `[project.urls]` in pyproject.toml. While it is not
set there are no links, and the lines install wheels that a learner uploads.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from urllib.parse import quote

from nbformat import NotebookNode

GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)")
BRANCH = "main"
UPLOAD = (
    "To open a lesson in Colab, run `pip wheel --no-deps ./nbjudge . -w dist` in a copy of the project.\n"
    "Upload a notebook from `release/` and both files of `dist/` to Colab; its first cell installs them."
)
OPEN_THERE = (
    "Each lesson opens in Colab, Kaggle or Binder without an installation: use the links beside it.\n"
    "The notebook's first cell installs the course there. The code is in [the repository]({address})."
)
# What the build writes into README.md and docs/students.md.
PARAGRAPH = re.compile(r"(?<=<!-- hosts -->\n).*?(?=\n<!-- /hosts -->)", re.DOTALL)
TABLE_HEAD = re.compile(r"^\| lesson \| you write \|.*\n.*$", re.MULTILINE)
TABLE_ROW = re.compile(r"^(\| [^|\n]+\]\(source/(\w+)/(\w+)\.ipynb\) \|[^|\n]+\|).*$", re.MULTILINE)
DOCUMENTS = ("README.md", "docs/students.md")

INSTALL = """from importlib.util import find_spec

if find_spec("attention_lab") is None:  # in Colab and Kaggle: install the course
{commands}

"""
INSTALL_BLOCK = re.compile(
    r'\Afrom importlib\.util import find_spec\n\nif find_spec\("attention_lab"\).*\n(?:    .*\n)+\n*'
)
IMPORTS_COURSE = re.compile(r"^from attention_lab\b", re.MULTILINE)
WHEELS = ("pip install -q nbjudge-*.whl attention_lab-*.whl",)
FROM_REPOSITORY = ("pip install -q git+{address}#subdirectory=nbjudge", "pip install -q git+{address}")


def repository(root: Path) -> str:
    """Return the public address of the repository, from pyproject.toml in `root`; "" while it is not set."""
    file = root / "pyproject.toml"
    project = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {}) if file.exists() else {}
    address: str = project.get("urls", {}).get("Repository", "")
    return address.removesuffix("/").removesuffix(".git")


def buttons(address: str, folder: str, name: str) -> dict[str, str]:
    """Return the links that open the released notebook of a lesson, by the name of the service.

    Parameters
    ----------
    address
        Address of the repository. Colab and Kaggle open notebooks from GitHub only; for another address
        there are no links.
    folder, name
        The lesson, for example `"02_scaling"` and `"scaling"`.
    """
    on_github = GITHUB.fullmatch(address)
    if on_github is None:
        return {}
    path = f"release/{folder}/{name}.ipynb"
    file = f"{on_github[1]}/blob/{BRANCH}/{path}"
    return {
        "Colab": f"https://colab.research.google.com/github/{file}",
        "Kaggle": f"https://kaggle.com/kernels/welcome?src=https://github.com/{file}",
        "Binder": f"https://mybinder.org/v2/gh/{on_github[1]}/{BRANCH}?labpath={quote(path, safe='')}",
    }


def install_lines(address: str) -> str:
    """Return the first lines of a lesson's set-up cell, which install the course where it is missing."""
    commands = [command.format(address=address) for command in (FROM_REPOSITORY if address else WHEELS)]
    return INSTALL.format(commands="\n".join(f'    get_ipython().system("{line}")' for line in commands))


def update_install_lines(notebook: NotebookNode, address: str) -> None:
    """Write the install lines into the set-up cell of a source notebook that imports the course's package."""
    for cell in notebook.cells:
        if cell.get("id") == "setup" and IMPORTS_COURSE.search(cell.source):
            cell.source = install_lines(address) + INSTALL_BLOCK.sub("", cell.source)


def with_buttons(document: str, address: str) -> str:
    """Return the text of README.md or docs/students.md with links to the services, or with how to upload."""
    text = PARAGRAPH.sub(lambda _: paragraph(address), document)
    has_buttons = bool(buttons(address, "", ""))
    head, line = ("| lesson | you write |", "|---|---|")
    text = TABLE_HEAD.sub(f"{head} open in |\n{line}---|" if has_buttons else f"{head}\n{line}", text)
    return TABLE_ROW.sub(lambda row: row[1] + _cell(buttons(address, row[2], row[3])), text)


def paragraph(address: str) -> str:
    """Return two lines on how to open a lesson without an installation."""
    return OPEN_THERE.format(address=address) if buttons(address, "", "") else UPLOAD


def stale_documents(root: Path) -> dict[Path, str]:
    """Return the documents that do not agree with the address, each with the text it should have."""
    address = repository(root)
    stale = {}
    for path in filter(Path.exists, (root / name for name in DOCUMENTS)):
        text = path.read_text(encoding="utf-8")
        if (wanted := with_buttons(text, address)) != text:
            stale[path] = wanted
    return stale


def _cell(links: dict[str, str]) -> str:
    return f" {' · '.join(f'[{name}]({link})' for name, link in links.items())} |" if links else ""
