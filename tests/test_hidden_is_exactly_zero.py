"""A number in the place of hidden scores is right where it is far enough below all scores, in layers, too."""

import math
from pathlib import Path

import pytest
import torch
import torch.nn as nn

from nbjudge.calls import read_reply
from nbjudge.course.course import open_course
from nbjudge.judge.scoring import judge_exercise
from nbjudge.probe import respond

COURSE = open_course(Path(__file__).parents[1])


def points_lost(name, answer):
    lesson, exercise = COURSE.exercise(name)

    def call_answer(_name, calls, watched_calls):
        return read_reply(respond.answer_calls(answer, calls, watched_calls), len(calls))

    verdict = judge_exercise(exercise, lesson.reference_answer(name), call_answer, seed=4)
    return verdict.max_points - verdict.points


def softmax_with(number):
    def masked_softmax(scores, mask):
        hidden = scores.masked_fill(~mask, number)
        return torch.softmax(hidden, -1).masked_fill(~mask.any(-1, keepdim=True), 0.0)

    return masked_softmax


def attention_with(number):
    weights_of = softmax_with(number)

    def masked_attention(query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        if mask is None:
            mask = torch.ones(scores.shape[-2:], dtype=torch.bool)
        weights = weights_of(scores, mask.expand(scores.shape))
        return weights @ value, weights

    return masked_attention


def reference(name):
    lesson, _ = COURSE.exercise(name)
    return lesson.reference_answer(name)


def head_with(number):
    attend = attention_with(number)

    class AttentionHead(nn.Module):
        def __init__(self, embed_dim, head_size):
            super().__init__()
            for name in ("query", "key", "value"):
                self.add_module(name, nn.Linear(embed_dim, head_size, bias=False))

        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = key if value is None else value
            return attend(self.query(query), self.key(key), self.value(value), mask)

    return AttentionHead


def causal_layer_with(number):
    attend = attention_with(number)

    class CausalSelfAttention(reference("CausalSelfAttention")):
        def forward(self, x):
            length = x.shape[1]
            if length > len(self.mask):
                raise ValueError(f"{length} tokens, block of {len(self.mask)}")
            return attend(*self.qkv(x).chunk(3, dim=-1), self.mask[:length, :length])

    return CausalSelfAttention


def many_heads_with(number):
    attend = attention_with(number)

    class EfficientMultiHeadAttention(reference("EfficientMultiHeadAttention")):
        def forward(self, query, key=None, value=None, mask=None):
            key = query if key is None else key
            value = key if value is None else value
            heads = [
                layer(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
                for layer, x in ((self.query, query), (self.key, key), (self.value, value))
            ]
            outputs, weights = attend(*heads, None if mask is None else mask.unsqueeze(-3))
            return self.output(outputs.transpose(1, 2).flatten(2)), weights.mean(dim=1)

    return EfficientMultiHeadAttention


@pytest.mark.parametrize(
    ("name", "make_answer"),
    [
        ("masked_softmax", softmax_with),
        ("masked_attention", attention_with),
        ("AttentionHead", head_with),
        ("CausalSelfAttention", causal_layer_with),
        ("EfficientMultiHeadAttention", many_heads_with),
    ],
)
def test_a_number_that_scores_may_reach_hides_nothing(name, make_answer):
    for number in (-1e3, -1e4):
        assert points_lost(name, make_answer(number)) > 0
    for number in (-1e9, torch.finfo(torch.float32).min):
        assert points_lost(name, make_answer(number)) == 0, number
