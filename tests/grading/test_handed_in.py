"""Whatever is handed to an answer stays as it was: models, tokenizers, lists and dicts, not only tensors."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch

from attention_lab.authoring import Exercise, ask, made_by
from nbjudge.ask.answers import read_reply
from nbjudge.ask.program import respond
from nbjudge.course.course import open_course
from nbjudge.judge.judge import judge

COURSE = open_course(Path(__file__).parents[2])


def verdict_on(exercise, reference, answer, seed=5):
    def ask(_name, calls, watch):
        return read_reply(respond.answer_calls(answer, calls, watch), len(calls))

    return judge(exercise, reference, ask, seed)


# ---- objects, lists and dicts ---------------------------------------------------------------------


def counter(words):
    class Counter:
        def __init__(self, known):
            self.known, self.asked = {"numbers": known}, 0
            self.mean = torch.zeros(2)

        def count(self, word):
            self.asked += 1
            return self.known["numbers"].get(word, 0)

    return Counter(words)


exercise = Exercise("total", results=("total",))


@exercise.group("words", points=2)
def words(draw):
    known = {"a": draw.integer(20, 90), "b": draw.integer(20, 90)}
    yield ask(made_by(counter, words=known), ["a", "b", "c"], {"weights": [1, 2, 3]})


def total(counter, words, options):
    return sum(counter.count(word) * weight for word, weight in zip(words, options["weights"], strict=True))


def after(change):
    def answer(counter, words, options):
        result = total(counter, words, options)
        change(counter, words, options)
        return result

    return answer


CHANGES = {
    "a list": (lambda counter, words, options: words.sort(reverse=True), "input `words`"),
    "a list that is emptied": (lambda counter, words, options: words.clear(), "input `words`"),
    "a dict": (lambda counter, words, options: options.update(seen=1), "input `options`"),
    "a list in a dict": (lambda counter, words, options: options["weights"].pop(), "input `options`"),
    "an attribute": (lambda counter, words, options: setattr(counter, "name", 3), "`counter`"),
    "what an object knows": (
        lambda counter, words, options: counter.known["numbers"].update(a=1),
        "`known.numbers.a` of `counter`",
    ),
    "an object's tensor": (lambda counter, words, options: counter.mean.add_(1), "`mean` of `counter`"),
}


def test_what_the_right_answer_changes_may_be_changed():
    assert verdict_on(exercise, total, total).points == 2
    assert verdict_on(exercise, total, after(lambda *_: None)).points == 2


@pytest.mark.parametrize(("change", "named"), CHANGES.values(), ids=CHANGES)
def test_what_is_handed_over_and_changed_costs_the_points(change, named):
    verdict = verdict_on(exercise, total, after(change))
    assert verdict.points == 0
    assert f"changes {'its ' if named.startswith('input') else ''}{named}" in verdict.message


# ---- the models of the last lesson ------------------------------------------------------------------


def spoiled(name, spoil):
    lesson, checks = COURSE.exercise(name)
    right = lesson.reference_answer(name)

    def answer(*args, **kwargs):
        result = right(*args, **kwargs)
        (model,) = [each for each in args if isinstance(each, torch.nn.Module)]
        spoil(model)
        return result

    return checks, right, answer


def moved(model):
    with torch.no_grad():
        next(model.parameters()).add_(0.5)


def with_gradients(model):
    sum(parameter.sum() for parameter in model.parameters()).backward()


def frozen(model):
    for parameter in model.parameters():
        parameter.data = parameter.data.double()


@pytest.mark.parametrize("name", ["evaluate", "predict"])
@pytest.mark.parametrize("spoil", [moved, with_gradients, frozen])
def test_a_model_that_is_to_be_looked_at_only_is_left_as_it_was(name, spoil):
    checks, right, answer = spoiled(name, spoil)
    verdict = verdict_on(checks, right, answer)
    assert verdict.points < verdict.max_points
    assert "of `model`: leave what belongs to the caller as it was" in verdict.message


def test_training_may_change_the_model_and_its_optimizer():
    lesson, checks = COURSE.exercise("train_epoch")
    right = lesson.reference_answer("train_epoch")
    assert verdict_on(checks, right, partial(right)).points == checks.points
