"""Answers that keep something from one call to the next are right once, and lose their points."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from nbjudge.authoring.cases import case
from nbjudge.authoring.exercise import Exercise
from nbjudge.calls import read_reply
from nbjudge.course.course import open_course
from nbjudge.judge.changed_values import changed_values
from nbjudge.judge.scoring import judge_exercise
from nbjudge.probe import respond

COURSE = open_course(Path(__file__).parents[2])


def verdict_on(name, answer, seed=5):
    lesson, exercise = COURSE.exercise(name)

    def call_answer(_name, calls, watched_calls):
        return read_reply(respond.answer_calls(answer, calls, watched_calls), len(calls))

    return judge_exercise(exercise, lesson.reference_answer(name), call_answer, seed)


def reference(name):
    lesson, _ = COURSE.exercise(name)
    return lesson.reference_answer(name)


def by_shape(right):
    """Keeps its result for each shape."""
    results = {}

    def answer(*args, **kwargs):
        shapes = tuple(getattr(value, "shape", value) for value in (*args, *kwargs.values()))
        if shapes not in results:
            results[shapes] = right(*args, **kwargs)
        return results[shapes]

    return answer


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
    assert verdict.points == 0
    assert "it keeps something of an earlier call" in verdict.message


def test_what_is_right_by_luck_is_not_called_kept():
    exercise = Exercise("doubled", results=("result",))
    exercise.group("small numbers", points=1)(lambda draw: [case(np.array([1.0]))])
    exercise.group("large numbers", points=1)(lambda draw: [case(np.array([3.0]))])

    def wrong_below_two(x):
        return 2 * x if x[0] >= 2 else x

    def put(_name, calls, watched_calls):
        return read_reply(respond.answer_calls(wrong_below_two, calls, watched_calls), len(calls))

    verdict = judge_exercise(exercise, lambda x: 2 * x, put, seed=5)
    assert verdict.points == 0
    sentences = [finding.sentence for finding in verdict.findings]
    assert "“large numbers” is right on the first inputs only by chance" in sentences[-1]
    assert len(sentences) == 2 and "keeps something" not in " ".join(sentences)


def test_a_constant_that_is_right_by_luck_is_not_called_kept():
    exercise = Exercise("is_large", results=("answer",))
    exercise.group("large numbers", points=1)(lambda draw: [case(np.array([n])) for n in (1.5, 1.6, 1.7)])
    exercise.group("small numbers", points=1)(lambda draw: [case(np.array([n])) for n in (0.1, 0.2)])
    verdict = judge_function(exercise, lambda x: bool(x[0] > 1), lambda x: True)
    assert verdict.points == 0
    (finding,) = verdict.findings
    assert finding.sentence == (
        "`is_large` gives the same answer to 5 calls whose right answers differ. "
        "Check that it uses its arguments, and that its condition can be False at all."
    )
    assert "yours is True" in finding.evidence


@pytest.mark.parametrize("constant", [True, False])
def test_a_constant_has_no_mistake_that_explains_only_some_groups(constant):
    verdict = verdict_on("order_matters", lambda attend, x, permutation: constant)
    assert verdict.points == 0
    (finding,) = verdict.findings
    assert "gives the same answer" in finding.sentence and finding.mistake is None


@pytest.mark.parametrize("form", [bool, lambda decision: np.array([decision, True])])
def test_a_wrong_decision_that_keeps_nothing_is_not_called_kept(form):
    """Of two possible values nearly every call has an earlier one like it."""
    exercise = Exercise("is_positive", results=("answer",), retest_factor=2.0)
    exercise.group("small", points=1)(lambda draw: [case(np.array([n])) for n in (1.2, -1.2)])
    exercise.group("large", points=1)(lambda draw: [case(np.array([n])) for n in (3.0, 4.0)])
    verdict = judge_function(exercise, lambda x: form(x[0] > 0), lambda x: form(0 < x[0] < 2))
    assert verdict.points == 0
    sentences = " ".join(finding.sentence for finding in verdict.findings)
    assert "“small” is right on the first inputs only by chance" in sentences
    assert "keeps something" not in sentences


def test_what_is_wrong_without_optional_arguments_is_not_only_called_kept():
    exercise = Exercise("total", results=("result",))
    exercise.group("weighted", points=1)(lambda draw: [case(np.array([1.0, 2.0]), np.array([3.0, 4.0]))])

    def total(x, weights=None):
        return (x if weights is None else x * weights).sum()

    def wrong_without_weights(x, weights=None):
        return total(x, weights) if weights is not None else x.mean()

    def put(_name, calls, watched_calls):
        return read_reply(respond.answer_calls(wrong_without_weights, calls, watched_calls), len(calls))

    verdict = judge_exercise(exercise, total, put, seed=5)
    assert verdict.points == 0
    assert "without the optional ones" in verdict.message and "wrong without them" in verdict.message


def test_numbers_that_cannot_come_up_are_not_asked():
    exercise = Exercise("root", results=("result",), retest_factor=2.0)
    exercise.group("from one on", points=1)(lambda draw: [case(np.array([1.0, 4.0]))])

    def right_from_one_on(x):
        return np.sqrt(np.maximum(x, 1.0))

    def put(_name, calls, watched_calls):
        return read_reply(respond.answer_calls(right_from_one_on, calls, watched_calls), len(calls))

    assert judge_exercise(exercise, np.sqrt, put, seed=5).points == 1


def test_a_mask_that_is_kept_is_seen():
    # On this seed no case without a mask has the size of an earlier mask, so all first calls are right.
    verdict = verdict_on("masked_attention", last_mask(reference("masked_attention")), seed=6)
    assert verdict.points < verdict.max_points
    assert "it keeps something of an earlier call" in verdict.message


class Kept:
    """Layers that are right at their first call."""

    @staticmethod
    def slice_for_good(right):
        class PositionalEncoding(right):
            def forward(self, x):
                if not hasattr(self, "rows"):
                    self.rows = super().forward(torch.zeros_like(x))[..., :1, : x.shape[-2], :]
                return super().forward(x) if self.rows.shape != x.shape else x + self.rows

        return PositionalEncoding

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
def test_a_layer_that_keeps_something_of_an_earlier_call_is_seen(name, wrap):
    verdict = verdict_on(name, wrap(reference(name)))
    assert verdict.points < verdict.max_points
    assert "an object of it" in verdict.message


def test_what_is_kept_and_right_costs_nothing():
    right, cache = reference("softmax"), {}

    def answer(scores):
        key = (scores.shape, scores.dtype, tuple(scores.detach().reshape(-1).tolist()))
        if key not in cache or scores.requires_grad:
            cache[key] = right(scores)
        return cache[key].clone()

    verdict = verdict_on("softmax", answer)
    assert verdict.points == verdict.max_points, verdict.message


@pytest.mark.parametrize(("accepts_any_order", "points"), [(True, 0), (False, 1)])
def test_whole_numbers_change_places_where_the_reference_accepts_it(accepts_any_order, points):
    exercise = Exercise("tripled", results=("result",))
    exercise.group("whole numbers", points=1)(lambda draw: [case(np.arange(4))])

    def reference(x):
        if x[0] and not accepts_any_order:
            raise ValueError("the numbers begin with 0")
        return 3 * x

    def put(_name, calls, watched_calls):
        return read_reply(respond.answer_calls(answer, calls, watched_calls), len(calls))

    answer = by_shape(lambda x: 3 * x)
    assert judge_exercise(exercise, reference, put, seed=5).points == points
    answer = reference  # the control
    assert judge_exercise(exercise, reference, put, seed=5).points == 1


WORDS = {"cat": 2, "dog": 3, "sat": 5, "ran": 7, "the": 11}


def mask_sums(x, mask):
    return np.where(mask, x, 0.0).sum(axis=-1)


def places_of_words(text):
    return [WORDS[word] * place for place, word in enumerate(text.split())]


VALUES_IN_ONE_CASE = {
    "a mask with different rows": (lambda x: x.sum(axis=-1), (np.tri(4, dtype=bool),)),
    "a mask with one row": (lambda x: x.sum(axis=-1), (np.array([[True, True, False]]),)),
    "a mask that hides nothing": (lambda x: x.any(axis=-2), (np.ones((3, 4), dtype=bool),)),
    "a tensor's mask": (lambda x: x.float().cumsum(-1), (torch.tensor([True, True, True, False]),)),
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


def judge_function(exercise, reference, answer):
    def call(_name, calls, watched_calls):
        return read_reply(respond.answer_calls(answer, calls, watched_calls), len(calls))

    return judge_exercise(exercise, reference, call, seed=5)


@pytest.mark.parametrize("name", VALUES_IN_ONE_CASE)
def test_a_first_result_is_found_whatever_the_argument_is(name):
    reference, args = VALUES_IN_ONE_CASE[name]
    exercise = Exercise("tallied", results=("result",))
    exercise.group("one case", points=1)(lambda draw: [case(*args)])
    verdict = judge_function(exercise, reference, kept_forever(reference))
    assert verdict.points == 0
    assert "it keeps something of an earlier call" in verdict.message
    assert judge_function(exercise, reference, reference).points == 1  # the control


def test_a_text_of_one_word_becomes_that_of_another_case():
    exercise = Exercise("chosen", results=("result",))
    exercise.group("words", points=1)(lambda draw: [case([4, 9], "sum"), case([4, 9, 1], "largest")])
    choices = {"sum": sum, "largest": max}

    def by_length(numbers, choice):
        results = by_length.results
        return results.setdefault(len(numbers), choices[choice](numbers))

    by_length.results = {}
    reference = lambda numbers, choice: choices[choice](numbers)  # noqa: E731
    assert judge_function(exercise, reference, by_length).points == 0
    assert judge_function(exercise, reference, reference).points == 1


def test_changed_values_keep_what_an_exercise_may_rely_on():
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


def test_a_mask_stays_where_moving_it_shows_what_was_hidden():
    exercise = Exercise("masked sums", results=("result",))
    numbers, mask = np.array([[1.0, np.nan], [2.0, 3.0]]), np.array([[True, False], [True, True]])
    exercise.group("hidden NaN", points=1)(lambda draw: [case(numbers, mask)])
    assert (
        judge_function(exercise, mask_sums, lambda x, m: np.nan_to_num(np.where(m, x, 0)).sum(-1)).points == 1
    )
    assert judge_function(exercise, mask_sums, kept_forever(mask_sums)).points == 0


def test_two_results_of_one_call_name_memory_that_was_never_filled():
    exercise = Exercise("encoding", results=("rows",))
    exercise.group("rows", points=1)(lambda draw: [case(3), case(5)])
    numbers = iter(range(1, 100))

    def half_filled(rows):
        result = torch.full((rows, 2), float(next(numbers)))  # as unwritten memory: other numbers each time
        result[:, 1] = 0
        return result

    (finding,) = judge_function(exercise, lambda rows: torch.zeros(rows, 2), half_filled).findings
    assert "gives two results for one and the same call" in finding.sentence
    assert "part of a `torch.empty` never filled?" in finding.sentence
