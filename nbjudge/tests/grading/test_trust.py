"""What a student's code may see, send and leave behind: nothing of it earns a point or stops the class."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from nbformat import NotebookNode
from tiny_course import (
    FOLDER,
    FULL,
    GradedClass,
    answered,
    cell_of,
    hand_in,
    make_course,
    succeed,
)

pytestmark = pytest.mark.integration

# Words of the checks, the reference and the grader, by their character codes: found by code that holds none.
SECRETS = ["tapir", "quagga", "okapi", "HIDDEN TESTS", "refusals", "grading-key"]

# Looks through all that lives in the kernel, and reports by the one channel there is: its error message.
SNOOP = f"""
import gc, sys

def double(x):
    needles = ["".join(map(chr, codes)) for codes in {[list(map(ord, word)) for word in SECRETS]}]
    texts = [str(In), str(get_ipython().history_manager.input_hist_raw)]
    frame = sys._getframe()
    while frame is not None:
        held = [*frame.f_locals.values(), *frame.f_code.co_consts]
        texts += [value for value in held if type(value) is str]
        frame = frame.f_back
    for holder in gc.get_objects():
        held = holder.values() if type(holder) is dict else holder
        if type(holder) in (dict, list, tuple, set):
            texts += [value for value in list(held) if type(value) is str]
    seen = [word for word in needles if any(word in text and word != text for text in texts)]
    ours = [
        name for name in sys.modules
        if name.startswith(("nbjudge", "checks", "tiny"))
        and not name.startswith("nbjudge.tutor.learner") and name not in ("nbjudge", "nbjudge.tutor")
    ]
    raise RuntimeError(f"looked through {{len(texts) > 1000}}: {{seen}} {{ours}}")
"""

SHOUT = """
import sys, warnings
print("2"); print("2", file=sys.stderr); warnings.warn("2")
"""


def loud() -> NotebookNode:
    function = "def double(x):\n    print('2', file=sys.stderr)\n    warnings.warn('2')\n    return 2 * x"
    return answered(double=SHOUT + function)


CLASS = {
    "honest": answered,
    "twin": answered,
    "loud": loud,
    "snoop": lambda: answered(double=SNOOP),
}


@pytest.fixture(scope="session")
def trust_class(once) -> GradedClass:
    return GradedClass(once("trust_class", _grade_twice))


def _grade_twice(root: Path) -> None:
    make_course(root)
    for student, work in CLASS.items():
        hand_in(root, student, work())
    succeed(root, "autograde", FOLDER)
    succeed(root, "generate_feedback", FOLDER, "--student=honest")
    graded = GradedClass(root)
    first = {student: [graded.verdict(student, name) for name in FULL] for student in ("honest", "twin")}
    (root / "first.json").write_text(json.dumps(first))
    # The second time, one has changed a word of a comment, the other nothing.
    changed = answered()
    cell_of(changed, "double").source += "  # no change at all"
    hand_in(root, "twin", changed)
    for student in first:
        shutil.rmtree(root / "autograded" / student)
    succeed(root, "autograde", FOLDER)


@pytest.fixture
def regraded(trust_class) -> SimpleNamespace:
    """The verdicts of the first and of the second grading."""
    first = json.loads((trust_class.root / "first.json").read_text())
    return SimpleNamespace(
        first=first,
        second={student: [trust_class.verdict(student, name) for name in FULL] for student in first},
    )


def test_errors_streams_and_warnings_cost_nothing(trust_class):
    assert trust_class.points("loud") == FULL
    assert "2" in trust_class.printed("loud", "test_double")


def test_a_graded_cell_holds_one_result_and_it_is_the_verdict(trust_class):
    for student in CLASS:
        for exercise in FULL:
            outputs = cell_of(trust_class.notebook(student), f"test_{exercise}").outputs
            results = [output for output in outputs if output.output_type == "execute_result"]
            assert [result.data["text/plain"] for result in results] == [
                f"{trust_class.verdict(student, exercise)['points']:g}"
            ]
            assert not [output for output in outputs if output.output_type == "error"]
            assert not [output for output in outputs if output.get("name") == "stderr"]


def test_nothing_of_the_checks_or_the_reference_is_in_the_kernel(trust_class):
    assert "looked through True: [] []" in trust_class.reason("snoop", "double")


def test_neither_autograded_notebooks_nor_feedback_show_a_hidden_region(trust_class):
    pages = [*(trust_class.root / "feedback").rglob("*.html")]
    notebooks = [*(trust_class.root / "autograded").rglob("*.ipynb")]
    assert (len(pages), len(notebooks)) == (1, len(CLASS))
    for file in (*pages, *notebooks):
        for secret in ("HIDDEN TESTS", "check(", "okapi", "import check"):
            assert secret not in file.read_text(), f"{secret} in {file}"


def test_a_regrade_is_the_same_grade_on_the_same_inputs(regraded):
    assert regraded.second["honest"] == regraded.first["honest"]
    assert regraded.first["honest"][0]["seed"] > 0


def test_another_student_and_another_submission_get_other_inputs(regraded):
    assert regraded.first["twin"][0]["seed"] != regraded.first["honest"][0]["seed"]
    assert regraded.second["twin"][0]["seed"] != regraded.first["twin"][0]["seed"]


def test_the_key_of_the_seeds_is_the_courses_alone(trust_class):
    key = trust_class.root / ".grading-key"
    assert key.stat().st_mode & 0o077 == 0
    assert len(key.read_text()) >= 32
    assert not [file for file in (trust_class.root / "autograded").rglob("*") if file.name == key.name]
