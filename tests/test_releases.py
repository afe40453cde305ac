"""No solution, hidden test or mark scheme reaches what students get."""

import ast

import pytest
from lesson_cells import (
    COURSE,
    SCHEME,
    SOLUTION,
    answer_cells,
    every_lesson,
    every_notebook,
    marks_of,
    release_of,
)

from nbjudge.course.loading import read_notebook

pytestmark = pytest.mark.lesson


@every_notebook
def test_the_release_holds_nothing_that_only_graders_may_see(lesson):
    text = (COURSE.root / "release" / lesson.folder / f"{lesson.name}.ipynb").read_text()
    for secret in (
        "BEGIN SOLUTION",
        "HIDDEN TESTS",
        "MARK SCHEME",
        "from nbjudge",
        "import nbjudge",
        ").points",
    ):
        assert secret not in text, f"“{secret}” is in the release: run `make build`"
    source = read_notebook(lesson.source_path)
    schemes = [line for cell in source.cells for part in SCHEME.findall(cell.source) for line in lines(part)]
    models = [
        line
        for cell in source.cells
        if cell.cell_type == "markdown" and marks_of(cell).get("grade")
        for line in lines(cell.source)
    ]
    release = release_of(lesson)
    everything = "\n".join(cell.source for cell in release.cells)
    for line in (*schemes, *models):
        assert line not in everything, f"a line of a mark scheme or model answer is in the release: {line}"
    for cell in release.cells:
        assert not cell.get("outputs"), f"{cell.id} holds an output: run `make build`"
    assert "widgets" not in release.metadata, "the state of widgets is stored in it: run `make build`"


@every_lesson
def test_the_release_leaves_every_answer_to_be_written(lesson):
    solutions = answer_cells(read_notebook(lesson.source_path))
    for name, cell in answer_cells(release_of(lesson)).items():
        ast.parse(cell.source)
        assert "raise NotImplementedError" in cell.source, f"{name} leaves nothing to be written"
        for solution in SOLUTION.findall(solutions[name].source):
            leaked = [line for line in lines(solution) if line in cell.source]
            assert not leaked, f"{name} gives lines of its solution away: {leaked}"


def lines(text):
    return [line.strip() for line in text.splitlines() if len(line.strip()) > 3]
