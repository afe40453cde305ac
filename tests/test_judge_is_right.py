"""The judge is right: right answers get full marks, every mistake loses points and is named first.

Every exercise of every lesson is held to this, so a new lesson needs no test of its own.
"""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from attention_lab.authoring import Tolerance
from nbjudge.authoring.cases import as_kernel_code
from nbjudge.calls import Reply, answers_of, caller_of
from nbjudge.course import open_course
from nbjudge.judge import scoring as judging
from nbjudge.judge.drawn_group import draw_groups
from nbjudge.judge.scoring import judge_exercise
from nbjudge.probe import respond
from nbjudge.torch import all_memory_of, memory_of, multiplications_of

COURSE = open_course(Path(__file__).parents[1])
# `make test-all` meets every seed. A day's change meets the first two of them; of trained models and of
# numbers that are measured, whose judging takes many times as long, the first.
EVERY_SEED = bool(os.environ.get("EVERY_SEED"))
BLOCK = 25  # seeds in one test
BLOCKS = [range(start, start + BLOCK) for start in range(0, 200, BLOCK)] if EVERY_SEED else [range(2)]
SLOW = {
    "text_classifier",
    "silent_bugs",
    "score_variance",
    "flash_attention",
    "flash_backward",
}  # lessons and exercises
SEEDS_WITH_RETEST = 3 if EVERY_SEED else 1  # on the others a mistake's answers are those it is looked up by
SEEDS_ROUNDED = range(2) if EVERY_SEED else range(1)
# Seconds for one test: a block of a layer with many mistakes takes minutes, and a busy machine more of them.
pytestmark = [
    pytest.mark.integration,
    pytest.mark.lesson,
    pytest.mark.timeout(3600 if EVERY_SEED else 900),
]

# Grades must not depend on the processor, which rounds sums in an order of its own: right answers
# come nowhere near the tolerance, and mistakes do not come near it from the other side.
MARGIN = 5
CODE = re.compile(r"return \w+\(|lambda|\btorch\.\w+\(|\.\w+\(\w|\bdim=-?\d|\s@\s")
# The first exercise of a lesson represents it, where judging it takes seconds.
EXERCISES = [
    pytest.param(
        lesson,
        exercise,
        id=f"{lesson.name}-{exercise.name}",
        marks=() if place > 0 or SLOW & {lesson.name, exercise.name} else pytest.mark.smoke,
    )
    for lesson in COURSE.assignments.values()
    for place, exercise in enumerate(lesson.exercises.values())
]
# All tests of an exercise come one after the other: on one seed they share its questions, and with these
# what the reference and the mistakes answer.
every_exercise = pytest.mark.parametrize(("lesson", "exercise"), EXERCISES, scope="module")
every_block = pytest.mark.parametrize(
    "block", BLOCKS, ids=lambda block: f"seeds-{block.start}-to-{block.stop - 1}"
)
CENTRAL = {
    "softmax",
    "attention_scores",
    "scaled_dot_product_attention",
    "causal_mask",
    "masked_softmax",
    "masked_attention",
    "TextClassifier",
    "train_epoch",
    "is_correct",
}


def caller(function, traced=False):
    """Put calls straight to a function, without a kernel between: the same protocol, many times faster."""
    call = caller_of(function)
    return lambda name, calls, watched_calls: call(name, calls, watched_calls if traced else {})


def caller_with_cache(exercise, reference, mistake, seed):
    """As `caller`, but what the mistake answers is worked out once for all the judgements on a seed.

    The judge itself answers with each mistake when it looks for one that explains a wrong answer.
    """
    questions = draw_groups(exercise, reference, seed)

    first = [call for drawn_group in questions for call in drawn_group.calls]

    def call_answer(_name, calls, _watched_calls) -> Reply:
        if len(calls) != len(first) or any(
            call is not other for call, other in zip(calls, first, strict=True)
        ):
            return Reply(answers_of(mistake.answer, calls))  # in the second round, for instance
        return Reply(
            [
                # What the judge looks a mistake up by is not measured.
                drawn_group.mistake_answer(mistake, index)
                if call["measure"] is None
                else answers_of(mistake.answer, [call])[0]
                for drawn_group in questions
                for index, call in enumerate(drawn_group.calls)
            ]
        )

    return call_answer


def seeds_of(lesson, exercise, block):
    """The seeds of a block that an exercise is judged on."""
    return block[:1] if SLOW & {lesson.name, exercise.name} and not EVERY_SEED else block


def with_tolerance(exercise, factor):
    """The same exercise, which allows `factor` times as much."""
    tolerance = exercise.tolerance
    pairs = (tolerance.float32, tolerance.float64)
    return replace(exercise, tolerance=Tolerance(*((factor * rtol, factor * atol) for rtol, atol in pairs)))


COUNTS = {as_kernel_code(count).code for count in (memory_of, all_memory_of, multiplications_of)}
answer_call = respond._answer


class CountedOnce:
    """Stands for `respond._answer`: counts memory and multiplications once for all seeds.

    They follow from the sizes of what is handed over. A count takes half a second, and a question about
    memory has a dozen different sizes on two hundred seeds.
    """

    def __init__(self) -> None:
        self.known: dict[Any, dict[str, Any]] = {}

    def __call__(self, function, call, recording):
        measure = call.get("measure")
        if measure is None or measure.code not in COUNTS or recording.watched_calls:
            return answer_call(function, call, recording)
        key = function, measure.code, _sizes(call["args"]), _sizes(call["kwargs"])
        if key in self.known:
            return answer_call(function, call | {"measure": None}, recording) | {"measured": self.known[key]}
        answer = answer_call(function, call, recording)
        if "measured" in answer:
            self.known[key] = answer["measured"]
        return answer


def _sizes(value: Any) -> Any:
    """Return what a count may hang on: sizes and dtypes of tensors, and all else as it is."""
    if isinstance(value, torch.Tensor):
        return tuple(value.shape), value.dtype
    if isinstance(value, dict):
        return tuple((name, _sizes(each)) for name, each in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(_sizes, value))
    return value


COUNTED = CountedOnce()


@pytest.fixture(autouse=True)
def counted_once(monkeypatch):
    torch.set_num_threads(1)
    monkeypatch.setattr(respond, "_answer", COUNTED)


@every_exercise
@every_block
def test_right_answers_get_full_marks_on_every_seed(lesson, exercise, block):
    reference = lesson.reference_answer(exercise.name)
    for seed in seeds_of(lesson, exercise, block):
        for answer in (reference, *exercise.accepted_alternatives):
            # What runs is the same on every seed, and noting it is slow.
            call_answer = caller(answer, traced=seed < SEEDS_WITH_RETEST)
            verdict = judge_exercise(exercise, reference, call_answer, seed)
            wrong = f"{answer.__name__}, seed {seed}: {verdict.findings}"
            assert verdict.points == verdict.max_points, wrong


@every_exercise
@every_block
def test_every_mistake_is_named_first(lesson, exercise, block):
    reference = lesson.reference_answer(exercise.name)
    for seed in seeds_of(lesson, exercise, block):
        for mistake in exercise.mistakes:
            # A mistake that answered otherwise when it is asked again would show on any seed.
            alone = seed < SEEDS_WITH_RETEST
            call_answer = (
                caller(mistake.answer) if alone else caller_with_cache(exercise, reference, mistake, seed)
            )
            verdict = judge_exercise(exercise, reference, call_answer, seed)
            assert verdict.points < verdict.max_points, f"{mistake.name}, seed {seed}: no point lost"
            named = verdict.findings[0].mistake
            assert named == mistake.name, f"{mistake.name}, seed {seed}: {verdict.findings}"


@every_exercise
def test_every_cause_loses_points_and_is_told(lesson, exercise):
    reference = lesson.reference_answer(exercise.name)
    for clause, answer in exercise.causes.items():
        verdict = judge_exercise(exercise, reference, caller(answer), seed=0)
        assert verdict.points < verdict.max_points, f"{clause}: no point lost"
        sentences = " ".join(finding.sentence for finding in verdict.findings)
        told = "is the same as if" in sentences or "other numbers" not in verdict.findings[0].sentence
        assert told, f"{clause}: {verdict.findings}"


@every_exercise
def test_a_grade_hangs_on_no_rounding(lesson, exercise, monkeypatch):
    # What is asked and answered does not hang on the tolerance; the diagnosis is not asked for here.
    monkeypatch.setattr(judging, "draw_groups", lambda _, *args: draw_groups(exercise, *args))
    monkeypatch.setattr(judging, "diagnose", lambda *_: [])
    reference = lesson.reference_answer(exercise.name)
    narrow, wide = with_tolerance(exercise, 1 / MARGIN), with_tolerance(exercise, MARGIN)
    for seed in SEEDS_ROUNDED:
        for answer in exercise.accepted_alternatives:
            verdict = judge_exercise(narrow, reference, caller(answer), seed)
            assert verdict.points == verdict.max_points, f"{answer.__name__}, seed {seed}: {verdict.findings}"
        for mistake in exercise.mistakes:
            verdict = judge_exercise(
                wide, reference, caller_with_cache(exercise, reference, mistake, seed), seed
            )
            assert verdict.points < verdict.max_points, f"{mistake.name}, seed {seed}: no point lost"


@every_exercise
def test_enough_mistakes_and_alternatives(lesson, exercise):
    mistakes, ways = (10, 5) if exercise.name in CENTRAL else (6, 2)
    named, accepted = len(exercise.mistakes), len(exercise.accepted_alternatives)
    assert named >= mistakes, f"{exercise.name} names {named} mistakes: {mistakes} are asked for"
    assert accepted >= ways, f"{exercise.name} has {accepted} other ways: {ways} are asked for"


@every_exercise
def test_messages_are_sentences_and_hold_no_code(lesson, exercise):
    for mistake in exercise.mistakes:
        message = mistake.message
        assert message.endswith((".", "?")), f"{mistake.name}: end on a full stop"
        assert len(message) <= 330, f"{mistake.name}: {len(message)} characters, 330 at most"
        assert not CODE.search(message), f"{mistake.name}: say it without code ({CODE.search(message)[0]})"
    messages = [mistake.message for mistake in exercise.mistakes]
    twice = {message for message in messages if messages.count(message) > 1}
    assert not twice, f"several mistakes say one thing: {twice}"
