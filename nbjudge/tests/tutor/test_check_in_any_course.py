"""`check` in a plain nbgrader course: two lines in a notebook, no package of the course's own."""

import os
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from nbjudge import grade_notebook

EXAMPLE = Path(__file__).parents[3] / "examples" / "statistics"
SET_UP = "import numpy as np\nfrom nbjudge.tutor import check"
BY_N = "def deviation(sample):\n    return np.sqrt(((sample - sample.mean()) ** 2).sum() / len(sample))"
RIGHT = (
    "def deviation(sample):\n    return np.sqrt(((sample - sample.mean()) ** 2).sum() / (len(sample) - 1))"
)
CELLS = [
    SET_UP,
    f"{BY_N}\nshown = check('deviation')\nshown",
    "shown.mistake()",
    "shown.help()",
    f"{RIGHT}\ncheck('deviation')",
]


def outputs_of(folder: Path, cells: list[str], **environment: str) -> list[str]:
    """The text of each cell's outputs."""
    folder.mkdir(parents=True, exist_ok=True)
    notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    client = NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    client.execute(env=os.environ | environment)
    return [
        "\n".join(
            output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs
        )
        for cell in notebook.cells
    ]


@pytest.mark.integration
@pytest.mark.smoke
@pytest.mark.parametrize("is_named", [False, True], ids=["around the notebook", "in the environment"])
def test_an_example_course_has_a_check(tmp_path, is_named):
    """The mistake is measured, named, and shown in its smallest case; the right answer is right."""
    course = Path(shutil.copytree(EXAMPLE, tmp_path / "statistics"))
    if is_named:
        shown = outputs_of(tmp_path / "my work" / "ps1", CELLS, NBJUDGE_COURSE=str(course))
    else:
        shown = outputs_of(course / "source" / "ps1", CELLS)
    _, wrong, mistake, smallest, right = shown
    assert "groups of cases agree" in wrong and "✗" in wrong
    assert "divide by n - 1" in mistake
    assert "sample = [" in smallest and "# yours" in smallest and "# right" in smallest
    assert "✓ right" in right


@pytest.mark.integration
def test_a_notebook_that_checks_is_graded_as_without(tmp_path):
    """The sandbox has the learner's half of the tutor: cells with `check` run there, and find no tutor."""
    course = Path(shutil.copytree(EXAMPLE, tmp_path / "statistics"))
    source = course / "source" / "ps1" / "spread.ipynb"
    notebook = nbformat.read(source, as_version=4)
    setup = next(cell for cell in notebook.cells if cell.id == "setup")
    setup.source = SET_UP
    answer = next(index for index, cell in enumerate(notebook.cells) if cell.id == "deviation")
    notebook.cells.insert(answer + 1, new_code_cell("check('deviation')", id="check"))
    nbformat.write(notebook, source)
    graded = grade_notebook(source, course)
    assert graded.points == graded.max_points > 0
