"""Which answers are one and the same, for a decision of an instructor's, and how much work that is."""

import errno
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from nbjudge.cell_metadata import Origin, mark_checked, mark_origin
from nbjudge.course.folders import CourseFolders
from nbjudge.errors import CourseError
from nbjudge.grading import regrades
from nbjudge.grading.regrades import (
    LONGEST_PARSED,
    Decision,
    answers_of,
    decision_for,
    read_decisions,
    write_decisions,
)
from nbjudge.judge.verdict import GroupVerdict, Verdict
from nbjudge.submission.merge import merge_submission
from nbjudge.submission.read_submission import SubmittedCell

TWICE, ONCE = "def helper(x):\n    return 2 * x", "def helper(x):\n    return x"
CALLING = "def f(x):\n    return helper(x)"
LONG = "x = 1\n" * LONGEST_PARSED


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


BASE = {"earlier": TWICE, "files": {"more.py": b"1"}}
CHAIN = "def other(x):\n    return helper(x)"
CHANGES = [
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
]


def reached(expression, earlier=TWICE, changed=ONCE):
    """Two answers that reach one and another earlier text by this expression."""
    to = f"def f(x):\n    return {expression}"
    return answer(earlier=earlier, to=to), answer(earlier=changed, to=to)


def through_the_course(earlier):
    """An answer that calls a function of the course's, which calls an earlier answer."""
    given = cell("def given(x):\n    return helper(x)", Origin.COURSE)
    return answers_of([given, *notebook(earlier, to="def f(x):\n    return given(x)")], {})["f"]


def in_order(*cells):
    return answers_of([*cells, *notebook("")], {})["f"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *((answer(**BASE), answer(**BASE | change)) for change in CHANGES),
        # A helper counts however the answer reaches it, as long as it writes its name.
        reached("__main__.helper(x)"),
        reached("getattr(m, 'helper')(x)"),
        reached("'{0.__globals__[helper]}'.format(m)"),
        # A definition counts through those that lead to it, in whatever order they are written.
        reached("other(x)", f"{CHAIN}\n{TWICE}", f"{CHAIN}\n{ONCE}"),
        reached("other(x)", f"{TWICE}\n{CHAIN}", f"{ONCE}\n{CHAIN}"),
        (through_the_course(TWICE), through_the_course(ONCE)),
        # The same statement before and after a cell of the course's makes two answers.
        (
            in_order(cell("a = 1", Origin.COURSE), cell("a = 2")),
            in_order(cell("a = 2"), cell("a = 1", Origin.COURSE)),
        ),
        # Text too long for Python's parser is compared as it is.
        (answer(earlier=LONG), answer(earlier=f"{LONG}# other")),
    ],
)
def test_what_makes_it_another_answer(one, other):
    """Code that an answer names, earlier code that does anything, and files are part of it."""
    assert one != other


def calls(function):
    """Return how many functions Python calls meanwhile."""
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
        regrades._read.cache_clear()  # so many cells as in the smaller notebook are kept
        alone = calls(lambda: answers_of(earlier, {}))
        regrades._read.cache_clear()
        return alone + calls(lambda: answer(*cells, to="v1"))

    work(10)  # what is done once
    assert work(200) < 2.2 * work(100)
    assert calls(lambda: answer(earlier=LONG)) < 10_000  # which no parser sees


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


# ---- decisions of an instructor's ----------------------------------------------------------------

DECISION = Decision(
    "double", "2:0a", "ada", 1.5, "rounding", "2026-11-26", {"group 0": True, "group 1": False}
)


def verdict(*agrees: bool) -> Verdict:
    groups = (GroupVerdict(f"group {number}", 1, each) for number, each in enumerate(agrees))
    return Verdict("double", 0, tuple(groups))


@pytest.mark.parametrize(
    ("student", "answer", "outcome", "holds"),
    [
        ("bob", "2:0a", verdict(True, False), True),
        ("bob", "2:0a", verdict(True, False, True), True),  # a group that is new since
        ("bob", "2:0a", verdict(True, True), False),
        ("bob", "2:0a", verdict(False, False), False),
        ("bob", "another", verdict(True, False), False),
        ("ada", "2:0a", verdict(False, False), True),  # for its own student it holds whatever the verdict is
        # Two pieces of work that could not be run are not one answer.
        ("bob", "", verdict(True, False), False),
        ("ada", "", verdict(True, False), True),
    ],
)
def test_a_decision_is_for_equal_answers_and_verdicts(student, answer, outcome, holds):
    decided = replace(DECISION, answer=answer and DECISION.answer)
    assert (decision_for([decided], answer, student, outcome) is decided) == holds


def test_decisions_stay_where_the_disk_is_full(tmp_path, monkeypatch):
    folders = CourseFolders(tmp_path)
    write_decisions(folders, "ps1", [DECISION])

    def full_disk(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(CourseError, match="No space left on device.*nothing was changed"):
        write_decisions(folders, "ps1", [DECISION, DECISION])
    assert read_decisions(folders, "ps1") == [DECISION]
    assert [file.name for file in (tmp_path / "regrades").iterdir()] == ["ps1.json"]
