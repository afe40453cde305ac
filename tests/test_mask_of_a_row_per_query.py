"""A mask (T_q, T_k) has a row for each query, also where there are as many queries as sentences."""

import inspect
from pathlib import Path

import pytest

from nbjudge.calls import answers_of
from nbjudge.course.course import open_course
from nbjudge.judge.drawn_group import draw_group
from nbjudge.judge.group_result import compare_group

COURSE = open_course(Path(__file__).parents[1])
MASKED = [
    "masked_softmax",
    "masked_attention",
    "AttentionHead",
    "MultiHeadAttention",
    "EfficientMultiHeadAttention",
    "GroupedQueryAttention",
    "RotaryAttention",
]


def row_per_sentence(call):
    """The same function, which takes a mask for one row per sentence as soon as the sizes allow it."""
    signature = inspect.signature(call)

    def wrong(*args, **kwargs):
        given = signature.bind(*args, **kwargs).arguments
        first = next(value for name, value in given.items() if name != "self")
        mask = given.get("mask")
        if mask is not None and mask.dim() == 2 and first.dim() == 3 and len(mask) == len(first):
            given["mask"] = mask[:, None, :]
        return call(**given)

    wrong.__signature__ = signature
    return wrong


@pytest.mark.lesson
@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("name", MASKED)
def test_an_answer_that_takes_a_mask_for_a_row_per_sentence_loses_points(name, seed):
    lesson, exercise = COURSE.exercise(name)
    reference = lesson.reference_answer(name)
    if inspect.isclass(reference):
        wrong = type(name, (reference,), {"forward": row_per_sentence(reference.forward)})
    else:
        wrong = row_per_sentence(reference)
    groups = [group for group in exercise.groups if "mask" in group.name or "equal" in group.name]
    groups += [group for group in exercise.groups if "batches" in group.name]
    drawn_groups = [draw_group(exercise, group, reference, seed) for group in dict.fromkeys(groups)]
    assert all(
        compare_group(exercise, each, answers_of(reference, each.calls)).passed for each in drawn_groups
    )
    assert not all(
        compare_group(exercise, each, answers_of(wrong, each.calls)).passed for each in drawn_groups
    )
