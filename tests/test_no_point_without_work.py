"""No point without work: whatever refuses everything, hands back its input or never changes gets nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from vacuous import vacuous

from nbjudge.calls import Reply, read_reply
from nbjudge.course.course import open_course
from nbjudge.judge import scoring as judging
from nbjudge.judge.drawn_group import draw_group
from nbjudge.probe import respond

COURSE = open_course(Path(__file__).parents[1])
SEEDS = range(3 if os.environ.get("EVERY_SEED") else 1)
SEEDS_THAT_TELL = range(3)
EXERCISES = [
    pytest.param(lesson, exercise, id=f"{lesson.name}-{exercise.name}")
    for lesson in COURSE.assignments.values()
    for exercise in lesson.exercises.values()
]
pytestmark = [
    pytest.mark.integration,
    pytest.mark.lesson,
    pytest.mark.parametrize(("lesson", "exercise"), EXERCISES),
]


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def caller(function):
    def call_answer(_name, calls, _watched_calls) -> Reply:
        return read_reply(respond.answer_calls(function, calls), len(calls))

    return call_answer


def test_an_answer_that_took_no_work_gets_no_point(lesson, exercise, monkeypatch):
    monkeypatch.setattr(judging, "diagnose", lambda *_: [])  # slow, and not asked for here
    reference = lesson.reference_answer(exercise.name)
    for seed in SEEDS:
        for name, answer in vacuous(reference).items():
            verdict = judging.judge_exercise(exercise, reference, caller(answer), seed)
            agree = [group.name for group in verdict.groups if group.is_earned]
            assert verdict.points == 0, f"{name}, seed {seed}: {agree}"


def test_which_groups_tell_is_the_same_on_every_seed_and_some_do(lesson, exercise):
    reference = lesson.reference_answer(exercise.name)
    telling = {
        tuple(draw_group(exercise, group, reference, seed).requires_computation for group in exercise.groups)
        for seed in SEEDS_THAT_TELL
    }
    assert len(telling) == 1
    assert any(telling.pop())
