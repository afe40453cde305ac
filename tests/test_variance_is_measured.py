"""`score_variance`: a number near d_k that was not measured on any pair is told from one that was."""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from nbjudge.calls import read_reply
from nbjudge.course.course import open_course
from nbjudge.judge.scoring import judge_exercise
from nbjudge.probe import respond

LESSON = open_course(Path(__file__).parents[1]).assignments["scaling"]
EXERCISE = LESSON.exercises["score_variance"]
pytestmark = pytest.mark.lesson


def points(answer, seed):
    def call_answer(_name, calls, _watched_calls):
        return read_reply(respond.answer_calls(answer, calls), len(calls))

    return judge_exercise(EXERCISE, LESSON.reference_answer("score_variance"), call_answer, seed).points


def made_up(error):
    """d_k and an error that is drawn from seed and size, but no pair of vectors."""

    def answer(d_k, samples=10_000, seed=0):
        dice = random.Random(f"{seed} {samples} {d_k}")
        return float(d_k * (1 + error(dice, d_k, samples)))

    return answer


MADE_UP = {
    "the width": lambda dice, d_k, n: 0.0,
    "always as far": lambda dice, d_k, n: dice.uniform(-0.05, 0.05),
    "as far as 10,000 samples stray": lambda dice, d_k, n: dice.gauss(0, 0.015),
    "farther with few samples": lambda dice, d_k, n: dice.uniform(-1, 1) / math.sqrt(n),
    "normal, with the standard deviation of a variance": lambda dice, d_k, n: (
        dice.gauss(0, 1) * math.sqrt((2 + 6 / d_k) / n)
    ),
    "the variance of as many normal numbers": lambda dice, d_k, n: (
        dice.gammavariate((n - 1) / 2, 2 / (n - 1)) - 1
    ),
}


@pytest.mark.parametrize("name", MADE_UP)
def test_a_variance_that_no_one_measured_earns_nothing(name):
    assert [points(made_up(MADE_UP[name]), seed) for seed in range(5)] == [0] * 5


def one_pair_after_the_other(d_k, samples=10_000, seed=0):
    torch.manual_seed(seed)
    return torch.stack([torch.randn(d_k) @ torch.randn(d_k) for _ in range(samples)]).var().item()


def about_zero(d_k, samples=10_000, seed=0):
    generator = torch.Generator().manual_seed(seed)
    query, key = torch.randn(2, samples, d_k, generator=generator)
    return (query * key).sum(dim=-1).square().mean().item()


def with_numpy(d_k, samples=10_000, seed=0):
    dice = np.random.default_rng(seed)
    query, key = dice.standard_normal((2, samples, d_k))
    return np.einsum("nd,nd->n", query, key).var()


@pytest.mark.parametrize("answer", [one_pair_after_the_other, about_zero, with_numpy])
def test_a_variance_that_was_measured_in_any_way_gets_full_marks(answer):
    assert points(answer, seed=11) == EXERCISE.points


def test_places_of_measured_variances_stay_well_within_what_is_allowed():
    """Massart: the largest distance passes t with a chance of at most 2 exp(-2 n t²)."""
    scatter = sys.modules[EXERCISE.groups[0].make.__module__.rsplit(".", 1)[0] + ".score_variance_scatter"]
    dice = np.random.default_rng(5)
    distances = [scatter.furthest(dice.random(200)) for _ in range(2000)]
    assert np.mean(np.array(distances) > 0.1) < 2 * math.exp(-2 * 200 * 0.1**2)
    assert max(distances) < scatter.allowed(200)
    assert 2 * math.exp(-2 * 200 * scatter.allowed(200) ** 2) == pytest.approx(1e-7)
