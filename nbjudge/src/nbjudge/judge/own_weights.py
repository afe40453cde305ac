"""Modules on the weights that they drew themselves: their formula on them, and whether that says anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from nbjudge.ask.answers import Answer, answers_of
from nbjudge.authoring.exercise import Exercise, Tolerance
from nbjudge.judge.compare import same_value
from nbjudge.judge.verdict import Finding
from nbjudge.values.arrays import ArrayKind
from nbjudge.values.kinds import kind_of

if TYPE_CHECKING:
    from nbjudge.judge.questions import Question

Weights = dict[str, Any]


def with_its_own_weights(exercise: Exercise, asked: Question, values: list[Any]) -> Finding | None:
    """The reference on the very weights that the student's module drew must give its result."""
    for call, value in zip(asked.calls, values, strict=True):
        state = value.get("state") if isinstance(value, dict) else None
        if not isinstance(state, dict):
            return Finding(f"The weights of `{exercise.name}` cannot be read from its state_dict.")
        expected = _result(asked.reference, call, _weights(asked.reference, call, state))
        if expected.status != "value":
            return Finding(
                f"The weights that `{exercise.name}` draws for itself are not those it is asked to have."
            )
        if not same_value(value.get("result"), expected.value, exercise.tolerance):
            return Finding(
                f"On the weights that `{exercise.name}` draws for itself it gives other numbers than the "
                "formula on the weights in its `state_dict()`: they are not what it computes with. Make each "
                "layer once, in `__init__`, and use it as it is in `forward`."
            )
    return None


def say_nothing(asked: Question, answers: list[Answer]) -> bool:
    """Whether some weight matrix might be all zeros, and the formula would give the same.

    How a module is initialised is free, so this is no fault. But on weights of zero, or next to it, a wrong
    formula gives the same as the right one, and nothing is known that the other groups do not know better.
    """
    for call, answer in zip(asked.calls, answers, strict=True):
        weights = _weights(asked.reference, call, answer.value["state"])
        result = _result(asked.reference, call, weights).value
        for without in _each_left_out(weights):
            if same_value(_result(asked.reference, call, without).value, result, Tolerance()):
                return True
    return False


def _each_left_out(weights: Weights) -> Iterator[Weights]:
    for name, values in weights.items():
        kind = kind_of(values)
        if isinstance(kind, ArrayKind) and len(values.shape) > 1:
            yield weights | {name: kind.zeros_like(values)}


def _weights(reference: Callable[..., Any], call: dict[str, Any], state: dict[str, Any]) -> Weights:
    """Of a state_dict, what belongs to parameters of the module."""
    (own,) = answers_of(reference, [_looking(call, None, "parameters")])
    return {name: state[name] for name in own.value["parameters"] if name in state}


def _result(reference: Callable[..., Any], call: dict[str, Any], weights: Weights) -> Answer:
    (answer,) = answers_of(reference, [_looking(call, weights, "result")])
    return answer


def _looking(call: dict[str, Any], state: Weights | None, side: str) -> dict[str, Any]:
    """The same call of a module, on other weights and from another side."""
    return call | {"build": call["build"] | {"state": state, "look": [side]}}
