"""The tutor reads solutions and mark schemes by the delimiters that the course's configuration sets."""

from __future__ import annotations

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from nbgrader.preprocessors import ClearHiddenTests, ClearMarkScheme, ClearSolutions

from nbjudge.course.course import Course
from nbjudge.course.regions import Regions
from nbjudge.tutor.material import TutoredAssignment

OWN_DELIMITERS = """
c = get_config()
c.ClearSolutions.begin_solution_delimeter = "<answer>"
c.ClearSolutions.end_solution_delimeter = "</answer>"
c.ClearMarkScheme.begin_mark_scheme_delimeter = "<marks>"
c.ClearMarkScheme.end_mark_scheme_delimeter = "</marks>"
"""


@pytest.mark.parametrize(
    ("config", "solution", "scheme"),
    [
        ("", ("### BEGIN SOLUTION", "### END SOLUTION"), ("### BEGIN MARK SCHEME", "### END MARK SCHEME")),
        (OWN_DELIMITERS, ("# <answer>", "# </answer>"), ("<marks>", "</marks>")),
    ],
)
def test_the_tutor_reads_by_the_configured_delimiters(tmp_path, config, solution, scheme):
    (tmp_path / "nbgrader_config.py").write_text(config)
    source = tmp_path / "source" / "ps1"
    source.mkdir(parents=True)
    cells = [
        new_code_cell(
            f"def double(x):\n    {solution[0]}\n    return 2 * x\n    {solution[1]}\n",
            metadata=answer("double"),
        ),
        new_markdown_cell(f"Why?\n\n{scheme[0]}\n1 point for the reason\n{scheme[1]}"),
        new_markdown_cell("Because.", metadata=answer("why")),
    ]
    nbformat.write(new_notebook(cells=cells), source / "ps1.ipynb")
    material = TutoredAssignment(Course(tmp_path).assignments["ps1"])
    assert material.solution("double") == "def double(x):\n    return 2 * x"
    written = material.written("why")
    assert written is not None and (written.model_answer, written.scheme) == (
        "Because.",
        "1 point for the reason",
    )


def test_the_default_delimiters_are_nbgraders():
    regions = Regions()
    solutions, tests, schemes = ClearSolutions(), ClearHiddenTests(), ClearMarkScheme()
    assert regions.solution == (solutions.begin_solution_delimeter, solutions.end_solution_delimeter)
    assert regions.hidden_tests == (tests.begin_test_delimeter, tests.end_test_delimeter)
    assert regions.mark_scheme == (schemes.begin_mark_scheme_delimeter, schemes.end_mark_scheme_delimeter)


def answer(grade_id: str) -> dict[str, dict[str, object]]:
    """The metadata of an answer cell."""
    return {"nbgrader": {"grade_id": grade_id, "solution": True}}
