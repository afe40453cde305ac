"""What is told of an answer whose own cell failed, keeps no names, or whose name is something else."""

from __future__ import annotations

import nbformat
import pytest
from old_course import CLIP_TEST, code, make_clip_course

from nbjudge.cell_metadata import Origin, mark_checked, mark_origin
from nbjudge.course.course import open_course
from nbjudge.grading.job import grade
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.settings import Limits

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
