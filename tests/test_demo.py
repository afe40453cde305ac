"""The demo: its folder, its report, and a whole class graded by nbgrader as it deserves."""

import io
import shutil
from pathlib import Path

import pytest
from rich.console import Console

import attention_lab.maintain.demo.run_demo
from attention_lab.authoring import Exercise
from attention_lab.errors import CourseError
from attention_lab.maintain.demo.class_folder import MARKER, fresh_course
from attention_lab.maintain.demo.hand_ins import FULL, NONE, ExpectedOutcome, HandIn
from attention_lab.maintain.demo.names import invented_names
from attention_lab.maintain.demo.outcome import Judged, Outcome
from attention_lab.maintain.demo.run_demo import run_demo
from attention_lab.maintain.demo.table import table_of
from nbjudge.batch.coordinator import GradedSubmission
from nbjudge.course.course import Assignment, Course, open_course
from nbjudge.record.graded_notebook import GradedNotebook, NotebookRecord

ROOT = Path(__file__).parents[1]
LESSON = open_course(ROOT).assignments["dot_product"]


# ---- the folder ---------------------------------------------------------------------------------


def small_course(folder: Path, lesson) -> Course:
    """A course of one lesson, without anything that has been made from it."""
    for name in (f"source/{lesson.folder}", f"solutions/{lesson.folder}", f"checks/{lesson.name}"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    return Course(folder)


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_a_folder_that_is_no_demo_is_never_removed(tmp_path, kind):
    (lesson,) = small_course(tmp_path, LESSON).assignments.values()
    precious = tmp_path / "demo"
    if kind == "file":
        precious.write_text("thesis")
    else:
        target = precious if kind == "folder" else tmp_path / "elsewhere"
        target.mkdir()
        (target / "thesis.txt").write_text("thesis")
        if kind == "link":
            (target / MARKER).touch()
            precious.symlink_to(target)
    with pytest.raises(CourseError, match="not a demo's folder"):
        fresh_course(lesson)
    held = precious if kind == "file" else precious / "thesis.txt"
    assert held.read_text() == "thesis"


# ---- the report ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "mistake", "expected", "agrees"),
    [
        (4, None, FULL, True),
        (3, None, FULL, False),
        (0, None, NONE, True),
        (1, None, NONE, False),
        (3, "twice", ExpectedOutcome("mistake", "twice"), True),
        (0, "twice", ExpectedOutcome("mistake", "twice"), True),
        (3, "halved", ExpectedOutcome("mistake", "twice"), False),
        (3, None, ExpectedOutcome("mistake", "twice"), False),
        (4, "twice", ExpectedOutcome("mistake", "twice"), False),
    ],
)
def test_a_verdict_is_as_expected_only_with_the_right_points_and_the_right_mistake(
    points, mistake, expected, agrees
):
    assert Judged(points, 4, "", mistake).is_as(expected) is agrees


def outcome(judged, problems=(), student="Zoë O'Brien, jr [bold]"):
    hand_in = HandIn("one mistake", {}, dict.fromkeys(judged, FULL))
    graded = GradedSubmission(student, (GradedNotebook(NotebookRecord(seconds=3.21)),))
    return Outcome(hand_in, graded, judged, tuple(problems))


def test_a_surprise_is_counted_and_told():
    surprised = outcome({"score": Judged(3, 3), "softmax": Judged(2, 8, "No.", "twice")})
    assert surprised.as_expected == 1
    assert surprised.surprises == ["softmax: expected all points, got 2 of 8 points (twice)."]


def test_the_table_shows_names_as_they_are_and_the_first_sentence_of_the_first_message():
    console = Console(file=io.StringIO(), width=120)
    judged = {"score": Judged(3, 3), "softmax": Judged(2, 8, "`softmax` [sums] to 2.5. Divide.", "twice")}
    exercises = {name: Exercise(name, ()) for name in judged}
    console.print(table_of(exercises, [outcome(judged)]))
    printed = console.file.getvalue()
    assert "Zoë O'Brien, jr [bold]" in printed
    assert "2  softmax [sums] to 2.5." in printed
    assert "Divide" not in printed


# ---- end to end ---------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore:Object of type:sqlalchemy.exc.SAWarning")  # nbgrader's own
def test_a_class_is_graded_and_every_verdict_is_as_expected(tmp_path, monkeypatch):
    (lesson,) = small_course(tmp_path, LESSON).assignments.values()
    leftover = tmp_path / "demo" / "submitted" / "of last time"
    leftover.mkdir(parents=True)
    (tmp_path / "demo" / MARKER).touch()
    console = Console(file=io.StringIO(), width=160)
    run_demo(lesson, 6, console)

    printed = console.file.getvalue()
    verdicts = 6 * len(lesson.exercises)
    assert printed.rstrip().endswith(f"✓ {verdicts} of {verdicts} verdicts are as expected.")
    assert not leftover.exists()
    names = invented_names(6, attention_lab.maintain.demo.run_demo.SEED)
    for name in names:
        assert name in printed
        assert (tmp_path / "demo/feedback" / name / lesson.folder / f"{lesson.name}.html").exists()
    log = (tmp_path / "demo/nbgrader.log").read_text()
    assert all(f"---- feedback for {name}\n" in log for name in names)
    assert "Sanitizing" not in printed

    # What was not graded is said in red, and the demo fails.
    monkeypatch.setattr(
        attention_lab.maintain.demo.run_demo,
        "grade_class",
        lambda lesson, students, console, take, sandbox: [
            take(GradedSubmission(name, problem="out of disk")) for name in students
        ],
    )
    console = Console(file=io.StringIO(), width=160)
    with pytest.raises(CourseError, match=f"Only 0 of {len(lesson.exercises)} verdicts are as expected"):
        run_demo(lesson, 1, console)
    assert "out of disk" in console.file.getvalue()
    assert "has no grade" in console.file.getvalue()


def test_without_bubblewrap_the_demo_says_what_to_install_and_how_to_go_on(monkeypatch, tmp_path):
    run_demo_module = attention_lab.maintain.demo.run_demo
    monkeypatch.setattr(run_demo_module, "refusal", lambda: "There is no bwrap: install it.")
    lesson = Assignment(Course(tmp_path), "01_dot_product", "dot_product")
    with pytest.raises(CourseError, match="install it.*--no-sandbox"):
        run_demo(lesson, 1, Console())
    assert not list(tmp_path.iterdir())
