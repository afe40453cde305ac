"""Lesson 11 counts memory where a whole matrix of scores is far more than the few blocks that are allowed."""

import runpy
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from attention_lab.authoring import case
from nbjudge.calls import caller_of
from nbjudge.course.course import open_course
from nbjudge.judge.scoring import judge_exercise

ROOT = Path(__file__).parents[1]
MEMORY = SimpleNamespace(**runpy.run_path(str(ROOT / "checks/flash/memory.py")))


@pytest.mark.parametrize(
    ("shorter", "block_size", "width"), list(product(MEMORY.SHORTER, MEMORY.BLOCKS, MEMORY.WIDTHS))
)
def test_keeping_every_block_holds_too_much(shorter, block_size, width):
    length = MEMORY.COUNT * block_size - shorter
    argument = SimpleNamespace(numel=lambda: length * width)
    one_block = MEMORY.BYTES * length * block_size
    told = {"largest": one_block, "most": MEMORY.BYTES * length * length}
    assert MEMORY.within("flash_attention", length, block_size, [argument], told)[1] == "most"


(SHORT, BLOCK), (SHORT_CAUSAL, BLOCK_CAUSAL) = MEMORY.SHORT


@pytest.mark.parametrize(
    ("length", "block_size", "given", "largest", "named"),
    [
        (SHORT, BLOCK, {}, MEMORY.BYTES * SHORT**2, "a_number_of_blocks"),
        # A boolean mask, whose elements take one byte.
        (SHORT_CAUSAL, BLOCK_CAUSAL, {"causal": True}, SHORT_CAUSAL**2, "a_mask_of_all"),
    ],
)
def test_a_large_block_and_a_large_mask_are_told_apart(length, block_size, given, largest, named):
    _, exercise = open_course(ROOT).exercise("flash_attention")
    (verify,) = (group.verify for group in exercise.groups if group.name.startswith("memory"))
    drawn_case = case(*torch.zeros(3, length, max(MEMORY.WIDTHS)), block_size, **given)
    assert verify([drawn_case], [{"largest": largest, "most": largest}]) == named


def in_torch(query, key, value, causal):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)
    return scores.softmax(dim=-1) @ value, scores.logsumexp(dim=-1)


def in_numpy(query, key, value, causal):
    scores = query.numpy() @ key.numpy().T / query.shape[-1] ** 0.5
    if causal:
        scores[np.triu_indices(len(scores), 1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    total = weights.sum(axis=-1, keepdims=True)
    logsumexp = scores.max(axis=-1) + np.log(total[:, 0])
    return torch.from_numpy(weights / total @ value.numpy()), torch.from_numpy(logsumexp)


@pytest.mark.parametrize("whole", [in_torch, in_numpy])
@pytest.mark.parametrize("where", [False, True])
def test_the_whole_matrix_costs_the_points_for_memory(whole, where):
    lesson, exercise = open_course(ROOT).exercise("flash_attention")
    reference = lesson.reference_answer("flash_attention")

    def answer(query, key, value, block_size, causal=False):
        if query.dim() == 2 and len(query) > 100 and causal == where:
            return whole(query, key, value, causal)
        return reference(query, key, value, block_size, causal)

    (lost,) = groups_lost(answer, exercise, reference)
    assert lost.startswith("memory")


def keeps_causal_blocks(reference):
    """Right, but what it makes of each block of a causal text stays in memory."""

    def answer(query, key, value, block_size, causal=False):
        stored = []
        for first in range(0, len(query) if causal and query.dim() == 2 else 0, block_size):
            for first_key in range(0, first + 1, block_size):
                scores = query[first : first + block_size] @ key[first_key : first_key + block_size].mT
                stored += [scores, scores.exp(), scores * 2]
        return reference(query, key, value, block_size, causal)

    return answer


def two_by_two(reference):
    """Two blocks of queries and two of keys, whatever the block size."""
    return lambda query, key, value, block_size, causal=False: reference(
        query, key, value, max(1, max(query.shape[-2], key.shape[-2]) // 2), causal
    )


@pytest.mark.parametrize("wrong", [keeps_causal_blocks, two_by_two])
def test_causal_blocks_that_stay_cost_memory_and_scores(wrong):
    lesson, exercise = open_course(ROOT).exercise("flash_attention")
    reference = lesson.reference_answer("flash_attention")
    memory, scores = groups_lost(wrong(reference), exercise, reference)
    assert memory.startswith("memory") and scores.startswith("no scores for hidden")


def groups_lost(answer, exercise, reference):
    verdict = judge_exercise(exercise, reference, caller_of(answer), seed=3)
    return [group.name for group in verdict.groups if not group.is_earned]
