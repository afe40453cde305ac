"""Answers that keep something from one call to the next are right once, and lose their points."""

from __future__ import annotations

import numpy as np
import pytest
from judged_answers import by_shape, judged, kinds

from nbjudge.authoring.cases import case
from nbjudge.authoring.exercise import Exercise
from nbjudge.judge.changed_cases import changed_values


def exercise_of(name, *groups, **more):
    """An exercise with one group for each list of arguments of its calls."""
    exercise = Exercise(name, results=("result",), **more)
    for place, group in enumerate(groups):
        exercise.group(f"group {place}", points=1)(lambda draw, group=group: [case(*args) for args in group])
    return exercise


def numbers(*values):
    """The arguments of calls with one number each."""
    return [(np.array([value]),) for value in values]


def doubled(x):
    return 2 * x


def total(x, weights=None):
    return (x if weights is None else x * weights).sum()


def is_positive(form):
    return lambda x: form(x[0] > 0), lambda x: form(0 < x[0] < 2)


def flag_and_true(decision):
    return np.array([decision, True])


POSITIVE = numbers(1.2, -1.2), numbers(3.0, 4.0)
WRONG = {
    "right by luck": (
        exercise_of("doubled", numbers(1.0), numbers(3.0)),
        doubled,
        lambda x: 2 * x if x[0] >= 2 else x,
        ["factor", "right_by_chance"],
    ),
    "a constant that is right by luck": (
        exercise_of("is_large", numbers(1.5, 1.6, 1.7), numbers(0.1, 0.2)),
        lambda x: bool(x[0] > 1),
        lambda x: True,
        ["always_the_same"],
    ),
    # Of two possible values nearly every call has an earlier one like it.
    "a wrong decision": (
        exercise_of("is_positive", *POSITIVE, retest_factor=2.0),
        *is_positive(bool),
        ["value", "right_by_chance"],
    ),
    "wrong decisions": (
        exercise_of("is_positive", *POSITIVE, retest_factor=2.0),
        *is_positive(flag_and_true),
        ["other_case", "right_by_chance"],
    ),
    "wrong without optional arguments": (
        exercise_of("total", [(np.array([1.0, 2.0]), np.array([3.0, 4.0]))]),
        total,
        lambda x, weights=None: x.mean() if weights is None else total(x, weights),
        ["wrong_without_optional"],
    ),
}


@pytest.mark.parametrize(("exercise", "right", "answer", "found"), WRONG.values(), ids=WRONG)
def test_what_keeps_nothing_is_not_called_kept(exercise, right, answer, found):
    assert judged(exercise, right, right).findings == ()  # the control
    verdict = judged(exercise, right, answer)
    assert verdict.points == 0 and kinds(verdict) == found


def test_numbers_that_cannot_come_up_are_not_asked():
    exercise = exercise_of("root", [(np.array([1.0, 4.0]),)], retest_factor=2.0)
    assert judged(exercise, np.sqrt, lambda x: np.sqrt(np.maximum(x, 1.0))).points == 1


@pytest.mark.parametrize(("accepts_any_order", "points"), [(True, 0), (False, 1)])
def test_whole_numbers_move_if_the_reference_agrees(accepts_any_order, points):
    """Whole numbers change places where the reference accepts it."""

    def tripled(x):
        if x[0] and not accepts_any_order:
            raise ValueError("the numbers begin with 0")
        return 3 * x

    exercise = exercise_of("tripled", [(np.arange(4),)])
    assert judged(exercise, tripled, by_shape(lambda x: 3 * x)).points == points
    assert judged(exercise, tripled, tripled).points == 1  # the control


WORDS = {"cat": 2, "dog": 3, "sat": 5, "ran": 7, "the": 11}


def mask_sums(x, mask):
    return np.where(mask, x, 0.0).sum(axis=-1)


def places_of_words(text):
    return [WORDS[word] * place for place, word in enumerate(text.split())]


VALUES_IN_ONE_CASE = {
    "a mask with different rows": (lambda x: x.sum(axis=-1), (np.tri(4, dtype=bool),)),
    "a mask with one row": (lambda x: x.sum(axis=-1), (np.array([[True, True, False]]),)),
    "a mask that hides nothing": (lambda x: x.any(axis=-2), (np.ones((3, 4), dtype=bool),)),
    "an array of texts": (lambda x: [WORDS[each] for each in x], (np.array(["cat", "dog"]),)),
    "a text": (places_of_words, ("the cat sat",)),
    "a text whose order does not matter": (lambda x: sum(map(len, x.split())), ("three mice ran",)),
    "a list of texts": (lambda x: [WORDS[each] for each in x], (["the", "dog", "ran"],)),
    "a list of whole numbers": (sum, ([3, 1, 7],)),
    "a list of fractions": (sum, ([0.5, 1.25],)),
    "a list of flags": (sum, ([True, True, False],)),
    "a list of lists": (lambda x: [sum(each) for each in x], ([[3, 1, 7], [2, 9, 4]],)),
}


def kept_forever(right):
    results = []

    def answer(*args):
        results.append(right(*args))
        return results[0]

    return answer


@pytest.mark.parametrize(("right", "args"), VALUES_IN_ONE_CASE.values(), ids=VALUES_IN_ONE_CASE)
def test_a_kept_first_result_is_found(right, args):
    """A first result is found whatever the argument is."""
    exercise = exercise_of("tallied", [args])
    verdict = judged(exercise, right, kept_forever(right))
    assert verdict.points == 0 and kinds(verdict) == ["keeps_state"]
    assert judged(exercise, right, right).points == 1  # the control


def test_a_word_becomes_that_of_another_case():
    """A text of one word becomes that of another case."""
    exercise = exercise_of("chosen", [([4, 9], "sum"), ([4, 9, 1], "largest")])
    results = {}

    def chosen(numbers, choice):
        return {"sum": sum, "largest": max}[choice](numbers)

    def by_length(numbers, choice):
        return results.setdefault(len(numbers), chosen(numbers, choice))

    assert [judged(exercise, chosen, answer).points for answer in (by_length, chosen)] == [0, 1]


def test_changed_values_keep_their_form():
    """Changed values keep what an exercise may rely on."""
    padding = np.array([[True, True, False], [True, False, False], [True, True, True]])
    ordered, order, text = [1, 2, 5, 9], [2, 0, 1, 3], "the cat sat"
    values = (padding, padding[:1], ordered, order, ["a", "b"], text, 7, True)
    for changed in changed_values(values, 0.5):
        masks, (ordered_again, order_again, names, text_again, number, flag) = changed[:2], changed[2:]
        for mask, before in zip(masks, values, strict=False):
            assert mask.shape == before.shape and mask[..., 0].all()
            assert (np.diff(mask.astype(int)) <= 0).all()  # padding is at the end
        assert ordered_again == sorted(set(ordered_again)) and len(ordered_again) == 4
        assert min(ordered_again) == 1 and max(ordered_again) == 9
        assert sorted(order_again) == [0, 1, 2, 3]
        assert names == ["a", "b"] and (number, flag) == (7, True)
        assert set(text_again.split()) <= set(text.split()) and len(text_again.split()) == 3


def test_a_mask_stays_if_moving_it_shows_nan():
    """A mask stays where moving it shows what was hidden."""
    exercise = exercise_of(
        "sums", [(np.array([[1.0, np.nan], [2.0, 3.0]]), np.array([[True, False], [True, True]]))]
    )
    other_way = judged(exercise, mask_sums, lambda x, mask: np.nan_to_num(np.where(mask, x, 0)).sum(-1))
    assert other_way.points == 1
    assert judged(exercise, mask_sums, kept_forever(mask_sums)).points == 0
