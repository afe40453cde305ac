"""What is told of an answer whose own cell fails, and of a solution that loses points in a kernel."""

import io
from pathlib import Path

import nbformat
import pytest
from marked_cells import code
from old_course import CLIP_TEST, make_clip_course
from rich.console import Console

from nbjudge.cell_metadata import Origin, mark_checked, mark_origin
from nbjudge.course.course import open_course
from nbjudge.grading.job import grade
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.sandbox import bubblewrap
from nbjudge.settings import Limits
from nbjudge.try_checks.command import try_all

RIGHT = "def clip(x):\n    return min(x, 1.0)"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    cells = [code(RIGHT, "answer", solution=True), code("clip(1.0)", "test_clip", **CLIP_TEST)]
    return open_course(make_clip_course(tmp_path_factory.mktemp("course"), cells))


CASES = {
    "right": (["1", RIGHT, "1"], 2, []),
    "a later line fails": (["1", f"{RIGHT}\n1 / 0", "1"], 2, []),
    "unfinished, and fails": (
        ["1", "def clip(x):\n    y = min(x, 1.0)\nprint(y)", "1"],
        0,
        ["returns nothing", "The cell with `clip` stops with NameError: name 'y' is not defined. Fix that"],
    ),
    "an older definition": (
        [RIGHT, f"{RIGHT} +", "1"],
        2,
        ["The cell with `clip` stops with SyntaxError: invalid syntax", "judged is from another cell"],
    ),
    "no definition": (["1", f"{RIGHT} +", "1"], 0, ["There is no `clip`: its cell stops with SyntaxError"]),
    "a result of the same name": (
        ["1", RIGHT, "clip = clip(2.0)"],
        0,
        ["`clip` is a number now: a line gives the function's name to a result. Take another name."],
    ),
    "a name like it": (
        ["1", RIGHT.replace("clip", "clipp"), "1"],
        0,
        ["There is no `clip`, and there is `clipp`: write the name as the exercise does."],
    ),
    "a magic": (
        ["1", f"%%timeit -n 1\n{RIGHT}", "1"],
        0,
        ["its cell begins with `%%timeit`, which keeps no"],
    ),
    "a magic that keeps names": (["1", f"%%time\n{RIGHT}", "1"], 2, []),
    "a debugger": (
        ["1", "def clip(x):\n    import pdb; pdb.set_trace()\n    return min(x, 1.0)", "1"],
        0,
        ["stops with BdbQuit at the line `return min(x, 1.0)`. A debugger cannot be used"],
    ),
}


@pytest.mark.integration
@pytest.mark.parametrize(("sources", "points", "sentences"), CASES.values(), ids=CASES)
def test_the_answers_cell_explains_the_verdict(course, tmp_path, sources, points, sentences):
    """The student's cells are one above the answer, the answer, and one below."""
    above, below = code(sources[0]), code(sources[2])
    answer = code(sources[1], "answer", solution=True)
    test = code("clip(1.0)", "test_clip", **CLIP_TEST)
    for cell in (above, below):
        mark_origin(cell, Origin.STUDENT)
    mark_checked(test, "clip")
    notebook = nbformat.v4.new_notebook(cells=[above, answer, below, test])
    environment = KernelEnvironment(limits=Limits(cell=240, answer=240, notebook=1200))
    (verdict,) = grade(notebook, course.assignments["clipping"], tmp_path, 0, environment)
    told = " ".join(finding.sentence for finding in verdict.findings)
    assert (verdict.points, bool(told)) == (points, bool(sentences)), told
    for sentence in sentences:
        assert sentence in told


ANSWER = "def clip(x):\n    ### BEGIN SOLUTION\n    return min(x, limit)\n    ### END SOLUTION"


def tried(root: Path, answer: str, later: str) -> tuple[int, str]:
    """The command's exit status and output, for a course whose given cell `later` is above the test."""
    cells = [code("limit = 3.0"), code(answer, "clip", solution=True), code(later)]
    cells += [code("clip(1.0)", "test_clip", **CLIP_TEST), code("1 / 0")]
    shown = io.StringIO()
    console = Console(file=shown, width=200)
    status = try_all(open_course(make_clip_course(root, cells)), "clip", "", 1, console, in_a_kernel=True)
    return status, shown.getvalue()


@pytest.mark.integration
@pytest.mark.parametrize(
    ("answer", "later", "status"),
    [
        (ANSWER, "limit = 0.25", 0),  # the reference and the kernel have the same limit
        (f"limit = 2.0\n{ANSWER}", "limit = 0.25", 1),  # the answer's own, and the course's
    ],
)
def test_the_solution_is_graded_in_a_kernel(tmp_path, answer, later, status):
    """A name that the answer and a given cell both set costs the solution points in a kernel only."""
    ended, shown = tried(tmp_path, answer, later)
    assert ended == status, shown
    assert ("The solution of `clip` gets 0 of 2 points in a student's kernel" in shown) == bool(status)


def test_without_a_sandbox_the_kernel_is_left_out(tmp_path, monkeypatch):
    """The command says so, and tries the rest."""
    monkeypatch.setattr(bubblewrap, "sandbox_refusal", lambda: "There is no bubblewrap.")
    ended, shown = tried(tmp_path, ANSWER, "pass")
    assert ended == 0
    assert "The solution was not run in a student's kernel: There is no bubblewrap." in shown
