"""The lessons' exercises: sizes of hidden cases, disguised code, wrong answers that no mistake names."""

import ast
import inspect
import math
import os
import random
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from judged_answers import by_shape, judged, kinds
from lesson_cells import COURSE, every_exercise

from attention_lab.authoring import Case, MadeInKernel
from attention_lab.authoring.draw import Draw
from nbjudge.calls import answers_of
from nbjudge.course import open_course, read_notebook
from nbjudge.judge.drawn_group import draw_group, group_seed
from nbjudge.judge.group_result import compare_group

pytestmark = pytest.mark.lesson

# ---- sizes of hidden cases: no number copied from a page fits them, nor does one mixed-up axis -----------

SEEDS = range(12 if os.environ.get("EVERY_SEED") else 4)
# Whole numbers among the arguments that say how much, which or how far: no axis has their length.
NO_SIZES = {"factor", "offset", "pad_id", "samples", "seed"}
# Groups that are there for sizes that are equal, small or the default say so.
DELIBERATE = ("equal", "square", "one ", "two ", "a single ", "as many ", "as long ")


@cache
def numbers_on_the_page(lesson) -> set[int]:
    cells = [cell for cell in read_notebook(lesson.source_path).cells if cell.id != "earlier"]
    nodes = [n for cell in cells if cell.cell_type == "code" for n in ast.walk(ast.parse(cell.source))]
    return {node.value for node in nodes if isinstance(node, ast.Constant) and type(node.value) is int}


def shapes_of(value: Any) -> Iterator[tuple[int, ...]]:
    """The shapes of all tensors in an argument, or the argument itself if it is a whole number."""
    if isinstance(value, torch.Tensor):
        yield tuple(value.shape)
    elif type(value) is int:
        yield (value,)
    elif isinstance(value, MadeInKernel):
        for given in value.given.values():
            yield from shapes_of(given)
    elif isinstance(value, (list, tuple, dict)):
        for entry in value.values() if isinstance(value, dict) else value:
            if type(entry) is not int:  # a word's number or a label is no size
                yield from shapes_of(entry)


def sizes_of(case: Case, answer: Any) -> set[int]:
    """Return the sizes of a case's axes and of its module or result; 1 only repeats itself."""
    called = case.build if case.build is not None else case
    given = inspect.signature(answer).bind(*called.args, **called.kwargs).arguments
    arguments = [value for name, value in given.items() if name not in NO_SIZES]
    inputs = [*case.args, *case.kwargs.values()] if case.build is not None else []
    return {size for value in (*arguments, *inputs) for shape in shapes_of(value) for size in shape} - {1}


def cases_of(exercise, seed: int, deliberate: bool = False):
    """Each group with its cases, but for those that the judge's code turns into something else first."""
    for group in exercise.groups:
        cases = group.cases(exercise.draw(group_seed(seed, exercise.name, group.name)))
        direct_cases = [case for case in cases if case.through is None]
        if direct_cases and (deliberate or not any(word in group.name for word in DELIBERATE)):
            yield group, direct_cases


@every_exercise
def test_no_copied_number_fits_a_whole_group(lesson, exercise):
    answer = lesson.reference_answer(exercise.name)
    for seed in SEEDS:
        for group, cases in cases_of(exercise, seed):
            found = [sizes_of(case, answer) & numbers_on_the_page(lesson) for case in cases]
            assert not all(found), f"{group.name}, seed {seed}: {found}"


@every_exercise
def test_two_sizes_of_a_case_are_never_equal_by_chance(lesson, exercise):
    """A case has as many different sizes on every seed, so that axes mixed up once are always seen."""
    answer = lesson.reference_answer(exercise.name)
    counts: dict[tuple[str, int], set[int]] = {}
    for seed in SEEDS:
        for group, cases in cases_of(exercise, seed, deliberate=True):
            for index, each in enumerate(cases):
                counts.setdefault((group.name, index), set()).add(len(sizes_of(each, answer)))
    assert not {place: found for place, found in counts.items() if len(found) > 1}


def test_heads_come_with_sizes_that_none_of_them_has():
    draws = [Draw(seed).heads(4) for seed in range(200)]
    assert {heads for heads, *_ in draws} == set(Draw.head_counts)
    for heads, head_size, *others in draws:
        assert len({heads, head_size, heads * head_size, *others}) == 7


def test_an_indivisible_width_leaves_some_numbers_over():
    for seed in range(200):
        width, heads = Draw(seed).indivisible()
        assert width > heads and width % heads


def reference(name):
    lesson, _ = COURSE.exercise(name)
    return lesson.reference_answer(name)


def verdict_on(name, answer, seed=5):
    return judged(COURSE.exercise(name)[1], reference(name), answer, seed)


def groups_lost(verdict):
    return [group.name for group in verdict.groups if not group.is_earned]


# ---- what is kept of an earlier call ---------------------------------------------------------------


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
    right, masks = reference("masked_attention"), []

    def goes_on_with_an_earlier_mask(query, key=None, value=None, mask=None):
        result = right(query, key, value, mask)
        if mask is not None:
            masks.append(mask)
        for old in masks:
            if mask is None and old.shape[-2:] == result[1].shape[-2:]:
                return right(query, key, value, old)
        return result

    # On this seed no case without a mask has the size of an earlier mask, so all first calls are right.
    verdict = verdict_on("masked_attention", goes_on_with_an_earlier_mask, seed=6)
    assert verdict.points < verdict.max_points and kinds(verdict)[0] == "wrong_without_optional"


def first_result(layer, forward, x, *args, **kwargs):
    if not hasattr(layer, "saved"):
        layer.saved = forward(layer, x, *args, **kwargs)
    return layer.saved


def result_of_training(layer, forward, x, *args, **kwargs):
    if layer.training:
        layer.saved = forward(layer, x, *args, **kwargs)
        return layer.saved
    return layer.saved if hasattr(layer, "saved") else forward(layer, x, *args, **kwargs)


def only_the_first_length(layer, forward, x, *args, **kwargs):
    if not hasattr(layer, "length"):
        layer.length = x.shape[-2]
    return forward(layer, x[..., : layer.length, :], *args, **kwargs)


LAYERS = ["AttentionHead", "CausalSelfAttention", "MultiHeadAttention", "EfficientMultiHeadAttention"]


@pytest.mark.parametrize("name", [*LAYERS, "PositionalEncoding"])
@pytest.mark.parametrize("keeps", [first_result, result_of_training, only_the_first_length])
def test_a_layer_that_keeps_a_result_is_seen(name, keeps):
    """A layer that is right at its first call and keeps something of it is seen."""
    right = reference(name)

    def forward(self, x, *args, **kwargs):
        return keeps(self, right.forward, x, *args, **kwargs)

    verdict = verdict_on(name, type(name, (right,), {"forward": forward}))
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


# ---- what is changed of the arguments ---------------------------------------------------------------


def masked(scores, mask):
    return torch.softmax(scores.masked_fill(~mask, -torch.inf), -1).masked_fill(~mask, 0.0)


def masked_in_place(scores, mask):
    scores[~mask.expand_as(scores)] = -torch.inf
    return torch.softmax(scores, -1).masked_fill(~mask, 0.0)


def test_the_course_takes_one_group(tmp_path):
    """So does an installed one: a learner's tutor has checks and notebooks, and no nbgrader_config.py."""
    _, checks = COURSE.exercise("masked_softmax")
    assert verdict_on("masked_softmax", masked).points == checks.points
    verdict = verdict_on("masked_softmax", masked_in_place)
    assert groups_lost(verdict) == [checks.groups[0].name]
    assert "changes its input `scores`" in verdict.message
    for folder in ("checks", "source"):
        (tmp_path / folder).symlink_to(COURSE.root / folder)
    _, installed = open_course(tmp_path).exercise("masked_softmax")
    assert checks.changed_arguments == installed.changed_arguments == "one group"


# ---- masks -----------------------------------------------------------------------------------------


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
    """A number far enough below all scores does; no accepted alternative of these layers has one."""
    for number in (-1e3, -1e4, -1e9, torch.finfo(torch.float32).min):
        answer = type(name, (reference(name),), {"forward": forward, "number": number})
        verdict = verdict_on(name, answer, seed=4)
        assert (verdict.points == verdict.max_points) == (number <= -1e9), number


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


@pytest.mark.parametrize(
    "name",
    ["masked_softmax", "masked_attention", "AttentionHead", "MultiHeadAttention"]
    + ["EfficientMultiHeadAttention", "GroupedQueryAttention", "RotaryAttention"],
)
def test_a_mask_has_a_row_per_query(name):
    right, (_, exercise) = reference(name), COURSE.exercise(name)
    wrong = row_per_sentence(right.forward if inspect.isclass(right) else right)
    if inspect.isclass(right):
        wrong = type(name, (right,), {"forward": wrong})
    words = ("mask", "equal", "batches")
    groups = [group for group in exercise.groups if any(word in group.name for word in words)]
    drawn = [draw_group(exercise, group, right, 0) for group in groups]
    for answer, is_right in ((right, True), (wrong, False)):
        passed = [compare_group(exercise, each, answers_of(answer, each.calls)).passed for each in drawn]
        assert all(passed) is is_right


# ---- a variance that no one measured ---------------------------------------------------------------

VARIANCE = COURSE.exercise("score_variance")[1]
# d_k and an error that is drawn from seed and size, but no pair of vectors.
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


@pytest.mark.parametrize("error", MADE_UP.values(), ids=MADE_UP)
def test_a_variance_that_no_one_measured_earns_nothing(error):
    def answer(d_k, samples=10_000, seed=0):
        return float(d_k * (1 + error(random.Random(f"{seed} {samples} {d_k}"), d_k, samples)))

    assert [verdict_on("score_variance", answer, seed).points for seed in range(5)] == [0] * 5


def one_pair_after_the_other(d_k, samples=10_000, seed=0):
    torch.manual_seed(seed)
    return torch.stack([torch.randn(d_k) @ torch.randn(d_k) for _ in range(samples)]).var().item()


def about_zero(d_k, samples=10_000, seed=0):
    generator = torch.Generator().manual_seed(seed)
    query, key = torch.randn(2, samples, d_k, generator=generator)
    return (query * key).sum(dim=-1).square().mean().item()


def with_numpy(d_k, samples=10_000, seed=0):
    query, key = np.random.default_rng(seed).standard_normal((2, samples, d_k))
    return np.einsum("nd,nd->n", query, key).var()


@pytest.mark.parametrize("answer", [one_pair_after_the_other, about_zero, with_numpy])
def test_any_measured_variance_gets_full_marks(answer):
    assert verdict_on("score_variance", answer, seed=11).points == VARIANCE.points


def test_measured_variances_stay_within_the_limit():
    """Massart: the largest distance passes t with a chance of at most 2 exp(-2 n t²)."""
    scatter = sys.modules[VARIANCE.groups[0].make.__module__.rsplit(".", 1)[0] + ".score_variance_scatter"]
    dice = np.random.default_rng(5)
    distances = [scatter.furthest(dice.random(200)) for _ in range(2000)]
    assert np.mean(np.array(distances) > 0.1) < 2 * math.exp(-2 * 200 * 0.1**2)
    assert max(distances) < scatter.allowed(200)
    assert 2 * math.exp(-2 * 200 * scatter.allowed(200) ** 2) == pytest.approx(1e-7)


# ---- lesson 11 counts memory, also what is held beside torch ----


def in_numpy(query, key, value, causal):
    scores = query.numpy() @ key.numpy().T / query.shape[-1] ** 0.5
    if causal:
        scores[np.triu_indices(len(scores), 1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    total = weights.sum(axis=-1, keepdims=True)
    logsumexp = scores.max(axis=-1) + np.log(total[:, 0])
    return torch.from_numpy(weights / total @ value.numpy()), torch.from_numpy(logsumexp)


@pytest.mark.parametrize("where", [False, True])
def test_a_matrix_in_numpy_costs_the_points_for_memory(where):
    right = reference("flash_attention")

    def answer(query, key, value, block_size, causal=False):
        if query.dim() == 2 and len(query) > 100 and causal == where:
            return in_numpy(query, key, value, causal)
        return right(query, key, value, block_size, causal)

    (lost,) = groups_lost(verdict_on("flash_attention", answer, seed=3))
    assert lost.startswith("memory")
