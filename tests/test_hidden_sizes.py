"""The sizes of hidden cases: no number copied from a lesson's page fits them, nor does one mixed-up axis.

Every exercise of every lesson is held to this, so a new lesson needs no test of its own.
"""

from __future__ import annotations

import ast
import inspect
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from attention_lab.authoring import Case, MadeInKernel
from attention_lab.authoring.draw import Draw
from nbjudge.course.course import open_course
from nbjudge.course.loading import read_notebook
from nbjudge.judge.drawn_group import group_seed

COURSE = open_course(Path(__file__).parents[1])
SEEDS = range(12 if os.environ.get("EVERY_SEED") else 4)
# Whole numbers among the arguments that say how much, which or how far: no axis has their length.
NO_SIZES = {"factor", "offset", "pad_id", "samples", "seed"}
# Groups that are there for sizes that are equal, small or the default say so.
DELIBERATE = ("equal", "square", "one ", "two ", "a single ", "as many ", "as long ")
EXERCISES = [
    pytest.param(lesson, exercise, id=f"{lesson.name}-{exercise.name}")
    for lesson in COURSE.assignments.values()
    for exercise in lesson.exercises.values()
]

pytestmark = pytest.mark.lesson
every_exercise = pytest.mark.parametrize(("lesson", "exercise"), EXERCISES)


@cache
def numbers_on_the_page(lesson) -> set[int]:
    cells = read_notebook(lesson.source_path).cells
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
    """What a case's axes are long, and what its module or result is to be long; 1 only repeats itself."""
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
def test_no_number_copied_from_the_page_fits_a_whole_group(lesson, exercise):
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
            for index, case in enumerate(cases):
                counts.setdefault((group.name, index), set()).add(len(sizes_of(case, answer)))
    assert not {case: found for case, found in counts.items() if len(found) > 1}


def test_heads_come_with_sizes_that_none_of_them_has():
    draws = [Draw(seed).heads(4) for seed in range(200)]
    assert {heads for heads, *_ in draws} == set(Draw.head_counts)
    for heads, head_size, *others in draws:
        assert len({heads, head_size, heads * head_size, *others}) == 7


def test_an_indivisible_width_leaves_some_numbers_over():
    for seed in range(200):
        width, heads = Draw(seed).indivisible()
        assert width > heads and width % heads
