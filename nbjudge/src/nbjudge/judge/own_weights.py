"""Modules on the weights that they drew themselves: their formula on them, and whether that says anything."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from nbjudge.authoring.exercise import Exercise, Tolerance
from nbjudge.judge.compare import same_value
from nbjudge.judge.verdict import Finding
from nbjudge.kernel.replies import Answer, answers_of
from nbjudge.values.arrays import ArrayKind
from nbjudge.values.kinds import kind_of
from nbjudge.values.packing import pack

if TYPE_CHECKING:
    from nbjudge.judge.questions import Question

Weights = dict[str, Any]
MOST_REMEMBERED = 64  # drawn by somebody and looked at: a class has few layers that draw differently


@dataclass(frozen=True)
class OwnWeights:
    """What of a state_dict belongs to parameters of the module; two are equal if all their numbers are."""

    digest: bytes
    weights: Weights = field(compare=False)


def with_its_own_weights(exercise: Exercise, asked: Question, values: list[Any]) -> Finding | None:
    """The reference on the very weights that the student's module drew must give its result."""
    for index, value in enumerate(values):
        state = value.get("state") if isinstance(value, dict) else None
        if not isinstance(state, dict):
            return Finding(f"The weights of `{exercise.name}` cannot be read from its state_dict.")
        expected = _result(asked, index, _own_weights(asked, index, state))
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
    return any(
        _one_might_be_zero(asked, index, _own_weights(asked, index, answer.value["state"]))
        for index, answer in enumerate(answers)
    )


@lru_cache(maxsize=MOST_REMEMBERED)
def _one_might_be_zero(asked: Question, index: int, own: OwnWeights) -> bool:
    result = _result(asked, index, own).value
    return any(
        same_value(_result_on(asked, index, without).value, result, Tolerance())
        for without in _each_left_out(own.weights)
    )


def _each_left_out(weights: Weights) -> Iterator[Weights]:
    for name, values in weights.items():
        kind = kind_of(values)
        if isinstance(kind, ArrayKind) and len(values.shape) > 1:
            yield weights | {name: kind.zeros_like(values)}


def _own_weights(asked: Question, index: int, state: dict[str, Any]) -> OwnWeights:
    (own,) = answers_of(asked.reference, [_looking(asked.calls[index], None, "parameters")])
    weights = {name: state[name] for name in own.value["parameters"] if name in state}
    return OwnWeights(hashlib.sha256(pack(weights).encode()).digest(), weights)


@lru_cache(maxsize=MOST_REMEMBERED)
def _result(asked: Question, index: int, own: OwnWeights) -> Answer:
    return _result_on(asked, index, own.weights)


def _result_on(asked: Question, index: int, weights: Weights) -> Answer:
    (answer,) = answers_of(asked.reference, [_looking(asked.calls[index], weights, "result")])
    return answer


def _looking(call: dict[str, Any], state: Weights | None, side: str) -> dict[str, Any]:
    """The same call of a module, on other weights and from another side."""
    return call | {"build": call["build"] | {"state": state, "look": [side]}}
