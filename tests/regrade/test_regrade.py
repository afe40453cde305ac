"""A verdict changed by an instructor: for all who gave that answer, for good, with its reason."""

from __future__ import annotations

import io
import json
import re
from functools import cache

import pytest
from nbgrader.api import Gradebook
from nbgrader_command import run_program
from rich.console import Console
from tiny_course import (
    FOLDER,
    NAME,
    ROOT,
    GradedClass,
    after,
    answered,
    hand_in,
    make_course,
    source,
    succeed,
    without_ids,
)
from tiny_course import JUDGED as JUDGED_CELLS
from typer.testing import CliRunner

from nbjudge.batch.grade_command import Options, grade_class
from nbjudge.batch.regrade import regrade, withdraw
from nbjudge.course.assignment_forms import grading_template
from nbjudge.course.configuration import read_config
from nbjudge.course.course import open_course
from nbjudge.course.folders import CourseFolders, read_folders
from nbjudge.csv_files import CsvFormat
from nbjudge.errors import CourseError
from nbjudge.judge.verdict import GroupVerdict, Verdict
from nbjudge.overrides.decisions import Decision, decision_for, read_decisions
from nbjudge.overrides.same_answer import answers_of
from nbjudge.report import write_report
from nbjudge.submission.merge import merge_submission
from nbjudge.submission.read_submission import SubmittedCell

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]  # the first test grades everything

HALF = "def double(x):\n    return x * 1"
THE_SAME = "def double(x):  # mine\n\n    return (x   *   1)"
ANOTHER = "def double(x):\n    return x - 0"
ANSWERS = {
    "ada": HALF,
    "Zoë O'Brien": THE_SAME,
    "ben": "def double(x):\n    return x + 0",
    "eve": "def double(x):\n    return x + x",
}
JUDGED = {"ada": 0, "Zoë O'Brien": 0, "ben": 0, "eve": 2}
REASON = "The statement could be read as `x` itself."


def doubles(root):
    return {student: GradedClass(root).points(student)["double"] for student in JUDGED}


def said_by(done):
    return " ".join(done.stdout.split())


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Two students with one wrong answer, one with another, one with a right one; no cell has an id."""
    root = tmp_path_factory.mktemp("regraded")
    make_course(root, lesson=without_ids(source()))
    for student, text in ANSWERS.items():
        hand_in(root, student, without_ids(answered(double=text)))
    succeed(root, "autograde", FOLDER)
    assert doubles(root) == JUDGED
    return root


@pytest.fixture
def decide(graded):
    """Decide in this process, for the class; without points, take back what was decided."""

    def run(student, points):
        course, console = open_course(graded), Console(quiet=True)
        if points is None:
            return withdraw(course, "double", student, console)
        return regrade(course, "double", student, points, REASON, console)

    return run


def who_made_the_mistake(root, monkeypatch):
    monkeypatch.chdir(root)
    write_report(read_folders(root), FOLDER, root / "out", False, Console(quiet=True), (), CsvFormat())
    tables = json.loads((root / "out" / "report.json").read_text())["tables"]
    return [row["students"] for row in tables["mistakes"] if row["exercise"] == "double"]


def test_every_student_who_gave_that_answer_is_regraded_until_the_decision_is_taken_back(
    graded, decide, monkeypatch
):
    done = run_program(graded, "nbjudge", "regrade", "double", "ada", "--points", "1.5", "--reason", REASON)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "double: this answer gets 1.5 of 2. Given by 2: Zoë O'Brien, ada." in said_by(done)
    regraded = {"ada": 1.5, "Zoë O'Brien": 1.5, "ben": 0, "eve": 2}
    assert doubles(graded) == regraded
    verdict = GradedClass(graded).verdict("ada", "double")
    assert verdict["regrade"]["reason"] == REASON and verdict["points"] == 1.5
    assert who_made_the_mistake(graded, monkeypatch) == [3]

    # The students read the reason, and the judge's own words stay.
    succeed(graded, "generate_feedback", FOLDER)
    for student, told in (("ada", True), ("Zoë O'Brien", True), ("ben", False)):
        page = (graded / "feedback" / student / FOLDER / f"{NAME}.html").read_text()
        assert ("Your instructor changed this verdict: The statement could be read as" in page) == told
        assert ("By the groups alone it would be 0 of 2 points" in page) == told
        assert "Not one quagga was doubled" in page

    # It holds at the next grading; another answer of the same student's is judged as anybody's.
    hand_in(graded, "ada", without_ids(answered(double=ANOTHER)))
    succeed(graded, "autograde", FOLDER, "--force")
    assert doubles(graded) == regraded | {"ada": 0}

    # Anyone who gets all points by it made no mistake in the report.
    assert decide("Zoë O'Brien", 2) == 0
    assert doubles(graded) == JUDGED | {"Zoë O'Brien": 2}
    assert who_made_the_mistake(graded, monkeypatch) == [2]
    assert decide("Zoë O'Brien", None) == 0
    assert doubles(graded) == JUDGED
    assert not (graded / "regrades" / f"{FOLDER}.json").exists()
    with pytest.raises(CourseError, match="Nothing was decided"):
        decide("Zoë O'Brien", None)


def test_a_grade_given_by_hand_is_above_it(graded, decide):
    with Gradebook(f"sqlite:///{graded / 'gradebook.db'}") as gradebook:
        grade = gradebook.find_grade("test_double", NAME, FOLDER, "ben")
        grade.manual_score = 0.5
        gradebook.db.commit()
    assert decide("ben", 2) == 0
    with Gradebook(f"sqlite:///{graded / 'gradebook.db'}") as gradebook:
        grade = gradebook.find_grade("test_double", NAME, FOLDER, "ben")
        assert (grade.auto_score, grade.manual_score, grade.score) == (2, 0.5, 0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("treble", "ada", None, REASON), "has an exercise called 'treble'"),
        (("double", "zoe", None, REASON), "no graded answer of zoe to double"),
        (("double", "../ada", None, REASON), "no graded answer of ../ada to double"),
        (("double", "ada", None, ""), "Say why, with --reason"),
        (("double", "ada", None, "  "), "Say why, with --reason"),
        (("double", "ada", 3, REASON), "worth 0 to 2 points, not 3"),
        (("double", "ada", float("nan"), REASON), "worth 0 to 2 points, not nan"),
    ],
)
def test_what_cannot_be_decided_is_said_and_nothing_is_written(graded, arguments, message):
    before = {path: path.read_bytes() for path in (graded / "regrades").glob("*")}
    with pytest.raises(CourseError, match=re.escape(message)):
        regrade(open_course(graded), *arguments, Console(quiet=True))
    assert {path: path.read_bytes() for path in (graded / "regrades").glob("*")} == before


@pytest.mark.parametrize("text", ["{", "[{}]", '[{"exercise": 1}]', "[[1]]", "3"])
def test_a_broken_file_of_decisions_is_said_with_its_place(tmp_path, text):
    (tmp_path / "regrades").mkdir()
    file = tmp_path / "regrades" / f"{FOLDER}.json"
    file.write_text(text)
    with pytest.raises(CourseError, match=f"The regrades in {re.escape(str(file))} cannot be read"):
        read_decisions(CourseFolders(tmp_path), FOLDER)


def test_a_broken_file_of_decisions_stops_the_grading_and_what_was_graded_is_kept(graded):
    file = graded / "regrades" / f"{FOLDER}.json"
    backup = file.read_bytes() if file.exists() else None
    file.parent.mkdir(exist_ok=True)
    file.write_text("{")
    try:
        console = Console(file=io.StringIO(), width=500)
        assert grade_class(read_folders(graded), FOLDER, Options("eve", force=True), console) == 1
        assert f"The regrades in {file} cannot be read" in console.file.getvalue()
    finally:
        file.unlink() if backup is None else file.write_bytes(backup)
    assert doubles(graded)["eve"] == 2


CALLING = "def double(x):\n    return helper(x)"
TWICE, ONCE = "def helper(x):\n    return 2 * x", "def helper(x):\n    return x"


@cache
def form(ids: bool):
    return grading_template(source() if ids else without_ids(source()), read_config(ROOT), JUDGED_CELLS)


def answer(
    *own: str,
    to: str = CALLING,
    files: dict[str, bytes] | None = None,
    exercise: str = "row_sums",
    ids: bool = True,
):
    """Which answer it is where `own` cells are before the first exercise."""
    work = after(answered(**{exercise: to}), "setup", *own)
    merged = merge_submission(form(ids), submitted(work if ids else without_ids(work)))
    return answers_of(merged.cells, files or {})[exercise]


def submitted(work) -> list[SubmittedCell]:
    return [
        SubmittedCell(
            cell.cell_type, cell.source, cell.metadata.get("nbgrader", {}).get("grade_id"), cell.get("id")
        )
        for cell in work.cells
    ]


def test_helpers_of_their_own_are_part_of_an_answer_wherever_they_are():
    assert answer(TWICE) == answer("def helper(x):\n    return (2*x)  # two\n")
    assert answer(TWICE) == answer(TWICE, to=f"# mine\n{CALLING}")
    assert len({answer(TWICE), answer(ONCE), answer(), answer(TWICE, to=CALLING + " * 1")}) == 4
    assert answer(f"two = 2\n{TWICE.replace('2', 'two')}") != answer(f"two = 3\n{TWICE.replace('2', 'two')}")
    assert answer(TWICE, files={"more.py": b"1"}) != answer(TWICE, files={"more.py": b"2"})


@pytest.mark.parametrize("ids", [True, False])
def test_an_answer_whose_helper_is_another_is_another_answer(ids):
    summed, same = (
        "def mine(x):\n    return x.sum(dim=0)",
        "def mine( x ):  # rows\n    return x.sum(dim = 0)",
    )
    others = ["def mine(x):\n    return x", "def mean(x):\n    return x.sum(dim=0)"]
    calling = "def row_sums(x):\n    return mine(x)"
    assert answer(summed, to=calling, ids=ids) == answer(same, to=calling, ids=ids)
    assert len({answer(each, to=calling, ids=ids) for each in (summed, *others)}) == 3


@pytest.mark.parametrize(
    "unrelated",
    [
        "def other(x):\n    return torch.sum(3 * x)",
        "class Other(torch.nn.Module):\n    size = 3\n\n    def forward(self, x):\n        return x.sum()",
        "print(3, torch.pi)",
        "import math",
        "import torch.nn as nn",  # a package that the course has imported
        "x = 3",
        "x, y = [torch.pi, -1], lambda x: x.sum()",
        "# nothing but a comment",
        "'A text.'",
    ],
)
def test_what_an_answer_does_not_reach_makes_no_difference(unrelated):
    assert answer(TWICE, unrelated) == answer(TWICE)


@pytest.mark.parametrize(
    "reaching",
    [
        ONCE,  # a second definition
        "helper = lambda x: x",
        "import torch as t\nt.helper = 1\nhelper.__code__ = None",
        "globals()['helper'] = abs",
        "exec('helper = abs')",
        "from mine import *",
        "from mine import helper",
        "%run mine.py",
        "%%writefile mine.py\ndef helper(x): pass",
        "open('mine.py', 'w').write('')",
        "import os as o\no.system('touch mine.py')",
        "def change():\n    global helper\n    helper = abs",
        "def helper(x:",
        "for helper in (abs,):\n    pass",
        "with open_it() as helper:\n    pass",
        # What binds no name that the answer reaches, and may change what it does all the same.
        "torch.set_default_dtype(torch.float64)",
        "torch.nn.modules.module.register_module_forward_hook(print)",
        "torch.Tensor.__mul__ = lambda a, b: a",
        "torch.backends.table['x'] = 3",
        "from unittest import mock\nmock.patch.object(torch.Tensor, 'max', print).start()",
        "L = torch.library.Library('aten', 'IMPL')",
        "import warnings\nwarnings.simplefilter('error')",
        "x = torch.manual_seed(0)",
        "x = 3\nx += 1",
        "del torch",
        "print(torch.ones(3))",
        "print(3, file=torch)",
        "print = 3",
        "reset -f",  # IPython's
        "pylab",
        "@torch.compile\ndef other(x):\n    return x",
        "def other(x=torch.ones(3)):\n    return x",
        "class Other(metaclass=torch.Kind):\n    pass",
        "class Other:\n    torch.manual_seed(0)",
        "import a_package_of_theirs",
        "from __future__ import annotations",
        "for x in [3]:\n    pass",
        "if torch.pi:\n    pass",
        "x = In[-1]",
        "x = _i3",
        "x = _",
        "x = (y := 3)",
    ],
)
def test_in_doubt_two_answers_are_not_the_same(reaching):
    assert answer(TWICE, reaching) != answer(TWICE)


def test_a_call_of_what_changes_a_name_is_part_of_the_answer():
    change = "def change():\n    global helper\n    helper = abs"
    assert answer(TWICE, change, "change()") != answer(TWICE, change)
    assert answer(TWICE, "def double_it(x):\n    return helper(x)") == answer(TWICE)
    table = "table = [2]\ndef helper(x):\n    return table[0] * x"
    assert answer(table, "table.insert(0, 1)") != answer(table)
    module = "import torch as t\nt.sum = None"
    assert answer(module, to="def row_sums(x):\n    return torch.sum(x)") != answer(
        to="def row_sums(x):\n    return torch.sum(x)"
    )


def test_the_order_of_what_counts_is_part_of_the_answer():
    run, plain = "%run mine.py", "def helper(x):\n    return 2 * x"
    assert answer(f"{run}\n{plain}") != answer(f"{plain}\n{run}")
    assert answer(f"k = nothing\n{plain}") != answer(plain)  # whose cell may stop before `helper`
    assert answer(f"{plain}\nk = nothing") == answer(plain)
    reading = "def row_sums(x):\n    return len(In[-2])"
    assert answer("# 3", to=reading) != answer("# 4", to=reading)
    assert answer("# 3") == answer("# 4")


def test_what_an_imported_file_of_theirs_does_is_part_of_the_answer():
    files = {"math.py": b"1"}
    assert answer(TWICE, "import math", files=files) != answer(TWICE, files=files)
    assert answer(TWICE, "import random", files=files) == answer(TWICE, files=files)


def test_a_class_whose_methods_run_without_a_call_is_seen():
    base = "class Base:\n    def __init_subclass__(cls):\n        torch.manual_seed(0)"
    assert answer(base, "class Other(Base):\n    pass") != answer(base)


def test_the_courses_own_cells_lead_to_a_students_code():
    lesson = after(source(), "test_double", "def given(x):\n    return double(x)")
    form = grading_template(lesson, read_config(ROOT), JUDGED_CELLS)

    def with_double(text: str) -> str:
        work = answered(double=text, row_sums="def row_sums(x):\n    return given(x)")
        return answers_of(merge_submission(form, submitted(work)).cells, {})["row_sums"]

    assert with_double("def double(x):\n    return x") != with_double("def double(x):\n    return 2 * x")


def test_a_decision_is_for_equal_verdicts_and_for_its_own_student_whatever_the_verdict():
    def verdict(*agrees: bool) -> Verdict:
        groups = (GroupVerdict(f"group {number}", 1, each) for number, each in enumerate(agrees))
        return Verdict("double", 0, tuple(groups))

    decided = Decision("double", "a", "ada", 2, "reason", "day", {"group 0": True, "group 1": False})
    for student, outcome, holds in (
        ("bob", verdict(True, False), True),
        ("bob", verdict(True, False, True), True),  # a group that is new since
        ("bob", verdict(True, True), False),
        ("bob", verdict(False, False), False),
        ("ada", verdict(False, False), True),
    ):
        assert (decision_for([decided], "a", student, outcome) is decided) == holds
        assert decision_for([decided], "b", student, outcome) is None


def test_the_course_has_the_command_too():
    from attention_lab.cli import app as course_app

    result = CliRunner().invoke(course_app, ["regrade", "--help"])
    assert result.exit_code == 0 and "--withdraw" in result.output
    assert (ROOT / "docs" / "instructors.md").read_text().count("attention-lab regrade")
