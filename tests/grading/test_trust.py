"""What a student's code may see, send and leave behind: nothing of it earns a point or stops the class."""

from __future__ import annotations

import json
import shutil
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import nbformat
import pytest
from nbformat import NotebookNode
from tiny_course import (
    FOLDER,
    FULL,
    NOTHING,
    GradedClass,
    after,
    answered,
    cell_of,
    hand_in,
    make_course,
    succeed,
)

from nbjudge.record.graded_cell import is_verdict

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
    ours = [name for name in sys.modules if name.startswith(("nbjudge", "checks", "tiny"))]
    raise RuntimeError(f"looked through {{len(texts) > 1000}}: {{seen}} {{ours}}")
"""

SHOUT = """
import sys, warnings
print("2"); print("2", file=sys.stderr); warnings.warn("2")
"""

# Wrong answers that put numbers wherever nbgrader might read points from.
FORGED = """
import builtins, IPython.display, sys
def double(x):
    get_ipython().displayhook(2)
    fake = {"text/plain": "2"}
    IPython.display.publish_display_data(fake, metadata={"nbjudge": {"points": 2, "max_points": 2}})
    session, socket = get_ipython().displayhook.session, get_ipython().displayhook.pub_socket
    content = {"data": fake, "metadata": {"nbjudge": {"points": 2}}, "execution_count": 1}
    session.send(socket, "execute_result", content, parent=get_ipython().displayhook.parent_header)
    print(2)
    return x
def row_sums(x):
    builtins.print = lambda *words, **options: get_ipython().displayhook(2)
    IPython.display.display = print
    return 2.0
"""

HTML = "<script>alert('haha')</script><img src=x onerror=\"alert('haha')\"><iframe src='http://x'></iframe>"
DRAWN = f"""
from IPython.display import HTML, Javascript, display
display(HTML({HTML!r}), Javascript("alert('haha')"))
print({HTML!r})
def double(x):
    display(HTML({HTML!r}))
    print({HTML!r})
    return 2 * x
def biggest(x):
    raise ValueError({HTML!r})
"""


def printer() -> NotebookNode:
    work = answered(double=FORGED, row_sums="pass", biggest="def biggest(x):\n    return 1")
    cell_of(work, "test_biggest").source = "print(1)\n1"
    return work


def drawing() -> NotebookNode:
    work = after(answered(double=DRAWN, biggest=""), "title", nbformat.v4.new_markdown_cell(HTML))
    link = nbformat.v4.new_markdown_cell("[a link](javascript:alert('haha'))")
    return after(work, "title", link, nbformat.v4.new_raw_cell(HTML))


def loud() -> NotebookNode:
    function = "def double(x):\n    print('2', file=sys.stderr)\n    warnings.warn('2')\n    return 2 * x"
    return answered(double=SHOUT + function)


CLASS = {
    "honest": answered,
    "twin": answered,
    "loud": loud,
    "printer": printer,
    "drawing": drawing,
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
    succeed(root, "generate_feedback", FOLDER, "--student=drawing")
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


def test_numbers_that_a_student_prints_displays_or_sends_are_not_points(trust_class):
    assert trust_class.points("printer") == NOTHING
    assert trust_class.verdict("printer", "double")["points"] == 0


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


def test_what_student_code_drew_is_gone_from_the_autograded_notebook(trust_class):
    assert trust_class.points("drawing") == FULL | {"biggest": 0}
    for cell in trust_class.notebook("drawing").cells:
        for output in cell.get("outputs", []):
            if is_verdict(cell, output):
                assert "<script" not in output.data["text/html"]
                assert "<img" not in output.data["text/html"]
            else:
                assert not {"text/html", "application/javascript", "image/svg+xml"} & set(
                    output.get("data", {})
                )


class Harm(HTMLParser):
    """Whatever in a page would run, or fetch something, because a student wrote it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.in_script = False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.in_script = tag == "script"
        for name, value in attributes:
            runs = name.startswith("on") or urlsplit(value or "").scheme in ("javascript", "data")
            fetches = name in ("src", "srcdoc")
            if (runs or fetches) and ("haha" in value or "//x" in value):
                self.found.append(f"{tag} {name}={value}")

    def handle_data(self, text):
        if self.in_script and "haha" in text:
            self.found.append(text)
        self.in_script = False


def test_html_and_scripts_of_a_student_do_not_run_in_the_feedback(trust_class):
    assert Harm(HTML).found  # the net has no hole
    page = (trust_class.root / "feedback" / "drawing" / FOLDER / "tiny.html").read_text()
    assert Harm(page).found == []
    assert "haha" in page  # it is there to read


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
