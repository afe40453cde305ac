"""A class that hands in everything that can be handed in wrong, graded by nbgrader's own command.

Nothing honest is lost; what cannot be graded is 0, with one sentence that says why; the class goes on.
What a student's code may see, send and leave behind earns no point.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from nbformat import NotebookNode, v3
from nbformat.v4 import new_output
from nbgrader.api import Gradebook
from tiny_course import (
    CONFIG,
    FOLDER,
    FULL,
    GradedClass,
    after,
    answered,
    cell_of,
    hand_in,
    make_course,
    nbgrader,
    release,
    succeed,
)

from nbjudge.batch.changed_submissions import make_plan
from nbjudge.course.folders import CourseFolders
from nbjudge.record.graded_cell import Status
from nbjudge.record.graded_notebook import GradedNotebook, read_graded

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

LIMITS = "\nc.RunAndJudge.cell_seconds = 12\nc.RunAndJudge.answer_seconds = 12\n"
HELPER = 'Zoë O\'Neil, "Zed" Jr.'
HELPER_FILE = """
def table_only(x):
    if x.dim() != 2:
        raise ValueError(f"not a table: {tuple(x.shape)}")
    return x
"""


def helped() -> NotebookNode:
    """Helpers of one's own, in a cell and in a file, and all that JupyterLab leaves in a notebook."""
    work = answered(
        double="def double(x):\n    return twice(x)",
        row_sums="from my_helper import table_only\ndef row_sums(x):\n    return table_only(x).sum(-1)",
    )
    after(work, "setup", "def twice(x):\n    return x + x")
    work.metadata.kernelspec = {"name": "my-conda-env", "display_name": "mine", "language": "python"}
    work.metadata.widgets = {"application/vnd.jupyter.widget-state+json": {"state": {}, "version_major": 2}}
    test = cell_of(work, "test_double")
    test.outputs = [new_output("error", ename="Old", evalue="from long ago", traceback=["Old"])]
    test.metadata.tags = ["skip-execution", "raises-exception"]
    cell_of(work, "double").metadata.tags = ["skip-execution"]
    return work


def old_format() -> bytes:
    cells = [v3.new_code_cell(input=cell.source) for cell in answered().cells if cell.cell_type == "code"]
    return json.dumps(v3.new_notebook(worksheets=[v3.new_worksheet(cells=cells)])).encode()


def strange_characters() -> bytes:
    work = answered(double="# \ud800 \x1b[31m\ndef double(x):\n    return 2 * x")
    return json.dumps(after(work, "double", "print(chr(0xD800), chr(0), 'é')", "\x00")).encode()


LOUD = """
import sys, warnings
print("2"); print("2", file=sys.stderr); warnings.warn("2")
def double(x):
    print("2", file=sys.stderr)
    warnings.warn("2")
    return 2 * x
"""

FULL_MARKS = {
    "honest": answered(),
    "twin": answered(),
    "loud": answered(double=LOUD),
    HELPER: helped(),
    "old format": old_format(),
    "strange characters": strange_characters(),
    "copy (1)": answered(),
    "text file": None,
    "in another folder": None,
    "beside a blank one": release(),
    "beside a clash": answered(),
    "linked": answered(),
    "changed later": release(),
}
PART = {
    "broken": answered(
        double="def double(x)\n    return 2 * x", row_sums="def row_sums(x):\n    return x.rows"
    ),
    "hanging": answered(
        double="while True:\n    pass", row_sums="import os\ndef row_sums(x):\n    os._exit(1)"
    ),
}
# What cannot be graded; `faults/test_hostile_folders.py` has more of it.
UNGRADABLE = {"not json": b"print('hello')"}


@pytest.fixture(scope="session")
def bad_class(once) -> GradedClass:
    return GradedClass(once("bad_class", _hand_in_and_grade))


def _hand_in_and_grade(root: Path) -> None:
    make_course(root, CONFIG + LIMITS)
    (root / "source" / FOLDER / "data").mkdir()
    (root / "source" / FOLDER / "data" / "x.csv").write_text("1,2")
    submitted = root / "submitted"
    # At first no one has a notebook at the top of the folder.
    inner = hand_in(root, "in another folder", None) / FOLDER
    inner.mkdir()
    (inner / "tiny.ipynb").write_text(json.dumps(answered()))
    (hand_in(root, "text file", None) / "tiny.ipynb.txt").write_text(json.dumps(answered()))
    # In a process of its own, which has imported nothing of the grader before nbgrader does.
    command = [sys.executable, "-m", "nbgrader", "autograde", FOLDER]
    first = subprocess.run(command, cwd=root, capture_output=True, text=True)

    for student, work in (FULL_MARKS | PART | UNGRADABLE).items():
        hand_in(root, student, work, "tiny (1).ipynb" if student == "copy (1)" else "tiny.ipynb")
    (submitted / HELPER / FOLDER / "my_helper.py").write_text(HELPER_FILE)
    (submitted / "beside a clash" / FOLDER / "data").write_text("mine")
    hand_in(root, "beside a blank one", answered(), "tiny-Copy1.ipynb")
    (submitted / "linked" / FOLDER / "dangling.py").symlink_to("nowhere.py")
    (submitted / "linked" / FOLDER / "peek.txt").symlink_to(root / "checks" / "tiny.py")
    run = nbgrader(root, "autograde", FOLDER)
    succeed(root, "generate_feedback", FOLDER, "--student=honest")
    graded = GradedClass(root)
    verdicts = {student: [graded.verdict(student, name) for name in FULL] for student in ("honest", "twin")}

    # The second time, one has changed a word of a comment, and one has a later notebook with an older time.
    changed = answered()
    cell_of(changed, "double").source += "  # no change at all"
    hand_in(root, "twin", changed)
    later = submitted / "changed later" / FOLDER / "tiny.ipynb"
    times = later.stat().st_mtime
    later.write_text(json.dumps(answered()))
    os.utime(later, (times - 60, times - 60))
    for student in verdicts:
        shutil.rmtree(root / "autograded" / student)
    second = nbgrader(root, "autograde", FOLDER)
    runs = {name: each.stderr for name, each in (("first", first), ("log", run), ("second", second))}
    status = [each.returncode for each in (first, run, second)]
    (root / "run.json").write_text(json.dumps(runs | {"status": status, "verdicts": verdicts}))


@pytest.fixture
def run(bad_class) -> SimpleNamespace:
    return SimpleNamespace(**json.loads((bad_class.root / "run.json").read_text()))


def read(bad_class: GradedClass, student: str) -> GradedNotebook:
    return read_graded(bad_class.root / "autograded" / student / FOLDER / "tiny.ipynb")


def test_no_student_is_left_out(bad_class, run):
    """All have a grade, and no cell waits for a mark by hand."""
    assert run.status == [1, 0, 0], run.log[-2000:]
    with Gradebook(f"sqlite:///{bad_class.root / 'gradebook.db'}") as gradebook:
        submissions = gradebook.assignment_submissions(FOLDER)
        graded = {each.student.id: each.needs_manual_grade for each in submissions}
    assert graded == dict.fromkeys([*FULL_MARKS, *PART, *UNGRADABLE], False)


@pytest.mark.parametrize("student", FULL_MARKS)
def test_honest_work_gets_full_marks(bad_class, student):
    """However it was handed in, and whatever it shows."""
    assert bad_class.points(student) == FULL
    assert student != "loud" or "2" in bad_class.printed("loud", "test_double")


@pytest.mark.parametrize(
    ("student", "exercise", "words"),
    [
        ("broken", "double", "There is no `double`"),
        ("broken", "row_sums", "stops with AttributeError at the line `return x.rows`"),
        ("hanging", "row_sums", "The kernel died while `row_sums` ran"),
    ],
)
def test_broken_exercise_costs_itself_only(bad_class, student, exercise, words):
    """The graded cell says what broke."""
    assert bad_class.points(student) == FULL | {"double": 0, "row_sums": 0}
    assert words in bad_class.reason(student, exercise)


@pytest.mark.parametrize(
    ("student", "words"),
    [
        ("copy (1)", "'tiny (1).ipynb'"),
        ("text file", "'tiny.ipynb.txt'"),
        ("beside a clash", "'data' was left out: the assignment has a file or folder of that name"),
        ("beside a blank one", "'tiny.ipynb' is as it was given out, so 'tiny-Copy1.ipynb' was graded"),
        ("in another folder", f"handed in as '{FOLDER}/tiny.ipynb'"),
    ],
)
def test_what_is_unusual_is_said(bad_class, run, student, words):
    assert words in read(bad_class, student).record.note and words in run.log
    assert words in bad_class.notebook(student).cells[0].source


def test_nbgraders_error_names_the_command_that_grades(run):
    """Where it finds one, it grades the others as well, and says nothing of this."""
    assert run.first.count("No notebooks were matched by") >= 1
    assert run.first.count("`nbjudge grade` also grades") == 1 and "nbjudge grade" not in run.log


def test_record_says_by_a_code_what_hung_and_died(bad_class):
    hanging, unreadable = read(bad_class, "hanging"), read(bad_class, "not json")
    assert hanging.record.status is Status.COMPLETED
    cells = {cell.cell_id: cell.status for cell in hanging.cells if cell.status is not Status.COMPLETED}
    assert cells["double"] is Status.TIMED_OUT and cells["test_row_sums"] is Status.KERNEL_DIED
    judged = [cell.exercise for cell in hanging.cells if cell.exercise]
    statuses = {each.verdict.exercise: each.status for each in judged}
    assert statuses == dict.fromkeys(FULL, Status.COMPLETED) | {"row_sums": Status.KERNEL_DIED}
    assert unreadable.record.status is Status.NOT_RUN and unreadable.record.reason
    assert {cell.exercise.status for cell in unreadable.cells if cell.exercise} == {Status.NOT_RUN}


@pytest.mark.parametrize("student", ["honest", "loud", "broken"])
def test_a_graded_cell_holds_one_result_the_verdict(bad_class, student):
    for exercise in FULL:
        outputs = cell_of(bad_class.notebook(student), f"test_{exercise}").outputs
        results = [output for output in outputs if output.output_type == "execute_result"]
        points = bad_class.verdict(student, exercise)["points"]
        assert [result.data["text/plain"] for result in results] == [f"{points:g}"]
        assert not [each for each in outputs if each.output_type == "error" or each.get("name") == "stderr"]


def test_no_notebook_or_page_shows_a_hidden_region(bad_class):
    """Nor what a link of the student's leads to."""
    pages = [*(bad_class.root / "feedback").rglob("*.html")]
    files = [file for file in (bad_class.root / "autograded").rglob("*") if file.is_file()]
    assert len(pages) == 1 and len([file for file in files if file.suffix == ".ipynb"]) >= len(FULL_MARKS)
    assert not any("tapir" in file.read_text() for file in files if file.name == "peek.txt")
    for file in (*pages, *files):
        assert file.name != ".grading-key"
        for secret in ("HIDDEN TESTS", "check(", "okapi", "import check"):
            assert secret not in file.read_text(), f"{secret} in {file}"


def test_a_regrade_is_the_same_on_the_same_inputs(bad_class, run):
    """Another student and another submission get other inputs, by a key that is the course's alone."""
    key = bad_class.root / ".grading-key"
    assert key.stat().st_mode & 0o077 == 0 and len(key.read_text()) >= 32
    again = {student: [bad_class.verdict(student, name) for name in FULL] for student in run.verdicts}
    assert again["honest"] == run.verdicts["honest"]
    seeds = [each[0]["seed"] for each in (again["honest"], run.verdicts["twin"], again["twin"])]
    assert min(seeds) > 0 and len(set(seeds)) == 3


def test_later_submission_with_an_older_time_is_graded(bad_class, run):
    """By both commands, and no other is."""
    class_size = len({**FULL_MARKS, **PART, **UNGRADABLE})
    assert run.second.count("Skipping existing assignment") == class_size - 3
    folders = CourseFolders(bad_class.root)
    assert make_plan(folders, FOLDER).todo == {}
    helper = bad_class.root / "submitted" / "changed later" / FOLDER / "helper.py"
    helper.write_text("x = 1")
    assert make_plan(folders, FOLDER).todo == {"changed later": "changed"}
    helper.unlink()
