"""Answers to the lessons' exercises that keep something, or change what they are given, lose points."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from judged_answers import by_shape, judged, kinds

from nbjudge.course.course import open_course

COURSE = open_course(Path(__file__).parents[1])


def verdict_on(name, answer, seed=5):
    _, exercise = COURSE.exercise(name)
    return judged(exercise, reference(name), answer, seed)


def reference(name):
    lesson, _ = COURSE.exercise(name)
    return lesson.reference_answer(name)


def last_mask(right):
    """Goes on with the mask of an earlier call where none is given."""
    masks = []

    def answer(query, key=None, value=None, mask=None):
        result = right(query, key, value, mask)
        if mask is not None:
            masks.append(mask)
        for old in masks:
            if mask is None and old.shape[-2:] == result[1].shape[-2:]:
                return right(query, key, value, old)
        return result

    return answer


@pytest.mark.parametrize(
    "name", ["softmax", "attention_scores", "dot_product_attention", "masked_softmax", "padding_mask"]
)
def test_a_result_that_is_kept_by_its_shape_is_seen(name):
    verdict = verdict_on(name, by_shape(reference(name)))
    assert verdict.points == 0 and kinds(verdict)[0] == "keeps_state"


@pytest.mark.parametrize("constant", [True, False])
def test_a_constant_is_not_a_mistake_of_some_groups(constant):
    """A constant has no mistake that explains only some groups."""
    verdict = verdict_on("order_matters", lambda attend, x, permutation: constant)
    assert verdict.points == 0 and kinds(verdict) == ["always_the_same"]


def test_a_mask_that_is_kept_is_seen():
    # On this seed no case without a mask has the size of an earlier mask, so all first calls are right.
    verdict = verdict_on("masked_attention", last_mask(reference("masked_attention")), seed=6)
    assert verdict.points < verdict.max_points and kinds(verdict)[0] == "wrong_without_optional"


class Kept:
    """Layers that are right at their first call."""

    @staticmethod
    def first_result(right):
        class Layer(right):
            def forward(self, *args, **kwargs):
                if not hasattr(self, "saved_result"):
                    self.saved_result = super().forward(*args, **kwargs)
                return self.saved_result

        return Layer

    @staticmethod
    def result_of_training(right):
        class Layer(right):
            def forward(self, *args, **kwargs):
                if self.training:
                    self.saved_result = super().forward(*args, **kwargs)
                    return self.saved_result
                return (
                    self.saved_result if hasattr(self, "saved_result") else super().forward(*args, **kwargs)
                )

        return Layer

    @staticmethod
    def mask_of_the_first_length(right):
        class Layer(right):
            def forward(self, x, *args, **kwargs):
                if not hasattr(self, "length"):
                    self.length = x.shape[-2]
                if x.shape[-2] > self.length:
                    rest = super().forward(x[..., : self.length, :], *args, **kwargs)
                    return rest
                return super().forward(x, *args, **kwargs)

        return Layer


LAYERS = ["AttentionHead", "CausalSelfAttention", "MultiHeadAttention", "EfficientMultiHeadAttention"]


@pytest.mark.parametrize("name", [*LAYERS, "PositionalEncoding"])
@pytest.mark.parametrize("wrap", [Kept.first_result, Kept.result_of_training, Kept.mask_of_the_first_length])
def test_a_layer_that_keeps_a_result_is_seen(name, wrap):
    """A layer that keeps something of an earlier call is seen."""
    verdict = verdict_on(name, wrap(reference(name)))
    assert verdict.points < verdict.max_points
    assert verdict.findings[0].kind in ("keeps_state", "stops_in_retest")


def test_what_is_kept_and_right_costs_nothing():
    right, cache = reference("softmax"), {}

    def answer(scores):
        key = (scores.shape, scores.dtype, tuple(scores.detach().reshape(-1).tolist()))
        if key not in cache or scores.requires_grad:
            cache[key] = right(scores)
        return cache[key].clone()

    verdict = verdict_on("softmax", answer)
    assert verdict.points == verdict.max_points, verdict.message


def masked(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -torch.inf), -1).masked_fill(~mask, 0.0)


def masked_in_place(scores, mask):
    scores[~mask.expand_as(scores)] = -torch.inf
    return torch.softmax(scores, -1).masked_fill(~mask, 0.0)


def test_the_course_takes_one_group(tmp_path):
    """So does an installed one: a learner's tutor has checks and notebooks, and no nbgrader_config.py."""
    lesson, checks = COURSE.exercise("masked_softmax")
    reference = lesson.reference_answer("masked_softmax")
    assert judged(checks, reference, masked).points == checks.points
    verdict = judged(checks, reference, masked_in_place)
    assert [group.name for group in verdict.groups if not group.is_earned] == [checks.groups[0].name]
    assert "changes its input `scores`" in verdict.message
    for folder in ("checks", "source"):
        (tmp_path / folder).symlink_to(COURSE.root / folder)
    _, installed = open_course(tmp_path).exercise("masked_softmax")
    assert checks.changed_arguments == installed.changed_arguments == "one group"
