"""A course of another kind to measure in: NumPy and pandas, two exercises, asserts, no checks files."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from class_runs import NBJUDGE, environment

from nbjudge.course import Assignment, Course

CONFIG = 'c = get_config()\nc.CourseDirectory.course_id = "weather"\n'
DATA = "city,degrees\nOslo,-4\nRome,9\nOslo,2\nRome,13\n"
SET_UP = "import matplotlib.pyplot as plt\nimport numpy as np\nimport pandas as pd\n%matplotlib inline"
PLOT = "degrees = pd.read_csv('degrees.csv')\nplt.plot(degrees['degrees'])\nplt.show()"
EXERCISES = {
    "centred": (
        "def centred(x):\n    ### BEGIN SOLUTION\n    return x - x.mean()\n    ### END SOLUTION",
        "assert np.allclose(centred(np.arange(3.0)), [-1, 0, 1])\n### BEGIN HIDDEN TESTS\n"
        "assert abs(centred(np.random.rand(9)).sum()) < 1e-9\n### END HIDDEN TESTS",
        ("return x - x.sum() / len(x)", "return x - np.average(x)", "return x - np.mean(x)"),
    ),
    "by_city": (
        "def by_city(table):\n    ### BEGIN SOLUTION\n"
        "    return table.groupby('city')['degrees'].mean()\n    ### END SOLUTION",
        "assert by_city(degrees)['Rome'] == 11\n### BEGIN HIDDEN TESTS\n"
        "assert by_city(degrees)['Oslo'] == -1\n### END HIDDEN TESTS",
        (
            "return table.groupby('city').mean()['degrees']",
            "return {city: part['degrees'].mean() for city, part in table.groupby('city')}",
        ),
    ),
}


def make(folder: Path, plugged_in: bool) -> Assignment:
    """Make the course in a folder of its own, released by nbgrader's own command."""
    new = nbformat.v4.new_code_cell
    cells = [new(SET_UP), new(PLOT)]
    for name, (answer, test, _) in EXERCISES.items():
        cells += [new(answer, metadata=_marks(name, solution=True))]
        cells += [new(test, metadata=_marks(f"test_{name}", grade=True, locked=True, points=2))]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    source = folder / "source" / "week1"
    source.mkdir(parents=True)
    nbformat.write(notebook, source / "weather.ipynb")
    (source / "degrees.csv").write_text(DATA)
    (folder / "nbgrader_config.py").write_text(CONFIG)
    release = [sys.executable, "-m", "nbgrader", "generate_assignment", "week1"]
    for command in ([[NBJUDGE, "init"]] if plugged_in else []) + [release]:
        subprocess.run(command, cwd=folder, env=environment(), check=True, capture_output=True)
    return Assignment(Course(folder), "week1", "weather")


def _marks(grade_id: str, **marks: Any) -> dict[str, Any]:
    plain = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}
    return {"nbgrader": plain | {"grade_id": grade_id} | marks}


def hand_in(lesson: Assignment, students: Sequence[str]) -> None:
    """Let these students, and no one else, have handed in: right answers, in ways that differ."""
    root = lesson.course.root
    shutil.rmtree(root / "submitted", ignore_errors=True)
    for place, student in enumerate(students):
        folder = root / "submitted" / student / "week1"
        shutil.copytree(root / "release" / "week1", folder)
        notebook = nbformat.read(folder / "weather.ipynb", as_version=4)
        for cell in notebook.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            if name in EXERCISES:
                answer, _, ways = EXERCISES[name]
                cell.source = f"{answer.splitlines()[0]}\n    {ways[place % len(ways)]}"
        nbformat.write(notebook, folder / "weather.ipynb")
