"""References are loaded from notebooks as they are, and by one thread of a service at a time."""

import io
import os
import sys
import threading
from pathlib import Path

import nbformat
import numpy as np
import pytest
from marked_cells import code
from old_course import CHECKS, make_old_course, write_without_ids
from rich.console import Console

from nbjudge.course.course import open_course
from nbjudge.course.loading import Notebook, importing_from, load_checks
from nbjudge.errors import CourseError
from nbjudge.try_checks.command import try_all
from nbjudge.try_checks.visible import show_visible


def in_threads(work, inputs):
    threads = [threading.Thread(target=work, args=(each,)) for each in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_lesson_may_load_another_on_its_way(tmp_path):
    with importing_from(tmp_path / "a"), importing_from(tmp_path / "b"):
        assert sys.path[:2] == [str(tmp_path / "b"), str(tmp_path / "a")]


def test_checks_are_loaded_while_other_modules_come(tmp_path):
    """What is imported meanwhile changes the very table that is looked through for a package's files."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "asked.py").write_text(f"name = {name!r}\n")
    going, loaded = threading.Event(), []

    def come_and_go():
        number = 0
        while not going.is_set():
            number = (number + 1) % 5000
            sys.modules[f"comes_and_goes_{number}"] = sys
            sys.modules.pop(f"comes_and_goes_{number - 2500}", None)

    other = threading.Thread(target=come_and_go)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        other.start()
        for _ in range(200):
            loaded.append([load_checks(tmp_path / name)[0].name for name in ("first", "second")])
    finally:
        going.set()
        other.join()
        sys.setswitchinterval(before)
        for name in [module for module in sys.modules if module.startswith("comes_and_goes_")]:
            del sys.modules[name]
    assert loaded == [["first", "second"]] * 200


def loaded(tmp_path: Path, *sources: str, name: str = "answer"):
    """The answer of a notebook whose cells are these; a cell `answer` is graded in `test`."""
    cells = [code(*source) if isinstance(source, tuple) else code(source) for source in sources]
    path = tmp_path / "source" / "week1" / "plain.ipynb"
    write_without_ids(nbformat.v4.new_notebook(cells=cells), path)
    return Notebook(path, path.parent).load(name, {"test"})


ANSWER = "def answer(x):\n    return x + offset"


def test_checks_and_tests_are_tried_without_ids(tmp_path):
    root = make_old_course(tmp_path / "old")
    shown, here = io.StringIO(), os.getcwd()
    assert try_all(open_course(root), "*", "", 2, Console(file=shown, width=120)) == 0, shown.getvalue()
    assert "Right answers get full marks, and each mistake is named." in shown.getvalue()
    assert os.getcwd() == here
    with pytest.raises(CourseError, match=r"weather.ipynb: cell 7 .“slow = .*”. stops with Runtime"):
        show_visible(open_course(root), "*", Console(file=shown, width=120))
    path = root / "source" / "week1" / "weather.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[6].metadata["tags"] = ["raises-exception"]
    write_without_ids(notebook, path)
    assert show_visible(open_course(root), "*", Console(file=shown, width=120)) == 1
    assert "The test cell of `centred` leaves average behind" in shown.getvalue()
    assert "refuse" not in shown.getvalue()


SEES = {
    "no plain cell that it does not need": (
        ["raise SystemExit", "offset = 2", ANSWER, "while True: pass"],
        3,
    ),
    "what is bound before it is called": (["offset = 2", ANSWER, ("pass", "test"), "offset = 100"], 3),
    "what only a later cell binds": ([ANSWER, ("pass", "test"), "offset = 100"], 101),
    "what its test cell defines": ([ANSWER, ("offset = 5\nassert answer(1) == 'never right'", "test")], 6),
    "its local names": (
        ["for step in range(3):\n    loss = 1 / 0", "def answer(x):\n    loss = x\n    return loss"],
        1,
    ),
    "an effect that no name shows": (
        ["import sys\nsys.path.append('../../library')", "1 / 0", "from far_away import offset", ANSWER],
        5,
    ),
    "a module beside the notebook": (["from beside_it import *", ANSWER], 7),
    "values that statements change": (
        [
            "import numpy as np\nnp.random.seed(3)\noffset = [np.random.rand()]",
            "for number in range(2):\n    offset.append(number)",
            "offset[1] = 7",
            "def answer(x):\n    return offset",
        ],
        [np.random.RandomState(3).rand(), 7, 1],
    ),
    "magics and future imports": (
        [
            "from __future__ import annotations",
            "%load_ext autoreload\nfiles = !ls\n%time offset = 1\ndisplay(offset)",
            "%%bash\necho this is no Python",
            "%%capture\ndef answer(x: NotDefined):\n    return x + offset",
        ],
        2,
    ),
}


@pytest.mark.parametrize(("sources", "value"), SEES.values(), ids=SEES)
def test_answer_sees_what_it_sees_in_a_kernel(tmp_path, sources, value):
    for name, offset in (("library/far_away.py", 4), ("source/week1/beside_it.py", 6)):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(f"offset = {offset}")
    assert loaded(tmp_path, *sources)(1) == value


@pytest.mark.parametrize(
    ("sources", "sentence"),
    [
        (["import nosuchpackage as nsp", "def answer():\n    return nsp.x"], "Install 'nosuchpackage' where"),
        (["offset = open('data.txt').read()", ANSWER], "Put the file into "),
        (["offset = one + 1", ANSWER], "cell 1 (“offset = one + 1”) of "),
        (["offset = 1 / 0", ANSWER], "stops with ZeroDivisionError: division by zero. Fix that cell"),
        (["x = 1"], "plain.ipynb defines it: give the answer cell's function or class that name."),
        (
            [("def answer(x)\n    return x", "answer")],
            "These cells are no Python: cell 1 (“def answer(x)”): expected ':'",
        ),
    ],
    ids=["package", "file", "name", "error", "nothing", "syntax"],
)
def test_unloadable_reference_names_the_cell(tmp_path, sources, sentence):
    with pytest.raises(CourseError) as caught:
        loaded(tmp_path, *sources)
    assert str(caught.value).startswith("The reference answer `answer` cannot be loaded: ")
    assert sentence in str(caught.value)


def test_references_are_loaded_in_threads(tmp_path):
    """Each finds the files of its own lesson: what is read, and what is imported."""
    reads = "import pathlib\ntext = pathlib.Path('data.txt').read_text()"
    imports = "import sys\nimport given_beside\nname = given_beside.name"
    seen = "places = [place for place in sys.path if place.endswith('week1')]"
    returns = "def answer():\n    return text, name, places"
    for name in "ab":
        (tmp_path / name / "source" / "week1").mkdir(parents=True)
        (tmp_path / name / "source" / "week1" / "data.txt").write_text(name)
        (tmp_path / name / "source" / "week1" / "given_beside.py").write_text(
            f"import time\ntime.sleep(0.02)\nname = {name!r}"
        )
        loaded(tmp_path / name, reads, imports, seen, returns)
    here, found = os.getcwd(), []

    def load(name: str) -> None:
        folder = tmp_path / name / "source" / "week1"
        notebook = Notebook(folder / "plain.ipynb", folder)
        text, imported, places = notebook.load("answer")()
        assert places == [str(folder)]
        found.append((name, text, imported))

    in_threads(load, "ab" * 10)
    assert len(found) == 20 and all(len(set(names)) == 1 for names in found) and os.getcwd() == here


def test_two_exercises_for_one_function_are_an_error(tmp_path):
    """The later one replaced the first without a word."""
    again = "\nagain = Exercise('centred', results=('numbers',), cell='test_by_city')\nsame = again\n"
    (weather,) = open_course(make_old_course(tmp_path / "old", checks=CHECKS + again)).assignments.values()
    with pytest.raises(CourseError, match="two exercises for `centred`, and a notebook has one"):
        _ = weather.exercises
