"""What the demo's invented class hands in is what it claims to be: planted mistakes are still mistakes."""

import importlib
import re
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
import torch

from attention_lab.maintain.demo.class_folder import filled_in
from attention_lab.maintain.demo.hand_ins import Writer
from attention_lab.maintain.demo.material import material_of, with_docstring
from attention_lab.maintain.demo.names import DIFFICULT, invented_names
from attention_lab.maintain.demo.outcome import Judged
from attention_lab.maintain.demo.transplant import cell_of
from nbjudge.calls import read_reply
from nbjudge.course.course import open_course
from nbjudge.course.loading import read_notebook
from nbjudge.judge.scoring import judge_exercise
from nbjudge.probe import respond

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[1]
COURSE = open_course(ROOT)
LESSONS = [lesson for lesson in COURSE.assignments.values() if lesson.exercises]
every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
EXERCISES = [(lesson, name) for lesson in LESSONS for name in lesson.exercises]
every_exercise = pytest.mark.parametrize(
    ("lesson", "name"), EXERCISES, ids=[f"{lesson.name}-{name}" for lesson, name in EXERCISES]
)


@cache
def release_of(lesson):
    return read_notebook(ROOT / "release" / lesson.folder / f"{lesson.name}.ipynb")


@cache
def released_material(lesson):
    return material_of(lesson, release_of(lesson))


def run_as_a_cell(lesson, cell):
    """What a kernel would hold after the set-up cell and this one."""
    kernel = ModuleType("__main__")
    vars(kernel).update(set_up(lesson))
    exec(compile(cell, "<cell>", "exec"), vars(kernel))
    return vars(kernel)


@cache
def set_up(lesson):
    """What a kernel holds after the set-up cell."""
    kernel = ModuleType("__main__")
    for cell in release_of(lesson).cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "setup":
            exec(compile(cell.source, "<cell>", "exec"), vars(kernel))
    return vars(kernel)


def verdict_on(lesson, name, answer, seed=7):
    def call_answer(_name, calls, watched_calls):
        return read_reply(respond.answer_calls(answer, calls, watched_calls), len(calls))

    return judge_exercise(lesson.exercises[name], lesson.reference_answer(name), call_answer, seed)


@pytest.fixture
def one_thread():
    torch.set_num_threads(1)


# ---- answers moved from the checks into cells ---------------------------------------------------


def written_out(lesson, name):
    """The mistakes of an exercise, without those that its checks make in a loop: they have no text."""
    for mistake in lesson.exercises[name].mistakes:
        checks = (lesson.checks_path / f"{mistake.file}.py").read_text()
        if re.search(rf"^ *(def|class) {mistake.name}\b", checks, re.MULTILINE):
            yield mistake.name


@pytest.mark.long
@pytest.mark.lesson
@every_exercise
def test_every_mistake_in_a_cell_is_still_that_mistake(lesson, name, one_thread):
    material = released_material(lesson)[name]
    assert sorted(material.mistakes) == sorted(written_out(lesson, name))
    for mistake, cell in material.mistakes.items():
        verdict = verdict_on(lesson, name, run_as_a_cell(lesson, cell)[name])
        assert verdict.points < verdict.max_points, mistake
        assert verdict.findings[0].mistake == mistake, mistake


@pytest.mark.long
@pytest.mark.lesson
@every_exercise
def test_every_right_answer_in_a_cell_is_still_right(lesson, name, one_thread):
    material = released_material(lesson)[name]
    assert len(material.right) >= len(lesson.exercises[name].accepted_alternatives)
    for cell in material.right:
        verdict = verdict_on(lesson, name, run_as_a_cell(lesson, cell)[name])
        assert verdict.points == verdict.max_points, cell


CHECKS = '''
import functools
import math

from attention_lab.authoring import Exercise, case

BASE = 2
score = Exercise("score", results=("scores",))


def _scaled(x):
    """Only the checks need to know this."""
    return x * BASE


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
        "def cut_for_score(x):\n"
        "    return x * BASE_for_score\n\n\n"
        "@functools.cache\n"
        "def score(x):\n"
        '    """Kept: it is the answer\'s own."""\n'
        "    total = cut_for_score(x.twice) + math.pi  # a comment\n"
        "    return score(total)"
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


@pytest.mark.parametrize("count", [1, 24, 700])
def test_names_are_different_from_each_other_and_the_same_every_time(count):
    names = invented_names(count, seed=3)
    assert len(set(names)) == count
    assert names == invented_names(count, seed=3)


def test_a_class_has_the_names_that_break_things():
    names = invented_names(24, seed=3)
    assert set(DIFFICULT) <= set(names)
    for character in " '\",&()éŻ王":
        assert any(character in name for name in names), character


@every_lesson
def test_the_same_seed_hands_in_the_same_work_and_another_seed_other_work(lesson):
    def work(seed):
        hand_ins = Writer(released_material(lesson), seed).hand_ins(24)
        return [(hand_in.kind, hand_in.answers, hand_in.expected) for hand_in in hand_ins]

    assert work(1) == work(1) != work(2)
    assert len({kind for kind, _, _ in work(1)}) >= 14


@every_lesson
@pytest.mark.parametrize("kind", ["one mistake", "several mistakes", "helpers of their own", "another way"])
def test_a_hand_in_deserves_what_is_expected_of_it(lesson, kind, one_thread):
    hand_in = hand_in_of(kind, lesson)
    kernel = vars(ModuleType("__main__"))
    for cell in filled_in(release_of(lesson), hand_in).cells:
        marks = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and (
            marks.get("solution") or marks.get("grade_id") == "setup" or cell.id.endswith("-helper")
        ):
            exec(compile(cell.source, cell.id, "exec"), kernel)
    for name, expected in hand_in.expected.items():
        verdict = verdict_on(lesson, name, kernel[name])
        first = verdict.findings[0].mistake if verdict.findings else None
        assert Judged(verdict.points, verdict.max_points, "", first).is_as(expected), name


def hand_in_of(kind, lesson):
    hand_ins = Writer(released_material(lesson), seed=5).hand_ins(24)
    return next(hand_in for hand_in in hand_ins if hand_in.kind == kind)
