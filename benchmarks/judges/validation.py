"""Validation: right answers behave like the reference, wrong ones differ from it on a stated input.

The inputs are those that the course's case groups draw from many seeds; for mutations also the same inputs
scaled, emptied and doubled, which nbjudge never draws, so that a mutation is not called equivalent only
because nbjudge cannot tell it apart.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from answers import Answer
from attention_lab.examples import with_tensors
from nbjudge import CourseError
from nbjudge.authoring import Exercise, Group
from nbjudge.calls import AnswerCaller, Reply, answers_of, read_reply
from nbjudge.course import Assignment
from nbjudge.course.loading import in_folder
from nbjudge.judge.drawn_group import draw_group, draw_groups
from nbjudge.judge.group_result import compare_group
from nbjudge.judge.scoring import judge_exercise
from nbjudge.probe import respond
from nbjudge.probe.watching import WatchedCalls

# Which calls an answer makes is the same on every seed, and recording them takes most of the time.
SEEDS_AS_A_WHOLE = 3
# Further inputs for mutations: what becomes of each floating tensor among the arguments of a case.
VARIANTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "0.01 times the floats": lambda tensor: tensor * 0.01,
    "8 times the floats": lambda tensor: tensor * 8,
    "the floats without a fraction": torch.round,
    "the floats 1 higher": lambda tensor: tensor + 1,
    "floats of 0": torch.zeros_like,
}


@dataclass(frozen=True)
class Outcome:
    """The first input on which an answer does not behave like the reference; empty if there is none.

    `seeds` is on how many seeds it was compared.
    """

    differs_on: str
    seeds: int = 0


def load(answer: Answer) -> Any:
    """Run the code of an answer and return the function or class that it defines.

    For child processes only (`workers.run_in_child`).
    """
    space: dict[str, Any] = {"__name__": "answer"}
    exec(compile(answer.code, "<answer>", "exec", dont_inherit=True), space)
    return space[answer.exercise]


@dataclass(frozen=True)
class Comparison:
    """An exercise without mistakes (answers are judged and not diagnosed) and its reference.

    `seconds` is how long it took to draw the inputs of one seed and to run the reference on them.
    """

    assignment: Assignment
    exercise: Exercise
    reference: Any
    seconds: float

    @classmethod
    def of(cls, assignment: Assignment, name: str) -> Comparison:
        """Draw the inputs of seed 0; all child processes share them, with the reference's results."""
        torch.set_num_threads(1)
        exercise = replace(assignment.exercises[name], mistakes=[])
        reference = assignment.reference_answer(name)
        started = time.perf_counter()
        with in_folder(assignment.source_path.parent):
            draw_groups(exercise, reference, 0)
        return cls(assignment, exercise, reference, time.perf_counter() - started)


def validate_right(
    comparison: Comparison, answers: Sequence[Answer], seeds: Iterable[int], seconds: float
) -> list[Outcome]:
    """Compare right answers with the reference, seed by seed; run it in a child process.

    They share the inputs and the reference's results. An answer's first difference ends its comparison, and
    no further seed is begun after so many `seconds` of processor time.
    """
    outcomes: dict[str, Outcome] = {}
    functions: dict[str, Any] = {}
    for answer in answers:
        try:
            functions[answer.id] = load(answer)
        except Exception as error:
            outcomes[answer.id] = _unloadable(error)
    started, count = time.process_time(), 0
    with in_folder(comparison.assignment.source_path.parent):
        for seed in seeds:
            if count and time.process_time() - started > seconds:
                break
            count += 1
            for name, function in functions.items():
                if name not in outcomes:
                    found = _difference(comparison, function, seed)
                    if found:
                        outcomes[name] = Outcome(found, seeds=count)
    return [outcomes.get(each.id, Outcome("", seeds=count)) for each in answers]


def validate_wrong(comparison: Comparison, answer: Answer, seeds: Iterable[int]) -> Outcome:
    """Find an input on which a wrong answer differs from the reference; run it in a child process.

    The first difference ends the comparison. A mutation is also compared on the variants of the inputs.
    """
    try:
        function = load(answer)
    except Exception as error:
        return _unloadable(error)
    with in_folder(comparison.assignment.source_path.parent):
        count = 0
        for count, seed in enumerate(seeds, 1):
            found = _difference(comparison, function, seed)
            if found:
                return Outcome(found, seeds=count)
        if answer.kind == "mutation":
            for seed in range(2):
                found = _difference_in_variants(comparison, function, seed)
                if found:
                    return Outcome(found, seeds=count)
    return Outcome("", seeds=count)


def _unloadable(error: Exception) -> Outcome:
    return Outcome(f"the code itself: {type(error).__name__}: {error}"[:200])


def _call_answer(
    function: Any, _name: str, calls: list[dict[str, Any]], watched_calls: WatchedCalls
) -> Reply:
    return read_reply(respond.answer_calls(function, calls, watched_calls), len(calls))


def _difference(comparison: Comparison, function: Any, seed: int) -> str:
    """The first input of a seed on which an answer differs; empty if it gets all points."""
    exercise, reference = comparison.exercise, comparison.reference
    for group in exercise.groups:
        drawn = draw_group(exercise, group, reference, seed)
        result = compare_group(exercise, drawn, answers_of(function, drawn.calls))
        wrong = result.failed_cases
        if not result.passed and wrong:
            return f"seed {seed}, group “{group.name}”, case {wrong[0] + 1}: {_shapes(drawn.calls[wrong[0]])}"
    if seed >= SEEDS_AS_A_WHOLE:
        return ""
    # What no single value shows: forbidden calls, changed arguments, state kept between calls.
    call_answer: AnswerCaller = functools.partial(_call_answer, function)
    verdict = judge_exercise(exercise, reference, call_answer, seed)
    lost = [group.name for group in verdict.groups if not group.is_earned]
    return (
        f"seed {seed}, group “{lost[0]}” as a whole" if verdict.points < verdict.max_points and lost else ""
    )


def _difference_in_variants(comparison: Comparison, function: Any, seed: int) -> str:
    exercise, reference = comparison.exercise, comparison.reference
    for name, change in VARIANTS.items():
        for group in exercise.groups:
            if group.verify is not None or group.fresh:
                continue
            changed = Group(group.name, group.points, functools.partial(_vary, group, change))
            try:
                drawn = draw_group(exercise, changed, reference, seed)
            except (CourseError, RuntimeError, ValueError, IndexError, TypeError):
                continue  # an input that the reference does not take
            if not all(_is_finite(each.value) for each in drawn.expected):
                continue
            result = compare_group(exercise, drawn, answers_of(function, drawn.calls))
            if not result.passed and result.failed_cases:
                case = result.failed_cases[0]
                place = f"seed {seed}, group “{group.name}”, case {case + 1}, {name}"
                return f"{place}: {_shapes(drawn.calls[case])}"
    return ""


def _vary(group: Group, change: Callable[[torch.Tensor], torch.Tensor], draw: Any) -> list[Any]:
    def of_floats(tensor: torch.Tensor) -> torch.Tensor:
        return change(tensor) if tensor.is_floating_point() else tensor

    cases = [case for case in group.cases(draw) if case.refuses is None and case.measure is None]
    return [
        replace(case, args=with_tensors(case.args, of_floats), kwargs=with_tensors(case.kwargs, of_floats))
        for case in cases
    ]


def _is_finite(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return not value.is_floating_point() or not bool(value.isnan().any())
    entries: Sequence[Any] = list(value.values()) if isinstance(value, dict) else value
    return not isinstance(value, (list, tuple, dict)) or all(_is_finite(entry) for entry in entries)


def _shapes(call: dict[str, Any]) -> str:
    """The arguments of a call: tensors by shape and dtype, everything else as it is."""
    parts = [_shown(each) for each in call["args"]]
    parts += [f"{key}={_shown(each)}" for key, each in call["kwargs"].items()]
    return f"({', '.join(parts)})"[:300]


def _shown(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value) if isinstance(value, (int, float, str, bool, type(None))) else type(value).__name__
