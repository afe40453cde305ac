"""A class whose feedback is made by nbgrader's command and by its API, as the formgrader's button does."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from feedback_pages import ALL, FETCHES, SCRIPTS
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from tiny_course import FOLDER, NAME, after, answered, cell_of, hand_in, make_course, succeed

from nbjudge.course.configuration import read_config

# What the student's own code shows: each attack as HTML, as a drawing, as text, as a name in a traceback.
SHOW = f"""
import sys
from IPython.display import HTML, SVG, Javascript, Latex, Markdown, display
attacks = {ALL!r}
for attack in attacks:
    display(HTML(attack), Markdown(attack), Latex(attack))
    display({{"image/svg+xml": attack, "image/png": attack, "text/plain": attack}}, raw=True)
    escape = chr(27)
    print(attack, escape + "[31m" + attack + escape + "[0m", escape + "]8;;http://stranger.invalid" + chr(7))
    print(attack, file=sys.stderr)
display(Javascript("alert('ran'); fetch('http://stranger.invalid/javascript')"))
raise ValueError("".join(attacks))
"""
FILE = "<img src=x onerror=alert('ran')>.ipynb"
COMMENT = "Look at **the factor** again.\n\n" + "\n\n".join(SCRIPTS + FETCHES)


@pytest.fixture(scope="session")
def feedback_class(once) -> Path:
    """The folder of a course in which two students have got their pages."""
    return once("feedback_class", _grade)


def _grade(root: Path) -> None:
    make_course(root)
    hand_in(root, "attacker", _attacking(), name=FILE)
    hand_in(root, "honest", answered())
    succeed(root, "autograde", FOLDER)
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        gradebook.find_comment("double", NAME, FOLDER, "attacker").manual_comment = COMMENT
        gradebook.find_submission_notebook(NAME, FOLDER, "honest").late_submission_penalty = 1.5
        gradebook.find_grade("test_double", NAME, FOLDER, "honest").manual_score = 1
        gradebook.find_grade("test_biggest", NAME, FOLDER, "honest").needs_manual_grade = True
        gradebook.db.commit()
    succeed(root, "generate_feedback", FOLDER, "--student=attacker")
    _through_the_api(root, "honest")


def _through_the_api(root: Path, student: str) -> None:
    config = read_config(root)
    config.CourseDirectory.root = str(root)
    config.CourseDirectory.db_url = f"sqlite:///{root / 'gradebook.db'}"
    config.HTMLExporter.template_name = "formgrade"  # as the formgrader has it
    here = os.getcwd()
    try:
        result = NbGraderAPI(config=config).generate_feedback(FOLDER, student)
    finally:
        os.chdir(here)
    assert result["success"], result


def _attacking() -> nbformat.NotebookNode:
    work = answered(double="def double(x):\n    print(attacks)\n    return x * 1")
    cell_of(work, "double").metadata["name"] = SCRIPTS[0]
    prose = [nbformat.v4.new_markdown_cell(attack) for attack in ALL]
    after(work, "title", SHOW, *prose, nbformat.v4.new_raw_cell("".join(ALL)))
    for number, cell in enumerate(work.cells):
        if "nbgrader" not in cell.metadata:  # ids need not be what the format allows
            cell.id = f'"><script>alert({number})</script>'
    return work
