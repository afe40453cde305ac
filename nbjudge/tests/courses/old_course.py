"""A course as most public ones are: nbformat 4.2, no cell ids, plain imports, a magic, a data file."""

from pathlib import Path

import nbformat
from marked_cells import code, solution
from nbformat import NotebookNode

CONFIG = 'c = get_config()\nc.CourseDirectory.course_id = "old"\n'
DATA = "city,degrees\nOslo,-4\nRome,9\nOslo,2\nRome,13\n"
CHECKS = """
import numpy as np
import pandas as pd

from nbjudge.authoring import Exercise, case

centred = Exercise("centred", results=("numbers",), cell="test_centred")
by_city = Exercise("by_city", results=("means",), cell="test_by_city")


@centred.group("numbers", points=2)
def numbers(draw):
    yield case(draw.normal(*draw.sizes(1)) + 3)


@centred.mistake("The mean is not subtracted.")
def as_it_came(x):
    return x * 1.0


@centred.accepted_alternative
def with_a_loop(x):
    return np.array([number - sum(x) / len(x) for number in x])


@by_city.group("tables", points=3)
def tables(draw):
    size = draw.sizes(1)[0]
    yield case(pd.DataFrame({"city": [f"c{i % 3}" for i in range(size)], "degrees": draw.normal(size)}))


@by_city.mistake("These are sums: take means.")
def sums(table):
    return table.groupby("city")["degrees"].sum() * UNIT


@by_city.accepted_alternative
def aggregated(table):
    return table.groupby("city").agg({"degrees": "mean"})["degrees"]


UNIT = len(pd.read_csv("degrees.csv")) / 4
"""


def cells() -> list[NotebookNode]:
    return [
        nbformat.v4.new_markdown_cell("# Weather"),
        code("import numpy as np\nimport pandas as pd\nimport matplotlib.pyplot as plt\n%matplotlib inline"),
        code(
            "%config InlineBackend.figure_format = 'retina'\ndegrees = pd.read_csv('degrees.csv')\n!ls",
            "data",
            locked=True,
        ),
        code(f"def centred(x):\n{solution('return x - average(x)')}", "centred", solution=True),
        code(
            "def average(x):\n    return x.mean()\nassert abs(centred(np.arange(3))).sum() == 2\n"
            "### BEGIN HIDDEN TESTS\nassert centred(np.array([1.0])) == 0\n### END HIDDEN TESTS",
            "test_centred",
            grade=True,
            locked=True,
            points=2,
        ),
        code("%%time\nplt.plot(centred(degrees['degrees']))\nplt.show()"),
        code("slow = [number for number in range(10)]\nraise RuntimeError('a plain cell that fails')"),
        code(
            "def by_city(table):\n" + solution("return table.groupby(KEYS)['degrees'].mean()"),
            "by_city",
            solution=True,
        ),
        code("KEYS = list(degrees.columns[:1])\nKEYS = KEYS[0]", "keys", locked=True),
        code("assert by_city(degrees)['Rome'] == 11", "test_by_city", grade=True, locked=True, points=3),
        code("KEYS = 'none of the columns'"),
    ]


def make_old_course(root: Path, config: str = CONFIG, checks: str = CHECKS) -> Path:
    """The course in a folder of its own, with checks in one file or without any; returns the folder."""
    notebook = nbformat.v4.new_notebook(cells=cells())
    notebook.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    write_without_ids(notebook, root / "source" / "week1" / "weather.ipynb")
    (root / "source" / "week1" / "degrees.csv").write_text(DATA)
    (root / "nbgrader_config.py").write_text(config)
    if checks:
        (root / "checks").mkdir()
        (root / "checks" / "weather.py").write_text(checks)
    return root


def write_without_ids(notebook: NotebookNode, path: Path) -> None:
    for cell in notebook.cells:
        cell.pop("id", None)
    notebook.nbformat, notebook.nbformat_minor = 4, 2
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


CLIP = """
from nbjudge.authoring import Exercise, case

clip = Exercise("clip", results=("number",), cell="test_clip")


@clip.group("numbers", points=2)
def numbers(draw):
    yield case(draw.normal(1).item() ** 2 + 1.5)
    yield case(draw.normal(1).item() ** 2 / 1000)
"""
CLIP_TEST = {"grade": True, "locked": True, "points": 2}


def make_clip_course(root: Path, cells: list[NotebookNode]) -> Path:
    """A course of one exercise, `clip`, with these cells; returns the folder."""
    write_without_ids(nbformat.v4.new_notebook(cells=cells), root / "source/ps1/clipping.ipynb")
    (root / "nbgrader_config.py").write_text(CONFIG)
    (root / "checks").mkdir()
    (root / "checks/clipping.py").write_text(CLIP)
    return root
