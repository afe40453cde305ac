"""Given cells and tests use names that students use, too: an answer is called with the student's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from nbjudge.authoring import case
from nbjudge.calls import Answer, calls_for
from nbjudge.cell_metadata import Origin, mark_origin
from nbjudge.kernel.client import KernelClient, open_kernel
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.settings import Limits

pytestmark = pytest.mark.integration
PATIENT = Limits(cell=240, answer=240, notebook=1200)
DIE = "import os\nos._exit(1)"


def given(source: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_code_cell(source)


def written(source: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_code_cell(source, metadata={"nbgrader": {"solution": True}})


def answer_of(kernel: KernelClient, *cells: nbformat.NotebookNode) -> Answer:
    for cell in cells:
        kernel.run_cell(cell)
    (answer,) = kernel.call("total", calls_for([case(3)], [None]), {}).answers
    return answer


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[KernelClient]:
    with open_kernel(tmp_path, KernelEnvironment(limits=PATIENT)) as kernel:
        yield kernel


HELPED = "def weights(n):\n    return n + 1\ndef total(n):\n    return 2 * weights(n)"
CLIPPED = "def total(n):\n    return min(n, limit)"
USED = {
    "its helper's name": ((written(HELPED), given("weights = [0.5, 0.5]")), 8),
    "a removed helper": ((written(HELPED), given("del weights")), 8),
    "its own name": ((written(HELPED), given("total = 0")), 8),
    "its helper's name after an error": ((written(HELPED + "\n1 / 0"), given("weights = 0")), 8),
    "its helper's name before a new kernel": ((written(HELPED), given("weights = 0"), written(DIE)), 8),
    "a name that only given cells have": (
        (written("def total(n):\n    return n + later"), given("later = 4")),
        7,
    ),
    "a name that the student uses again": (
        (written(HELPED), given("weights = [0.5]"), written("def weights(n):\n    return n")),
        6,
    ),
    # A given cell that sets its own name again takes effect; one that sets a student's does not.
    "its own again": ((given("limit = 1.0"), written(CLIPPED), given("limit = 2.0")), 2),
    "its own again, and fails": ((given("limit = 1.0"), written(CLIPPED), given("limit = 2.0\n1 / 0")), 2),
    "its own after a failure": ((given("limit = 1.0\n1 / 0"), written(CLIPPED), given("limit = 2.0")), 2),
    "a student's first": ((written("limit = 1.0"), given("limit = 2.0"), written(CLIPPED)), 2),
    "builtin names": ((written("limit = dict = set = 2.0\n" + CLIPPED), given("limit = 1.0")), 2),
    "a student's later": (
        (given("limit = 1.0"), written("limit = 2.0"), written(CLIPPED), given("limit = 1.0")),
        2,
    ),
}


@pytest.mark.parametrize(("cells", "value"), USED.values(), ids=USED)
def test_an_answer_finds_the_names_of_its_student(kernel, cells, value):
    assert answer_of(kernel, *cells).value == value


def test_given_cells_find_their_names_after_a_call(kernel):
    """Given cells find their own names after an answer was asked."""
    answer_of(kernel, written(HELPED), given("weights = [0.5, 0.5]; new = 7"))
    shown = given("print(weights, new)")
    kernel.run_cell(shown)
    assert shown.outputs[0].text == "[0.5, 0.5] 7\n"


@pytest.mark.parametrize(("origin", "status"), [(Origin.STUDENT, "value"), (Origin.COURSE, "raised")])
def test_without_cell_ids_the_merge_says_whose_it_is(kernel, origin, status):
    """Without cell ids a helper is the students if the merge says so."""
    total = written("def total(n):\n    return 2 * weights(n)")
    helper, taken = given("def weights(n):\n    return n + 1"), given("weights = [0.5, 0.5]")
    mark_origin(helper, origin)
    mark_origin(taken, Origin.COURSE)
    for cell in (total, helper, taken):
        del cell["id"]
    answer = answer_of(kernel, total, helper, taken)
    assert answer.status == status
