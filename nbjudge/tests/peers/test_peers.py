"""Honest work gets from us, cell by cell, what stock nbgrader gives it, or better.

On nbgrader's own fixtures every difference is listed with its reason and is there, and nbgrader's own cheat
attempts gain nothing.
"""

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
import real_courses
from compare_graders import DELETED, LOG, Graded, compare, run_both
from peer_courses import CHEAT_ATTEMPTS, EXAMPLE_ARCHIVE, GUIDE, OLD_FORMATS, PEERS, TRAITS, works

from nbjudge.record.graded_notebook import read_graded
from nbjudge.report.gather import read_reported

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]  # the first test grades everything


def by_both(once: Callable[..., Path], chosen: str) -> dict[str, Graded]:
    """The assignments `chosen`, graded by stock nbgrader and by ours, once for all workers."""
    folder = once(chosen, lambda root: run_both(root, [chosen]))
    return {name: Graded(folder / name) for name in ("stock", "ours")}


@pytest.fixture(scope="session")
def graders(once) -> dict[str, Graded]:
    return by_both(once, "peers")


@pytest.fixture(scope="session")
def trait_graders(once) -> dict[str, Graded]:
    return by_both(once, "traits")


@pytest.fixture(scope="session")
def points(graders: dict[str, Graded]) -> Callable[[str, str], tuple[float, int] | None]:
    """A work's points from a grader, and how many of its cells wait for someone to mark them."""

    def of(grader: str, work: str) -> tuple[float, int] | None:
        if work not in graders[grader].scores:
            return None
        grades = graders[grader].scores[work]["grades"].values()
        return sum(score or 0 for score, *_ in grades), sum(waits for *_, waits in grades)

    return of


# Points, and how many cells wait for someone to mark them; None where there is no grade at all.
Points = tuple[float, int] | None


class Difference(NamedTuple):
    stock: Points
    ours: Points
    reason: str


GIVES_UP = (
    "Stock nbgrader gives up on this student and ends with an error. We read a submission's text only, so a "
    "changed cell type means nothing: the cell is the lesson's own, and what is not answered is 0."
)
UNMARKED = (
    "Stock nbgrader finds none of its cells and leaves every score open. We find the cells by what they "
    "define, so the work gets its marks."
)
NO_FILE = (
    "Stock nbgrader writes 0 for what was not handed in, written answers too. We grade an empty notebook "
    "that says so; its written answers wait for a person, like every blank one."
)
NO_GRADE = (
    "The test's own result is no grade: nbgrader stops at it and leaves the student without one. With us it "
    "is 0 with a reason."
)
TOO_MANY = (
    "The test's own result is above its cell's points: nbgrader stops at it and leaves the student without a "
    "grade. With us it counts as all of them, which the highest number that is allowed would give as well."
)

DIFFERENCES = {
    "variables answer-cell-type-changed p1": Difference((0, 4), (1, 0), GIVES_UP),
    "variables grade-cell-type-changed p1": Difference((0, 4), (1, 0), GIVES_UP),
    "squares no-metadata p1": Difference((0, 6), (3, 2), UNMARKED),
    "squares no-metadata-autotest p1": Difference((0, 6), (3, 2), UNMARKED),
    "old_formats v0-invalid p1": Difference(
        (0, 6),
        (3, 2),
        "`nbgrader update` refuses a cell without a name, so stock nbgrader cannot grade the notebook. We "
        "need no update, and miss that one cell only.",
    ),
    "old_formats too-new p1": Difference(
        (0, 6),
        (0, 2),
        "Stock nbgrader stops the whole class at it. It is another notebook under this name: 0, with that "
        "reason.",
    ),
    "missing without-p2 p2": Difference((0, 0), (0, 2), NO_FILE),
    "missing empty-folder p1": Difference(None, (0, 2), NO_FILE),
    "missing empty-folder p2": Difference(None, (0, 2), NO_FILE),
    "ps1_archive hacker-again problem2": Difference((0, 0), (0, 2), NO_FILE),
    "ps1_archive hacker problem1": Difference(
        (0, 0),
        (3, 2),
        "It was handed in as `myproblem1.ipynb`, which stock nbgrader passes over. We grade it and say so.",
    ),
    "ps1_autotest hacker problem1": Difference(
        (3, 4),
        (3, 3),
        "The submission is older than the lesson's last test, which is worth 0 points. Stock nbgrader "
        "leaves it open; we run the lesson's own tests, so it is judged.",
    ),
    "results empty p1": Difference((0, 1), (0, 0), NO_GRADE),
    "results too-many p1": Difference((0, 1), (2, 0), TOO_MANY),
}

# The fixture, the cell it wants points for without the work, and someone who earned them.
BAR = ("bar", "variables changed p1")
CHEATS = {
    "hides every error": ("variables cheat-attempt p1", *BAR),
    "breaks the display of errors": ("variables cheat-attempt-alternative p1", *BAR),
    "comments the test out": ("variables grade-cell-changed p1", *BAR),
    "comments half of the tests out": ("ps1 bitdiddle problem1", "correct_squares", "ps1 hacker problem1"),
    "makes the test prose": ("variables grade-cell-type-changed p1", *BAR),
    "passes the visible tests only": ("autotests wrong hidden", "test_hidden", "autotests changed hidden"),
    "knows the visible answers by heart": ("hidden released p1", "correct_squares", "squares solved p1"),
}
LOOPS = ("running student loop", "running student loop_with_output")


@pytest.mark.parametrize("work", works(PEERS))
def test_scores_are_stock_nbgraders(graders, points, work):
    """All scores and comments are the same, or the difference is listed and takes no point away."""
    if work not in DIFFERENCES:
        assert graders["ours"].scores[work] == graders["stock"].scores[work]
        return
    listed = DIFFERENCES[work]
    assert (points("stock", work), points("ours", work)) == (listed.stock, listed.ours), listed.reason
    assert listed.ours[0] >= (listed.stock or (0, 0))[0]


@pytest.mark.parametrize("grader", ["stock", "ours"])
def test_example_class_scores_as_documented(graders, points, grader):
    """The example class of nbgrader's documentation gets the scores that it prints; its picture is copied."""
    with (GUIDE / "grades.csv").open(newline="") as printed:
        expected = {row["student_id"]: float(row["raw_score"]) for row in csv.DictReader(printed)}
    given = {
        student: sum(points(grader, f"ps1 {student} {name}")[0] for name in ("problem1", "problem2"))
        for student in expected
    }
    assert given == expected and len(set(given.values())) == len(given)
    assert (graders[grader].root / "autograded/hacker/ps1/jupyter.png").is_file()
    scores = graders[grader].scores  # late work costs what the course says
    works = (scores["results some p1"], scores["squares solved p1"])
    assert [work["penalty"] or 0 for work in works] == [1.5, 0]


def test_odd_submissions_are_graded(graders, points):
    """Newer and renamed files, harmless warnings, a missing notebook, and one that needs an update."""
    ours, stock = graders["ours"], graders["stock"]
    written = [len([*graded.root.rglob("side-effect.txt")]) for graded in (stock, ours)]
    assert written == [1, 0]  # stock nbgrader keeps what a notebook writes beside the grade
    # The cells of the newer submission are those of the release, which nbgrader remarks on.
    assert ours.scores["again student p1"]["comments"]["squares"] == "No response."
    assert points("ours", "results warning p1") == (2, 0)
    first = ours.notebook("ps1_archive hacker problem1")["cells"][0]
    assert "'myproblem1.ipynb'" in "".join(first["source"])
    grades = ours.scores["missing without-p2 p2"]["grades"]
    assert {grade[0] for grade in grades.values()} == {0, None}
    assert ours.scores["missing without-p2 p1"]["grades"]["bar"][0] == 1
    old = [f"{course.name} {name}" for course in (OLD_FORMATS, EXAMPLE_ARCHIVE) for name in course.students]
    assert (stock.refused, ours.refused) == (old, [])


@pytest.mark.parametrize("cheat", CHEATS)
def test_cheat_gains_nothing(graders, points, cheat):
    """An error that it hides is shown again."""
    work, cell, honest = CHEATS[cheat]
    scores = graders["ours"].scores
    assert scores[work]["grades"][cell][0] == 0
    assert scores[honest]["grades"][cell][0] == scores[honest]["grades"][cell][1]
    if work.split()[1] in CHEAT_ATTEMPTS:
        assert points("ours", work)[0] == points("ours", "variables unchanged p1")[0]
        cells = graders["ours"].notebook(work)["cells"]
        (test,) = (each for each in cells if each["metadata"].get("nbgrader", {}).get("grade_id") == cell)
        assert [output["output_type"] for output in test["outputs"]] == ["error"]


@pytest.mark.parametrize("work", LOOPS)
def test_endless_loop_ends_with_the_reason(graders, work):
    (cell,) = graders["ours"].notebook(work)["cells"]
    assert {output["output_type"] for output in cell["outputs"]} == {"error"}
    assert {output["ename"] for output in cell["outputs"]} <= {"KeyboardInterrupt", "TimeoutError"}


WORKS = works(TRAITS)


def test_all_are_graded_and_a_warning_is_said_once(trait_graders):
    """A given cell that fails is one warning for the class."""
    for graded in trait_graders.values():
        assert set(graded.scores) == set(WORKS)
        assert not graded.report["stopped"] + graded.report["not released"]
    log = (trait_graders["ours"].root / LOG).read_text()
    assert log.count("its tests pass all the same") == 1


def test_own_failing_cells_are_named_without_ids(trait_graders):
    """In the record and in the report; the graded notebook keeps its format."""
    path = trait_graders["ours"].file("statistics", "noisy", "statistics")
    content = nbformat.read(path, nbformat.NO_CONVERT)
    nbformat.validate(content)
    assert content.nbformat_minor == 2 and sum(cell.is_added for cell in read_graded(path).cells) == 4
    failures = read_reported(path).failures
    assert {each.where for each in failures} == {"a cell of their own"} and len(failures) == 3


@pytest.mark.parametrize("work", WORKS)
def test_each_cell_gets_stock_nbgraders_points(trait_graders, work):
    """Comments and penalties too. Where a test cell was deleted we grade it, and stock nbgrader does not."""
    compared = [cell for cell in compare(**trait_graders) if cell.work == work]
    assert compared and not [cell for cell in compared if cell.verdict == "WORSE"]
    if "deleted-test" in work:
        assert {cell.reason for cell in compared if cell.verdict == "better"} <= {DELETED}
    else:
        assert trait_graders["ours"].scores[work] == trait_graders["stock"].scores[work]


@pytest.mark.parametrize("course", [assignment.name for assignment in TRAITS])
@pytest.mark.parametrize(
    ("student", "share"),
    [("solution", 1), ("noisy", 1), ("deleted-test", 1), ("half-done", 0.99), ("syntax-error", 0.99)]
    + [("untouched", 0)],
)
def test_points_follow_the_work_that_is_done(trait_graders, course, student, share):
    """Own errors and a missing test cell cost the solution nothing."""
    works = [work for work in trait_graders["ours"].scores.values() if work["assignment"] == course]
    grades = [
        grade for work in works if work["student"].endswith(student) for grade in work["grades"].values()
    ]
    score, best = (sum(grade[at] or 0 for grade in grades if not grade[2]) for at in (0, 1))
    assert score == best if share == 1 else score <= share * best


def test_real_courses_compares_any_course(tmp_path, monkeypatch, capsys):
    """`python tests/peers/real_courses.py FOLDER` grades an instructor's sources with both graders."""
    folder = tmp_path / "mine" / "source" / "ps1"
    folder.mkdir(parents=True)
    nbformat.write(TRAITS[0].source["statistics"], folder / "statistics.ipynb")
    (folder / "other.ipynb").write_text("no notebook")
    options = ["--students", "solution", "untouched", "--keep", str(tmp_path / "graded")]
    monkeypatch.setattr(sys, "argv", ["real_courses.py", str(tmp_path / "mine"), *options])
    assert real_courses.main() == 0
    output = capsys.readouterr().out
    assert "1 notebooks are left out" in output and "6 cells: 6 equal" in output
