"""How fast a course of another kind is graded: NumPy and pandas, two exercises, asserts, no checks files.

    .venv/bin/python benchmarks/other_course.py [--students 60] [--blocks 3] [--output FILE]

- stock: `nbgrader autograde` without the plug-in.
- plugged in: the same command after `nbjudge init`.
- ours: `nbjudge grade --workers 2`.

The class has everything right. It is cut into blocks; each block goes through every grader in turn.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
import results
from class_blocks import class_figures
from class_runs import NBJUDGE, Block, run_nbjudge, run_stock
from contenders import environment
from courses import not_in_full
from rich.progress import track
from rich.table import Table

from nbjudge.course.course import Assignment, Course

CORES = 2
CONFIG = 'c = get_config()\nc.CourseDirectory.course_id = "weather"\n'
DATA = "city,degrees\nOslo,-4\nRome,9\nOslo,2\nRome,13\n"
STOCK, PLUGGED, OURS = "stock", "plugged in", "ours"
RUNS: dict[str, Callable[[Assignment, list[str], Path], Block]] = {
    STOCK: run_stock,
    PLUGGED: run_stock,
    OURS: lambda lesson, students, log: run_nbjudge(lesson, students, log, CORES),
}
GOALS = {PLUGGED: 4, OURS: 8}
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--students", type=int, default=60, help="the size of the class (60)")
    parser.add_argument("--blocks", type=int, default=3, help="how many blocks the class is cut into (3)")
    parser.add_argument("--output", type=Path, default=results.FOLDER / "other_course.json")
    options = parser.parse_args()
    if options.blocks < 1 or options.students < 2 * options.blocks:
        parser.error("every block needs at least two students: more of them, or fewer blocks")
    console = results.console()
    content = results.surroundings(console) | {"students": options.students}
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    with TemporaryDirectory(prefix="nbjudge-benchmark-") as folder:
        courses = {name: _course(Path(folder) / name.replace(" ", "_"), name != STOCK) for name in RUNS}
        blocks: dict[str, list[Block]] = {name: [] for name in RUNS}
        students = [f"student_{number:03}" for number in range(options.students)]
        turns = [(number, name) for number in range(options.blocks) for name in RUNS]
        for number, name in track(turns, "Grading", console=console, transient=True):
            block = students[number :: options.blocks]
            _hand_in(courses[name], block)
            blocks[name].append(RUNS[name](courses[name], block, Path(folder) / f"{name}.log"))
            if missed := not_in_full(courses[name], block):
                raise SystemExit(f"{name} does not give all points to {missed}: its seconds mean nothing.")
    content["graders"] = class_figures(blocks, options.students)
    _show(content, console)
    results.write(options.output, content, console)


def _course(folder: Path, plugged_in: bool) -> Assignment:
    """The course in a folder of its own, released by nbgrader's own command."""
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


def _hand_in(lesson: Assignment, students: list[str]) -> None:
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


def _show(content: dict[str, Any], console: Any) -> None:
    table = Table(
        "", "start", "the class, start included", "a notebook, without: median (quartiles) of the blocks",
        "times stock, starts included", "without", "goal",
        title=f"Seconds, {content['students']} notebooks of another course on {CORES} cores",
    )  # fmt: skip
    stock = content["graders"][STOCK]
    for name, figures in content["graders"].items():
        pairs = zip(stock["seconds_a_notebook"], figures["seconds_a_notebook"], strict=True)
        without = results.spread([left / right for left, right in pairs])
        figures["times_stock"] = {"with_starts": stock["seconds"] / figures["seconds"], "without": without}
        table.add_row(
            name,
            f"{figures['start_up_seconds']:.1f}",
            f"{figures['seconds']:.1f}",
            results.spread(figures["seconds_a_notebook"]).show(),
            f"{figures['times_stock']['with_starts']:.1f}",
            without.show(1),
            f"at least {GOALS[name]}" if name in GOALS else "",
        )
    console.print(table)


if __name__ == "__main__":
    main()
