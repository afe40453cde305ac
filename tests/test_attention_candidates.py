"""The functions that `is_correct` is asked about: what their labels say, and nothing that tells it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import CodeType

import pytest
import torch

from attention_lab.authoring import Draw
from nbjudge.calls import caller_of
from nbjudge.course.course import open_course
from nbjudge.judge.scoring import judge_exercise
from nbjudge.probe import respond
from nbjudge.values.packing import MadeInKernel, pack, unpack

COURSE = open_course(Path(__file__).parents[1])
FAMILIES = ("scale", "softmax", "mask", "empty", "inputs", "company", "gradients", "tensors")
every_family = pytest.mark.parametrize("family", FAMILIES)
pytestmark = [
    pytest.mark.integration,
    pytest.mark.lesson,
]

# What a function may hold besides names of one letter: the words of its signature, and torch's and Python's.
SIGNATURE = {"attention", "query", "key", "value", "mask", "number", "made"}
PYTHON = {"len", "list", "zip", "max", "math", "sqrt", "inf", "torch"}


@pytest.fixture(scope="module")
def lesson():
    torch.set_num_threads(1)
    return COURSE.assignments["silent_bugs"]


@pytest.fixture(scope="module")
def module(lesson):
    """The checks file of `is_correct`, which imports what there is to see."""
    return sys.modules[lesson.exercises["is_correct"].groups[0].make.__module__]


@pytest.fixture(scope="module")
def styles(module):
    """The module that puts functions together."""
    return sys.modules[module.Family.__module__]


def callable_of(function):
    """The function as the student's process gets it: from the compiled code that was sent."""
    return respond.make(unpack(pack(function), with_code=True))


def points_in_lesson_3(function):
    """(points, of how many) where the function is handed in as lesson 3's `masked_attention`."""
    lesson, exercise = COURSE.exercise("masked_attention")
    call = caller_of(function)

    def with_ready_made_steps(name, calls, _watched_calls):
        return call(name, calls, {})

    reference = lesson.reference_answer(exercise.name)
    verdict = judge_exercise(exercise, reference, with_ready_made_steps, seed=3)
    return verdict.points, verdict.max_points


# ---- the labels are right -----------------------------------------------------------------------


@every_family
def test_the_reference_answers_what_the_labels_say(lesson, module, family):
    is_correct = lesson.reference_answer("is_correct")
    for seed in range(5):
        for candidate in module.drawn_candidates(Draw(seed), family):
            label = is_correct(callable_of(candidate.function))
            assert label is candidate.right, f"seed {seed}: {candidate.kind}\n{candidate.function.code}"


def test_right_functions_are_right_in_lesson_3(styles):
    plain = {name: ways[0] for name, ways in styles.STEPS.items()}
    bodies = [plain | {name: way} for name, ways in styles.STEPS.items() for way in ways]
    family = styles.Family(Draw(0), {})
    of_another_make = [family.of_another_make(which) for which in range(len(styles.WHOLE))]
    for function in [*map(family.in_steps, bodies), *of_another_make]:
        points, max_points = points_in_lesson_3(callable_of(function))
        assert points == max_points, function.code


@every_family
def test_broken_functions_are_broken_in_lesson_3(module, family):
    functions = module.Family(Draw(1), module.FAMILIES[family])
    for broken in functions.broken_ones():
        points, max_points = points_in_lesson_3(callable_of(broken.function))
        assert points < max_points, broken.kind


# ---- no guessing, no telling ----------------------------------------------------------------------


@every_family
def test_a_group_holds_both_kinds_in_an_order_that_is_drawn(module, family):
    orders = set()
    for seed in range(6):
        labels = [candidate.right for candidate in module.drawn_candidates(Draw(seed), family)]
        assert len(labels) >= 8
        assert 3 <= sum(labels) <= len(labels) - 5
        orders.add(tuple(labels))
    assert len(orders) >= 4


def test_every_family_is_asked_about(lesson, module):
    groups = lesson.exercises["is_correct"].groups
    assert tuple(module.FAMILIES) == FAMILIES
    assert [len(group.cases(Draw(2))) for group in groups] == [
        len(module.drawn_candidates(Draw(2), f)) for f in FAMILIES
    ]


def test_one_answer_for_all_and_a_coin_earn_nothing(lesson):
    exercise, reference = lesson.exercises["is_correct"], lesson.reference_answer("is_correct")
    coin = torch.Generator().manual_seed(0)

    def thrown(_attention):
        return bool(torch.rand(1, generator=coin) < 0.5)

    for guess in (thrown, lambda _attention: True, lambda _attention: False):
        assert judge_exercise(exercise, reference, caller_of(guess), seed=5).points == 0


def test_no_name_and_no_text_in_a_function_tells_its_label(module):
    for family in FAMILIES:
        for seed in range(3):
            for candidate in module.drawn_candidates(Draw(seed), family):
                sent = unpack(pack(candidate.function), with_code=True)
                assert sent.code == ""
                function = respond.make(sent)
                assert function.__doc__ is None
                assert (function.__name__, function.__qualname__) == ("attention", "attention")
                assert telling(function.__code__) == set(), candidate.function.code
                assert function.__globals__.keys() - {"__builtins__"} <= {
                    *("torch", "nn", "F", "math", "number", "attention", "made", "n")
                }


def test_a_name_that_tells_would_be_found():
    function = MadeInKernel(
        "def attention(query):\n    unscaled = query\n    return unscaled\nmade = attention"
    )
    assert telling(respond.make(function).__code__) == {"unscaled"}


@every_family
def test_a_group_has_one_code_and_each_draw_its_own(module, family):
    codes = set()
    for seed in range(5):
        (code,) = {code_of(candidate) for candidate in module.drawn_candidates(Draw(seed), family)}
        codes.add(code)
    assert len(codes) == 5


def test_a_table_of_the_code_of_other_draws_earns_nothing(lesson, module):
    seen = {True: set(), False: set()}
    for seed in range(6):
        for family in FAMILIES:
            for candidate in module.drawn_candidates(Draw(seed), family):
                seen[candidate.right].add(code_of(candidate).co_code)
    exercise, reference = lesson.exercises["is_correct"], lesson.reference_answer("is_correct")

    def looked_up(attention):
        return attention.__code__.co_code in seen[True] - seen[False]

    assert judge_exercise(exercise, reference, caller_of(looked_up), seed=5).points == 0


def code_of(candidate) -> CodeType:
    return callable_of(candidate.function).__code__


def telling(code: CodeType) -> set[str]:
    """The words in a function's code that are neither the signature's, nor torch's, nor one letter."""
    texts = [constant for constant in code.co_consts if isinstance(constant, str)]
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    names = {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}
    known = SIGNATURE | PYTHON | set(dir(torch)) | set(dir(torch.Tensor)) | set(dir(torch.nn.functional))
    words = {name for name in names - known if len(name) > 1 and not name.startswith(".")}
    # An einsum's equation is the only text.
    words |= {text for text in texts if "->" not in text and not text.startswith("attention.<locals>")}
    return words.union(*map(telling, inner))
