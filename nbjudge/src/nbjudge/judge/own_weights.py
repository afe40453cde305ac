"""Modules tested with the random weights that they drew themselves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from nbjudge.authoring.exercise import Exercise, Tolerance
from nbjudge.judge.compare import same_value
from nbjudge.judge.drawn_group import Call, DrawnGroup
from nbjudge.judge.verdict import Finding
from nbjudge.kernel.protocol import Answer, answers_of
from nbjudge.values.kinds import ArrayKind, kind_of
from nbjudge.values.packing import pack

Weights = dict[str, Any]
MOST_CACHED = 64  # sets of weights: students' layers with one seed mostly draw the same ones


@dataclass(frozen=True)
class OwnWeights:
    """The parameters in a state_dict, without its buffers; equal if all numbers are equal."""

    digest: bytes
    weights: Weights = field(compare=False)


def compare_on_own_weights(exercise: Exercise, drawn: DrawnGroup, values: list[Any]) -> Finding | None:
    """Return a finding unless the reference gives the same result on the weights of the student's module."""
    for index, value in enumerate(values):
        state = value.get("state") if isinstance(value, dict) else None
        if not isinstance(state, dict):
            return Finding(f"The weights of `{exercise.name}` cannot be read from its state_dict.")
        expected = _result(drawn, index, _own_weights(drawn, index, state))
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


def are_too_small(drawn: DrawnGroup, answers: list[Answer]) -> bool:
    """Whether a weight matrix could be replaced by zeros without a change of the result.

    Students may initialise a module as they like, so this is not wrong. But with weights of almost zero a
    wrong formula gives the same result as the right one, so the group does not prove anything.
    """
    return any(
        _zeros_change_nothing(drawn, index, _own_weights(drawn, index, answer.value["state"]))
        for index, answer in enumerate(answers)
    )


@lru_cache(maxsize=MOST_CACHED)
def _zeros_change_nothing(drawn: DrawnGroup, index: int, own: OwnWeights) -> bool:
    result = _result(drawn, index, own).value
    return any(
        same_value(_result_on(drawn, index, zeroed).value, result, Tolerance())
        for zeroed in _with_one_matrix_zero(own.weights)
    )


def _with_one_matrix_zero(weights: Weights) -> Iterator[Weights]:
    for name, values in weights.items():
        kind = kind_of(values)
        if isinstance(kind, ArrayKind) and len(values.shape) > 1:
            yield weights | {name: kind.zeros_like(values)}


def _own_weights(drawn: DrawnGroup, index: int, state: dict[str, Any]) -> OwnWeights:
    (own,) = answers_of(drawn.reference, [_with_weights(drawn.calls[index], None, "parameters")])
    weights = {name: state[name] for name in own.value["parameters"] if name in state}
    return OwnWeights(hashlib.sha256(pack(weights).encode()).digest(), weights)


@lru_cache(maxsize=MOST_CACHED)
def _result(drawn: DrawnGroup, index: int, own: OwnWeights) -> Answer:
    return _result_on(drawn, index, own.weights)


def _result_on(drawn: DrawnGroup, index: int, weights: Weights) -> Answer:
    (answer,) = answers_of(drawn.reference, [_with_weights(drawn.calls[index], weights, "result")])
    return answer


def _with_weights(call: Call, state: Weights | None, side: str) -> Call:
    """Return the same call with other weights, which asks for `side` of the module."""
    return call | {"build": call["build"] | {"state": state, "look": [side]}}
