"""Courses to try things in: a copy of this repository, and a tiny one with a written question."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from tiny_course import CHECKS, FOLDER, NAME, source

from attention_lab.maintain.build import canonical
from nbjudge.course import read_config, solved

ROOT = Path(__file__).resolve().parents[1]
READY = ".attention-lab-ready"


def fresh_clone(folder: Path) -> Path:
    """Copy what git has of the working tree into `folder`, and link the environment that is in use."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
            shutil.copymode(ROOT / name, folder / name)
    link_environment(folder)
    return folder


def link_environment(folder: Path) -> None:
    """Let `make` find the environment set up and newer than all that asks for one: it must not set it up."""
    (folder / ".venv").mkdir()
    for entry in Path(sys.prefix).iterdir():
        (folder / ".venv" / entry.name).symlink_to(entry)
    (folder / ".venv" / READY).unlink(missing_ok=True)
    (folder / ".venv" / READY).touch()
    for name in ("pyproject.toml", "nbjudge/pyproject.toml"):
        os.utime(folder / name, (0, 0))


def typed(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Return what a command does that someone types in this folder."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(words, cwd=folder, env=own, capture_output=True, text=True)


# ---- the tiny course with a question at its end, as in lesson 2, and right answers to all of it ----

QUESTION = "## Why is twice one two?"
POINTS = 2
MARK_SCHEME = "One point for the wombat, one for the reason."
MODEL_ANSWER = "Because a numbat adds a number to itself."
ANSWERS = {
    "double": "def double(x):\n    return 2 * x",
    "row_sums": "def row_sums(x):\n    if x.dim() != 2:\n"
    "        raise ValueError(f'a table, not {tuple(x.shape)}')\n    return x.sum(dim=-1)",
    "biggest": "def biggest(x):\n    return x.max()",
    "why": "Because my own words say so.",
}


def source_with_question() -> NotebookNode:
    """The lesson as its author writes it."""
    lesson = source()
    question = f"{QUESTION}\n\n### BEGIN MARK SCHEME\n{MARK_SCHEME}\n### END MARK SCHEME"
    answer = {"grade": True, "locked": False, "solution": True, "points": POINTS}
    lesson.cells[-1:-1] = [_marked("why_question", question), _marked("why", MODEL_ANSWER, **answer)]
    return lesson


def _marked(cell_id: str, text: str, **marks: Any) -> NotebookNode:
    plain = {"grade": False, "locked": True, "solution": False, "task": False, "schema_version": 3}
    return nbformat.v4.new_markdown_cell(
        text, id=cell_id, metadata={"nbgrader": plain | {"grade_id": cell_id} | marks}
    )


def write_course(course: Path, config: str = "") -> None:
    """The course as its author leaves it: nothing is released, nothing in a gradebook. `config` is added."""
    for folder in ("checks", f"source/{FOLDER}", f"solutions/{FOLDER}"):
        (course / folder).mkdir(parents=True)
    (course / "source" / FOLDER / f"{NAME}.ipynb").write_text(canonical(source_with_question()))
    (course / f"checks/{NAME}.py").write_text(CHECKS)
    own = (ROOT / "nbgrader_config.py").read_text()
    (course / "nbgrader_config.py").write_text(f"{own}\n{config}")
    solution = solved(source_with_question(), read_config(course))
    nbformat.write(solution, course / "solutions" / FOLDER / f"{NAME}.ipynb")
