"""The tiny course with a question in prose at its end, as in lesson 2, and right answers to all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from fresh_clone import ROOT
from nbformat import NotebookNode
from tiny_course import CHECKS, FOLDER, NAME, source

from attention_lab.maintain.build import canonical
from nbjudge.course.assignment_forms import solved
from nbjudge.course.configuration import read_config

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
