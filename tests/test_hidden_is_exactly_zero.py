"""A number in the place of hidden scores is right where it is far enough below all scores, in layers, too.

The accepted alternatives and mistakes of `masked_softmax`, `masked_attention` and `CausalSelfAttention` hold
the same; these two layers have no alternative with such a number.
"""

import math
from pathlib import Path

import pytest
import torch

from nbjudge.calls import caller_of
from nbjudge.course.course import open_course
from nbjudge.judge.scoring import judge_exercise

COURSE = open_course(Path(__file__).parents[1])


def attend(query, key, value, mask, number):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is None:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool)
    weights = scores.masked_fill(~mask, number).softmax(-1).masked_fill(~mask.any(-1, keepdim=True), 0.0)
    return weights @ value, weights


def one_head(self, query, key=None, value=None, mask=None):
    key = query if key is None else key
    value = key if value is None else value
    return attend(self.query(query), self.key(key), self.value(value), mask, self.number)


def many_heads(self, query, key=None, value=None, mask=None):
    key = query if key is None else key
    value = key if value is None else value
    heads = [
        layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        for layer, x in ((self.query, query), (self.key, key), (self.value, value))
    ]
    outputs, weights = attend(*heads, None if mask is None else mask.unsqueeze(-3), self.number)
    return self.output(outputs.transpose(1, 2).flatten(2)), weights.mean(dim=1)


@pytest.mark.parametrize(
    ("name", "forward"), [("AttentionHead", one_head), ("EfficientMultiHeadAttention", many_heads)]
)
def test_a_number_that_scores_may_reach_hides_nothing(name, forward):
    lesson, exercise = COURSE.exercise(name)
    reference = lesson.reference_answer(name)

    def points_lost(number):
        answer = type(name, (reference,), {"forward": forward, "number": number})
        verdict = judge_exercise(exercise, reference, caller_of(answer), seed=4)
        return verdict.max_points - verdict.points

    assert all(points_lost(number) > 0 for number in (-1e3, -1e4))
    assert all(points_lost(number) == 0 for number in (-1e9, torch.finfo(torch.float32).min))
