"""A course of one tiny lesson, whose kernels are ready in no time, and classes that hand it in."""

import atexit
import copy
import json
import shutil
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import nbformat
import pytest
from marked_cells import cell_of, marked
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader_command import run as nbgrader
from traitlets.config import Config

from nbjudge.course.assignment_forms import released, solved
from nbjudge.course.configuration import read_config
from nbjudge.course.course import Course, open_course
from nbjudge.submission.files import Folder, read_handed_in
from nbjudge.submission.read_submission import Submission, read_submission

pytest.importorskip("torch")  # its answers are tensors

FOLDER, NAME = "01_tiny", "tiny"
FULL = {"double": 2, "row_sums": 2, "biggest": 1}
JUDGED = {f"test_{name}": name for name in FULL}
NOTHING = dict.fromkeys(FULL, 0)

CONFIG = """
from nbjudge import configure

c = get_config()
c.CourseDirectory.course_id = "tiny"
c.CourseDirectory.solution_directory = "solutions"
c.ClearMarkScheme.enforce_metadata = False
c.GenerateSolution.preprocessors = [
    "nbgrader.preprocessors.LockCells",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbgrader.preprocessors.ClearMarkScheme",
    "nbgrader.preprocessors.Execute",
]
configure(c)
"""

# What the grader asks. The animals are nowhere else, so that a leak of any of it is seen.
CHECKS = """
import torch

from nbjudge.authoring import Exercise, case
from nbjudge.torch import Draw

double = Exercise("double", results=("doubled",), draw=Draw)
row_sums = Exercise("row_sums", results=("sums",), draw=Draw)
biggest = Exercise("biggest", results=("biggest",), draw=Draw)


@double.group("tapir vectors", points=1)
def vectors(draw):
    (width,) = draw.sizes(1)
    yield case(draw.normal(width))
    yield case(draw.normal(width, dtype=torch.float64))


@double.group("tapir gradients", points=1)
def gradients(draw):
    rows, columns = draw.sizes(2)
    yield case(draw.normal(rows, columns), gradients=True)


@double.mistake("Not one quagga was doubled: every number comes back as it went in.")
def unchanged(x):
    return x * 1


@row_sums.group("tapir tables", points=1)
def tables(draw):
    rows, columns = draw.sizes(2)
    yield case(draw.normal(rows, columns))


@row_sums.group("tapir refusals", points=1)
def refusals(draw):
    (width,) = draw.sizes(1)
    yield case(draw.normal(width), refuses=(width,))


@biggest.group("tapir lists", points=1)
def lists(draw):
    yield case(draw.normal(draw.sizes(1)[0]))
"""


def source() -> NotebookNode:
    """The lesson as its author writes it."""
    return nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell("# A tiny lesson\n\nThree exercises.", id="title"),
            _marked("setup", "import math\n\nimport torch", locked=True),
            _answer("double", "(x)", "return 2 * x  # okapi"),
            _test(
                "double", 2, "assert double(torch.ones(3)).tolist() == [2.0, 2.0, 2.0], 'twice one is two'"
            ),
            nbformat.v4.new_code_cell("print('shown', double(torch.ones(3)))", id="shown"),
            _answer(
                "row_sums",
                "(x)",
                "if x.dim() != 2:\n"
                '        raise ValueError(f"a table was asked for, not {tuple(x.shape)}")\n'
                "    return x.sum(dim=-1)  # okapi",
            ),
            _test("row_sums", 2, "print(row_sums(torch.ones(3, 4)))"),
            _answer("biggest", "(x)", "return x.max()  # okapi"),
            _test("biggest", 1, "assert biggest(torch.tensor([1.0, 3.0])) == 3, 'three is more than one'"),
            nbformat.v4.new_markdown_cell("That was all.", id="end"),
        ]
    )


def _marked(cell_id: str, text: str, **marks: Any) -> NotebookNode:
    return marked(nbformat.v4.new_code_cell(text, id=cell_id), cell_id, **marks)


def _answer(name: str, signature: str, body: str) -> NotebookNode:
    body = f"    ### BEGIN SOLUTION\n    {body}\n    ### END SOLUTION"
    text = f'def {name}{signature}:\n    """Docstring."""\n{body}'
    return _marked(name, text, solution=True)


def _test(name: str, points: float, visible: str) -> NotebookNode:
    hidden = f'from nbjudge import check\ncheck("{name}")'
    text = f"{visible}\n### BEGIN HIDDEN TESTS\n{hidden}\n### END HIDDEN TESTS"
    return _marked(f"test_{name}", text, grade=True, locked=True, points=points, cell_type="code")


def succeed(root: Path, *arguments: str) -> None:
    """Run nbgrader's own command, and let its last words be read where it fails."""
    run = nbgrader(root, *arguments)
    assert run.returncode == 0, run.stderr[-3000:]


def written_question() -> NotebookNode:
    """A question that a person marks."""
    cell = nbformat.v4.new_markdown_cell("Why?", id="why")
    return marked(cell, "why", grade=True, solution=True, points=3, cell_type="markdown")


def make_course(root: Path, config: str | None = None, lesson: NotebookNode | None = None) -> Course:
    """The tiny course in a folder of its own, its lesson entered into a gradebook."""
    if config is None and lesson is None:
        shutil.copytree(_plain_course(), root, dirs_exist_ok=True)
    else:
        _make(root, CONFIG if config is None else config, source() if lesson is None else lesson)
    return open_course(root)


@cache
def _plain_course() -> Path:
    """The course as most tests want it, made once by each process that asks: no one may change it."""
    folder = Path(mkdtemp(prefix="tiny-course-"))
    atexit.register(shutil.rmtree, folder)
    _make(folder, CONFIG, source())
    return folder


def _make(root: Path, config: str, lesson: NotebookNode) -> None:
    (root / "source" / FOLDER).mkdir(parents=True)
    (root / "source" / FOLDER / "tiny.ipynb").write_text(nbformat.writes(lesson))
    (root / "checks").mkdir()
    (root / "checks" / "tiny.py").write_text(CHECKS)
    (root / "nbgrader_config.py").write_text(config)
    (root / "solutions" / FOLDER).mkdir(parents=True)
    nbformat.write(solved(lesson, read_config(root)), root / "solutions" / FOLDER / "tiny.ipynb")
    succeed(root, "generate_assignment", FOLDER)


def release() -> NotebookNode:
    """The lesson as students get it."""
    return copy.deepcopy(_forms()[0])


@cache
def _forms() -> tuple[NotebookNode, dict[str, str]]:
    """The release, and every cell's text in the solution."""
    config = settings()
    return released(source(), config), {cell.id: cell.source for cell in solved(source(), config).cells}


@cache
def settings() -> Config:
    """Return the course's configuration, as nbgrader reads it."""
    with TemporaryDirectory() as folder:
        Path(folder, "nbgrader_config.py").write_text(CONFIG)
        return read_config(Path(folder))


def answered(**answers: str) -> NotebookNode:
    """The release with right answers in it, or the given ones in their place."""
    _, right = _forms()
    notebook = release()
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = answers.get(cell.id, right[cell.id].replace("  # okapi", ""))
    return notebook


def read_work(
    folder: Path,
    answers: Collection[str] = tuple(FULL),
    contents: Mapping[str, Collection[str]] | None = None,
) -> Submission:
    """Return what the grader reads of the folder of a submission."""
    released = {name: cell_of(release(), name) for name in answers}
    return read_submission(read_handed_in(Folder(folder), ["tiny.ipynb"]), "tiny.ipynb", released, contents)


def without(notebook: NotebookNode, *cell_ids: str) -> NotebookNode:
    notebook.cells = [cell for cell in notebook.cells if cell.id not in cell_ids]
    return notebook


def without_ids(notebook: NotebookNode) -> NotebookNode:
    """The notebook in format 4.2, which most public courses have and whose cells have no ids."""
    notebook.nbformat_minor = 2
    for cell in notebook.cells:
        del cell["id"]
    return notebook


def after(notebook: NotebookNode, cell_id: str, *cells: NotebookNode | str) -> NotebookNode:
    """Put cells behind another one (text becomes a code cell); "" is the start."""
    position = [cell.id for cell in notebook.cells].index(cell_id) + 1 if cell_id else 0
    new_cells = [nbformat.v4.new_code_cell(cell) if isinstance(cell, str) else cell for cell in cells]
    notebook.cells[position:position] = new_cells
    return notebook


def hand_in(root: Path, student: str, work: NotebookNode | bytes | None, name: str = "tiny.ipynb") -> Path:
    """Put a notebook, or whatever bytes stand for one, into a student's folder; returns the folder."""
    folder = root / "submitted" / student / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    if work is not None:
        (folder / name).write_bytes(work if isinstance(work, bytes) else json.dumps(work).encode())
    return folder


class GradedClass:
    """The results of nbgrader's command on a class: its gradebook, its autograded notebooks."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def notebook(self, student: str) -> NotebookNode:
        return nbformat.read(self.root / "autograded" / student / FOLDER / "tiny.ipynb", as_version=4)

    def points(self, student: str) -> dict[str, float]:
        """Points by exercise, from the database."""
        with Gradebook(f"sqlite:///{self.root / 'gradebook.db'}") as gradebook:
            grades = gradebook.find_submission_notebook(NAME, FOLDER, student).grades
            return {grade.name.removeprefix("test_"): grade.auto_score for grade in grades}

    def verdict(self, student: str, exercise: str) -> dict[str, Any]:
        """Return what the judge recorded in the graded cell."""
        (cell,) = [
            cell
            for cell in self.notebook(student).cells
            if cell.metadata.get("nbgrader", {}).get("grade_id") == f"test_{exercise}"
        ]
        return cell.metadata["nbjudge"]["verdict"]

    def reason(self, student: str, exercise: str) -> str:
        return " ".join(finding["sentence"] for finding in self.verdict(student, exercise)["findings"])

    def printed(self, student: str, cell_id: str) -> str:
        outputs = cell_of(self.notebook(student), cell_id).outputs
        return "".join(output.get("text", "") for output in outputs)
