"""The demo: its folder, its report, its invented class, and a whole class graded as it deserves."""

import importlib
import io
import re
import shutil
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
import torch
from judged_answers import judged
from lesson_cells import COURSE, LESSONS, every_lesson, release_of
from rich.console import Console

import attention_lab.maintain.demo.run_demo
from attention_lab.authoring import Exercise
from attention_lab.maintain.demo.class_folder import (
    DIFFICULT,
    MARKER,
    filled_in,
    fresh_course,
    invented_names,
)
from attention_lab.maintain.demo.hand_ins import FULL, NONE, ExpectedOutcome, HandIn, Writer
from attention_lab.maintain.demo.material import cell_of, material_of, with_docstring
from attention_lab.maintain.demo.outcome import Judged, Outcome, table_of
from attention_lab.maintain.demo.run_demo import run_demo
from nbjudge import CourseError, GradedNotebook, GradedSubmission
from nbjudge.course import Assignment, Course
from nbjudge.record.graded_notebook import NotebookRecord

ROOT = COURSE.root
LESSON = COURSE.assignments["dot_product"]


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
def test_when_a_verdict_is_as_expected(points, mistake, expected, agrees):
    assert Judged(points, 4, "", mistake).is_as(expected) is agrees


def outcome(judged):
    hand_in = HandIn("one mistake", {}, dict.fromkeys(judged, FULL))
    graded = GradedSubmission("Zoë O'Brien, jr [bold]", (GradedNotebook(NotebookRecord(seconds=3.21)),))
    return Outcome(hand_in, graded, judged, ())


def test_the_table_shows_the_first_sentence():
    """A surprise is counted and told."""
    console = Console(file=io.StringIO(), width=120)
    judged = {"score": Judged(3, 3), "softmax": Judged(2, 8, "`softmax` [sums] to 2.5. Divide.", "twice")}
    surprised = outcome(judged)
    assert surprised.as_expected == 1
    assert surprised.surprises == ["softmax: expected all points, got 2 of 8 points (twice)."]
    exercises = {name: Exercise(name, ()) for name in judged}
    console.print(table_of(exercises, [surprised]))
    printed = console.file.getvalue()
    assert "Zoë O'Brien, jr [bold]" in printed
    assert "2  softmax [sums] to 2.5." in printed
    assert "Divide" not in printed


# ---- end to end ---------------------------------------------------------------------------------


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore:Object of type:sqlalchemy.exc.SAWarning")  # nbgrader's own
def test_a_demo_without_the_expected_verdicts_fails(tmp_path, monkeypatch):
    """What was not graded is said in red. A class that gets its verdicts: see test_commands.py."""
    (lesson,) = small_course(tmp_path, LESSON).assignments.values()
    leftover = tmp_path / "demo" / "submitted" / "of last time"
    leftover.mkdir(parents=True)
    (tmp_path / "demo" / MARKER).touch()

    def grade_class(lesson, students, console, take, sandbox):
        return [take(GradedSubmission(name, problem="out of disk")) for name in students]

    monkeypatch.setattr(attention_lab.maintain.demo.run_demo, "grade_class", grade_class)
    console = Console(file=io.StringIO(), width=160)
    with pytest.raises(CourseError, match=f"Only 0 of {len(lesson.exercises)} verdicts are as expected"):
        run_demo(lesson, 1, console)
    assert "out of disk" in console.file.getvalue()
    assert "has no grade" in console.file.getvalue()
    assert not leftover.exists()


def test_without_bubblewrap_the_demo_says_so(monkeypatch, tmp_path):
    run_demo_module = attention_lab.maintain.demo.run_demo
    monkeypatch.setattr(run_demo_module, "sandbox_refusal", lambda: "There is no bwrap: install it.")
    lesson = Assignment(Course(tmp_path), "01_dot_product", "dot_product")
    with pytest.raises(CourseError, match="install it.*--no-sandbox"):
        run_demo(lesson, 1, Console())
    assert not list(tmp_path.iterdir())


# ---- answers moved from the checks into cells ---------------------------------------------------

EXERCISES = [
    pytest.param(lesson, name, id=f"{lesson.name}-{name}") for lesson in LESSONS for name in lesson.exercises
]


@cache
def released_material(lesson):
    return material_of(lesson, release_of(lesson))


@cache
def set_up(lesson):
    """Return what a kernel holds after the set-up cell."""
    (cell,) = (cell for cell in release_of(lesson).cells if cell.id == "setup")
    return vars_after({}, cell.source)


def vars_after(names, *cells):
    kernel = ModuleType("__main__")
    vars(kernel).update(names)
    for cell in cells:
        exec(compile(cell, "<cell>", "exec"), vars(kernel))
    return vars(kernel)


def verdict_on(lesson, name, answer):
    torch.set_num_threads(1)
    return judged(lesson.exercises[name], lesson.reference_answer(name), answer, seed=7)


def written_out(lesson, name):
    """The mistakes of an exercise, without those that its checks make in a loop: they have no text."""
    for mistake in lesson.exercises[name].mistakes:
        checks = (lesson.checks_path / f"{mistake.file}.py").read_text()
        if re.search(rf"^ *((def|class) {mistake.name}\b|{mistake.name}=\($)", checks, re.MULTILINE):
            yield mistake.name


@pytest.mark.integration
@pytest.mark.long
@pytest.mark.lesson
@pytest.mark.parametrize(("lesson", "name"), EXERCISES)
def test_answers_in_cells_stay_what_they_are(lesson, name):
    material = released_material(lesson)[name]
    assert sorted(material.mistakes) == sorted(written_out(lesson, name))
    for mistake, cell in material.mistakes.items():
        verdict = verdict_on(lesson, name, vars_after(set_up(lesson), cell)[name])
        assert verdict.points < verdict.max_points, mistake
        assert verdict.findings[0].mistake == mistake, mistake
    assert len(material.right) >= len(lesson.exercises[name].accepted_alternatives)
    for cell in material.right:
        verdict = verdict_on(lesson, name, vars_after(set_up(lesson), cell)[name])
        assert verdict.points == verdict.max_points, cell


CHECKS = '''
import functools
import math

from attention_lab.authoring import Exercise, add_mistakes, case

BASE = 2
score = Exercise("score", results=("scores",))


def _scaled(x, by=BASE):
    """Only the checks need to know this."""
    return x * by


def add(exercise, cut):
    @exercise.mistake("It is twice as large.")
    @functools.cache
    def twice(x):
        """Kept: it is the answer's own."""
        total = cut(x.twice) + math.pi  # a comment
        return twice(total)


add(score, _scaled)


@score.accepted_alternative
class Whole: pass


add_mistakes(score, _scaled, tripled=("It is three times as large.", {"by": 3}))
add_mistakes(score, Whole, halved=("It is half as large.", {"scale": lambda self, x: x / 2, "base": 2}))
'''


def test_an_answer_brings_its_helpers_and_imports(tmp_path, monkeypatch):
    """Also one that a function hangs on its exercise; docstrings of helpers and the exercise stay behind."""
    (tmp_path / "checks_of_a_test.py").write_text(CHECKS)
    monkeypatch.syspath_prepend(tmp_path)
    score = importlib.import_module("checks_of_a_test").score
    given = frozenset({"math"})
    assert cell_of(score.accepted_alternatives[0], "score", given) == "class score: pass"
    assert cell_of(score.mistakes[0].answer, "score", given) == (
        "import functools\n\n\n"
        "BASE_for_score = 2\n\n\n"
        "def cut_for_score(x, by=BASE_for_score):\n"
        "    return x * by\n\n\n"
        "@functools.cache\n"
        "def score(x):\n"
        '    """Kept: it is the answer\'s own."""\n'
        "    total = cut_for_score(x.twice) + math.pi  # a comment\n"
        "    return score(total)"
    )
    assert cell_of(score.mistakes[1].answer, "score", given).endswith(
        "\n\n\ndef score(x):\n    return _scaled_for_score(x, by=3)"
    )
    assert cell_of(score.mistakes[2].answer, "score", given) == (
        "class Whole_for_score: pass\n\n\n"
        "class score(Whole_for_score):\n    def scale(self, x):\n        return x / 2\n    base = 2"
    )


@pytest.mark.parametrize(
    ("answer", "lines"),
    [
        ("def f(x):\n    return x", ["def f(x):", '    """Doubled."""', "    return x"]),
        ("def f(x): return x", ["def f(x): return x"]),
    ],
)
def test_an_answer_keeps_the_docstring_of_its_stub(answer, lines):
    stub = 'def f(x):\n    """Doubled."""\n    raise NotImplementedError()'
    assert with_docstring(answer, "f", stub).splitlines() == lines


# ---- the class and its hand-ins -----------------------------------------------------------------


def test_a_class_has_the_names_that_break_things():
    """Names differ, and stay the same."""
    for count in (1, 24, 700):
        names = invented_names(count, seed=3)
        assert len(set(names)) == count and names == invented_names(count, seed=3)
    names = invented_names(24, seed=3)
    assert set(DIFFICULT) <= set(names)
    for character in " '\",&()éŻ王":
        assert any(character in name for name in names), character


@pytest.mark.integration
@every_lesson
def test_a_seed_decides_the_work(lesson):
    def work(seed):
        hand_ins = Writer(released_material(lesson), seed).hand_ins(24)
        return [(hand_in.kind, hand_in.answers, hand_in.expected) for hand_in in hand_ins]

    assert work(1) == work(1) != work(2)
    assert len({kind for kind, _, _ in work(1)}) >= 14


@pytest.mark.integration
@every_lesson
@pytest.mark.parametrize("kind", ["one mistake", "several mistakes", "helpers of their own", "another way"])
def test_a_hand_in_deserves_what_is_expected_of_it(lesson, kind):
    hand_ins = Writer(released_material(lesson), seed=5).hand_ins(24)
    hand_in = next(hand_in for hand_in in hand_ins if hand_in.kind == kind)
    cells = [
        cell.source
        for cell in filled_in(release_of(lesson), hand_in).cells
        if cell.cell_type == "code"
        and (cell.metadata.get("nbgrader", {}).get("solution") or cell.id.endswith("-helper"))
    ]
    kernel = vars_after(set_up(lesson), *cells)
    for name, expected in hand_in.expected.items():
        verdict = verdict_on(lesson, name, kernel[name])
        first = verdict.findings[0].mistake if verdict.findings else None
        assert Judged(verdict.points, verdict.max_points, "", first).is_as(expected), name
