"""The smallest case that the tutor shows: small, answered by the reference, and wrong in the learner's."""

import re

import pytest
import torch

from nbjudge.calls import read_reply
from nbjudge.course.course import find_course
from nbjudge.judge.drawn_group import draw_groups
from nbjudge.judge.scoring import judge_groups
from nbjudge.probe import respond
from nbjudge.tutor import smallest as smallest_module
from nbjudge.tutor.help import show_case
from nbjudge.tutor.smallest import smallest_difference
from nbjudge.values.kinds import kind_of


@pytest.fixture(scope="module")
def course(pytestconfig):
    return find_course(pytestconfig.rootpath)


@pytest.fixture(autouse=True)
def as_long_as_it_takes(monkeypatch):
    """What is found must not depend on how busy the machine is."""
    monkeypatch.setattr(smallest_module, "MOST_SECONDS", 60)


def caller(function):
    return lambda name, calls, watched_calls: read_reply(
        respond.answer_calls(function, calls, watched_calls), len(calls)
    )


def smallest(course, name, mistake):
    lesson, exercise = course.exercise(name)
    (answer,) = (each.answer for each in exercise.mistakes if each.name == mistake)
    reference = lesson.reference_answer(name)
    groups = draw_groups(exercise, reference, 7)
    # As a tutor keeps them.
    runs = judge_groups(exercise, groups, caller(answer), 7).without_answers().results
    assert all(each.value is None for run in runs for each in run.answers)
    return smallest_difference(exercise, reference, runs, caller(answer))


@pytest.mark.parametrize(
    ("name", "mistake", "shape"),
    [
        ("softmax", "over_the_first_dimension", (2, 1)),
        ("softmax", "sum_without_its_dimension", (2, 1)),
        ("split_heads", "view_without_transpose", (1, 2, 2)),
        ("split_heads", "interleaved", (1, 1, 4)),
    ],
)
def test_it_can_be_followed_by_hand(course, name, mistake, shape):
    found = smallest(course, name, mistake)
    given = found.case.args[0]
    assert given.shape == shape
    assert torch.equal(given, given.round()) and given.abs().max() <= 3


def test_a_layer_is_small_and_so_are_its_weights(course):
    found = smallest(course, "MultiHeadAttention", "MaskReachesOneHead")
    assert found.case.build.args == (2, 2)  # one head could not show it
    state = found.case.build.state
    assert {tuple(each.shape) for name, each in state.items() if "heads" in name} == {(1, 2)}
    assert all(torch.equal(each, each.round()) for each in state.values())


def test_what_only_large_numbers_show_keeps_them(course):
    found = smallest(course, "softmax", "nothing_subtracted")
    assert found.case.args[0].numel() == 1 and found.case.args[0].abs().max() > 80
    assert found.answer.value.isnan().all()


@pytest.mark.parametrize(("name", "least"), [("softmax", 0.9), ("masked_softmax", 0.85), ("causal_mask", 1)])
def test_most_mistakes_have_one(course, name, least):
    """What only gradients or large numbers show has none that is small."""
    _, exercise = course.exercise(name)
    found = [smallest(course, name, mistake.name) for mistake in exercise.mistakes]
    assert sum(each is not None for each in found) / len(found) >= least
    for each in filter(None, found):
        sizes = [size for arg in each.case.args if kind_of(arg) is not None for size in arg.shape]
        assert max(sizes, default=0) <= 4


@pytest.mark.parametrize(
    ("name", "mistake"), [("rotate", "halves_for_pairs"), ("rotate_halves", "pairs_for_halves")]
)
def test_sizes_that_hang_together_do_not_come_apart_when_they_shrink(course, name, mistake):
    found = smallest(course, name, mistake)
    vectors, angles = found.case.args
    assert vectors.shape[-1] == 2 * angles.shape[-1]


def test_a_number_of_another_type_is_shown_with_its_type(course):
    lesson, exercise = course.exercise("cache_bytes")
    found = smallest(course, "cache_bytes", "a_float")
    (part,) = show_case(exercise, lesson.reference_answer("cache_bytes"), found)
    assert re.search(r"# yours\n(\d+)  # a Python float\n\n# right\n\1  # an int$", part.text)
