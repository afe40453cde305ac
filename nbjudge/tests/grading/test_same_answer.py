"""Which answers are one and the same, for a decision of an instructor's, and how much work that is."""

from __future__ import annotations

import sys

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from nbjudge.cell_metadata import Origin, mark_checked, mark_origin
from nbjudge.grading.regrades import LONGEST_PARSED, answers_of
from nbjudge.submission.merge import merge_submission
from nbjudge.submission.read_submission import SubmittedCell

TWICE, ONCE = "def helper(x):\n    return 2 * x", "def helper(x):\n    return x"
CALLING = "def f(x):\n    return helper(x)"


def cell(source, origin=Origin.STUDENT, judged=""):
    code = new_code_cell(source)
    mark_origin(code, origin)
    if judged:
        mark_checked(code, judged)
    return code


def notebook(earlier, *own, to=CALLING):
    """The answer `earlier` to a first exercise, then own cells, then the answer `to` to `f`."""
    judged = [cell("", Origin.COURSE, name) for name in ("first", "f")]
    return [cell(earlier), judged[0], *map(cell, own), cell(to), judged[1]]


def answer(*own, earlier="", to=CALLING, files=None):
    return answers_of(notebook(earlier, *own, to=to), files or {})["f"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (answer(TWICE), answer("def helper( x ):  # two\n\n    return (2*x)\n")),
        (answer(TWICE), answer(TWICE, to=f"# mine\n{CALLING}")),
        (answer(earlier="def first(x):\n    return x"), answer(earlier="def first(x):\n    return 2 * x")),
        (answer(earlier="class First:\n    def f2(self):\n        pass"), answer()),
        (answer(earlier="'A text.'"), answer()),
    ],
)
def test_what_makes_no_difference_to_an_answer(one, other):
    """Comments, spaces and earlier definitions that an answer does not name leave it the same."""
    assert one == other


@pytest.mark.parametrize(
    "other",
    [
        {"to": f"{CALLING} * 1"},
        {"earlier": ONCE},
        {"earlier": f"def first(x):\n    return 1\n{ONCE}"},
        {"earlier": "def first(x):\n    return 1\n@first\ndef other():\n    pass"},
        {"earlier": "def other(x=print(1)):\n    pass"},
        {"earlier": "class Other(print(1)):\n    pass"},
        {"earlier": "class Other(metaclass=M):\n    pass"},
        {"earlier": "class Other:\n    print(1)"},
        {"earlier": "import torch\ntorch.sum = None"},
        {"earlier": "import math"},
        {"earlier": "x = 3"},
        {"earlier": "%run mine.py"},
        {"earlier": "def helper(x:"},
        {"files": {"more.py": b"2"}},
        {"files": {"other.py": b"1"}},
    ],
)
def test_what_makes_it_another_answer(other):
    """Code that an answer names, earlier code that does anything, and files are part of it."""
    assert answer(**{"earlier": TWICE, "files": {"more.py": b"1"}} | other) != answer(
        earlier=TWICE, files={"more.py": b"1"}
    )


def test_a_name_in_a_text_leads_to_its_code():
    """A helper counts however the answer reaches it, as long as it writes its name."""
    for reached in ("__main__.helper(x)", "getattr(m, 'helper')(x)", "'{0.__globals__[helper]}'.format(m)"):
        to = f"def f(x):\n    return {reached}"
        assert answer(earlier=TWICE, to=to) != answer(earlier=ONCE, to=to)


def test_helpers_of_helpers_are_part_of_an_answer():
    """A definition counts through those that lead to it, in whatever order they are written."""
    chain = "def other(x):\n    return helper(x)"
    to = "def f(x):\n    return other(x)"
    for text in (f"{chain}\n{TWICE}", f"{TWICE}\n{chain}"):
        assert answer(earlier=text, to=to) != answer(earlier=text.replace("2", "3"), to=to)


def test_the_courses_own_cells_lead_to_a_students_code():
    """A function of the course's that calls an earlier answer makes that a part of the next one."""

    def with_helper(text):
        cells = notebook(text, to="def f(x):\n    return given(x)")
        return answers_of([cell("def given(x):\n    return helper(x)", Origin.COURSE), *cells], {})["f"]

    assert with_helper(TWICE) != with_helper(ONCE)


def test_the_place_of_code_is_part_of_an_answer():
    """The same statement before and after a cell of the course's makes two answers."""
    given, own = cell("a = 1", Origin.COURSE), cell("a = 2")
    rest = notebook("")
    assert answers_of([given, own, *rest], {})["f"] != answers_of([own, given, *rest], {})["f"]


def calls(function):
    """How many functions Python calls meanwhile."""
    count = 0

    def profile(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "text",
    [
        lambda number: [f"v{number} = v{number + 1}", "q = 1\n" * 3],
        lambda number: [f"def v{number}():\n    return v{number - 1}()"],
        lambda number: [f"def v{number}():\n    return v{number + 1}()"],
        lambda number: [f"class V:\n    def v{number}(self):\n        return f{'.a' * 200}"],
        lambda number: ["(" * number],
    ],
)
def test_the_work_grows_as_the_text_does(text):
    """Twice as many cells take twice as many steps, whatever leads to whatever."""

    def work(size):
        cells = [part for number in range(size) for part in text(number)]
        earlier = notebook("", to="v1")
        earlier[1:1] = map(cell, cells)
        return calls(lambda: answers_of(earlier, {})) + calls(lambda: answer(*cells, to="v1"))

    work(10)  # what is done once
    assert work(200) < 2.2 * work(100)


@pytest.mark.parametrize("kind", ["code", "markdown"])
@pytest.mark.parametrize("text", ["def f(x): pass", "as released", "{}", "`{}` \\\\[ $ \\a"])
def test_merging_grows_as_the_number_of_cells_does(kind, text):
    """What the coordinator does with a student's cells before they run is linear, too."""
    source = new_notebook(cells=[new_code_cell("as released") for _ in range(9)])
    source.cells[4].metadata["nbgrader"] = {"solution": True, "grade": False, "grade_id": "f"}

    def work(size):
        cells = [SubmittedCell(kind, text.format(number)) for number in range(size)]
        return calls(lambda: merge_submission(source, cells))

    work(10)
    assert work(200) < 2.2 * work(100)


def test_code_too_long_for_pythons_parser_counts():
    """Its text is compared as it is, and no parser sees it."""
    long = "x = 1\n" * LONGEST_PARSED
    assert calls(lambda: answer(earlier=long)) < 10_000
    assert answer(earlier=long) != answer(earlier=f"{long}# other")
