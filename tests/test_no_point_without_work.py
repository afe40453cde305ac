"""No point without work: whatever refuses everything, hands back its input or never changes gets nothing."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pandas
import pytest
import torch
from lesson_cells import every_exercise
from torch import nn

from nbjudge.calls import caller_of
from nbjudge.judge import scoring as judging
from nbjudge.judge.drawn_group import draw_group

# ---- answers that took no work: they refuse everything, hand back what they got, or never change ----

Answer = Callable[..., Any]


def _identity(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.dim() < 2:
        return torch.zeros_like(tensor)
    return torch.eye(*tensor.shape[-2:]).to(tensor.dtype).expand(tensor.shape).clone()


FILLS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "zeros": torch.zeros_like,
    "ones": torch.ones_like,
    "halves": lambda tensor: torch.full_like(tensor, 0.5) if tensor.is_floating_point() else tensor * 0,
    "rows that sum to 1": lambda tensor: torch.ones_like(tensor) / max(1, tensor.shape[-1:].numel()),
    "nothing, with gradients": lambda tensor: tensor * 0,
    "an identity matrix": _identity,
    "dice": lambda tensor: torch.rand(tensor.shape).mul(4).sub(1).to(tensor.dtype),
}
PLAIN: dict[str, Any] = {
    "None": None,
    "True": True,
    "False": False,
    "zero": 0,
    "one": 1.0,
    "no text": "",
    "an empty tensor": torch.empty(0),
    "one number": torch.zeros(1),
}


def vacuous(reference: Answer) -> dict[str, Answer]:
    """Vacuous answers to an exercise, by what they do; of the reference they know shapes and attributes."""
    module = isinstance(reference, type) and issubclass(reference, nn.Module)
    answers = dict(_modules(reference) if module else _functions(reference))
    answers |= {f"{name} for everything": _always(value) for name, value in PLAIN.items()}
    return answers | {"is not written": _not_written, "is not there": None}


def _always(value: Any) -> Answer:
    return lambda *args, **kwargs: value


def _functions(reference: Answer) -> Iterator[tuple[str, Answer]]:
    coin = torch.Generator().manual_seed(0)
    yield "refuses", lambda *args, **kwargs: _refuse(args, kwargs)
    yield "refuses with every number", lambda *args, **kwargs: _refuse(list(range(300)))
    for place in range(3):
        yield f"hands back argument {place}", lambda *args, p=place, **kwargs: _given(args, kwargs, p)
        yield (
            f"hands back a copy of argument {place}",
            lambda *args, p=place, **kwargs: _filled(_given(args, kwargs, p), torch.clone),
        )
    yield "hands back the first argument twice", lambda *args, **kwargs: (_given(args, kwargs, 0),) * 2
    yield "a coin", lambda *args, **kwargs: bool(torch.rand(1, generator=coin) < 0.5)
    yield "even over what the mask shows", _even
    for name, fill in FILLS.items():
        yield (
            f"{name} in the right shape",
            lambda *args, f=fill, **kwargs: _filled(reference(*args, **kwargs), f),
        )


def _not_written(*args: Any, **kwargs: Any) -> None:
    raise NotImplementedError


def _even(*args: Any, **kwargs: Any) -> torch.Tensor:
    scores, mask = [*args, *kwargs.values()][:2]
    shown = mask.expand_as(scores).to(scores.dtype)
    return shown / shown.sum(dim=-1, keepdim=True).clamp(min=1)


def _modules(reference: Any) -> Iterator[tuple[str, Answer]]:
    def layer(forward: Callable[..., Any], attend: Callable[..., Any] | None = None) -> Answer:
        methods = {"forward": forward, "attend": attend or forward}
        return type(reference.__name__, (reference,), methods)

    class RefusesToBeMade(nn.Module):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            _refuse(args, kwargs)

    class ZeroFromTheStart(reference):
        """Draws zeros, and keeps them whatever it is given."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            _zero(self)

        def load_state_dict(self, *args: Any, **kwargs: Any) -> None:
            pass

    class ZeroForZero(reference):
        """Draws zeros, and answers with zeros on whatever weights it is given."""

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return _filled(super().forward(*args, **kwargs), torch.zeros_like)

        def attend(self, *args: Any, **kwargs: Any) -> Any:
            return _filled(super().attend(*args, **kwargs), torch.zeros_like)

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            _zero(self)

    def _result(self: nn.Module, args: Any, kwargs: Any) -> Any:
        return reference.forward(self, *args, **kwargs)

    def _attended(self: nn.Module, args: Any, kwargs: Any) -> Any:
        return reference.attend(self, *args, **kwargs)

    def _zeroed(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        return _result(_zero(self), args, kwargs)

    yield "refuses to be made", RefusesToBeMade
    yield "refuses to be called", layer(lambda self, *args, **kwargs: _refuse(args, kwargs, self))
    yield "zero from the start", ZeroFromTheStart
    yield "zero for zero", ZeroForZero
    yield "all parameters and buffers zeroed", layer(_zeroed)
    yield "hands back the input", layer(lambda self, x, *args, **kwargs: x)
    yield "hands back the input twice", layer(lambda self, x, *args, **kwargs: (x, x))
    for name, fill in FILLS.items():
        yield (
            f"{name} in the right shape",
            layer(
                lambda self, *args, f=fill, **kwargs: _filled(_result(self, args, kwargs), f),
                lambda self, *args, f=fill, **kwargs: _filled(_attended(self, args, kwargs), f),
            ),
        )


def _zero(module: nn.Module) -> nn.Module:
    with torch.no_grad():
        for tensor in [*module.parameters(), *module.buffers()]:
            tensor.zero_()
    return module


def _refuse(*seen: Any) -> None:
    raise ValueError(f"it cannot work with {sorted(set(_numbers(seen)))}")


def _numbers(value: Any) -> Iterator[int]:
    """The whole numbers and the sizes in what was given."""
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        yield value
    elif isinstance(value, torch.Tensor):
        yield from value.shape
    elif isinstance(value, nn.Module):
        for tensor in [*value.parameters(), *value.buffers()]:
            yield from tensor.shape
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _numbers(entry)
    elif isinstance(value, dict):
        yield from _numbers(list(value.values()))


def _given(args: tuple[Any, ...], kwargs: dict[str, Any], place: int) -> Any:
    given = [*args, *kwargs.values()]
    return given[place] if place < len(given) else None


def _filled(value: Any, fill: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The same kind of value, with other numbers."""
    if isinstance(value, torch.Tensor):
        return fill(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_filled(entry, fill) for entry in value)
    if isinstance(value, dict):
        return {key: _filled(entry, fill) for key, entry in value.items()}
    if isinstance(value, pandas.DataFrame):
        return value.assign(**{column: _filled(list(value[column]), fill) for column in value})
    if isinstance(value, (bool, int, float)):
        return type(value)(fill(torch.tensor([float(value)])).item())
    return value


SEEDS = range(3 if os.environ.get("EVERY_SEED") else 1)
SEEDS_THAT_TELL = range(3)


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


pytestmark = [pytest.mark.integration, pytest.mark.lesson, every_exercise]


def test_an_answer_that_took_no_work_gets_no_point(lesson, exercise, monkeypatch):
    monkeypatch.setattr(judging, "diagnose", lambda *_: [])  # slow, and not asked for here
    reference = lesson.reference_answer(exercise.name)
    for seed in SEEDS:
        for name, answer in vacuous(reference).items():
            verdict = judging.judge_exercise(exercise, reference, caller_of(answer), seed)
            agree = [group.name for group in verdict.groups if group.is_earned]
            assert verdict.points == 0, f"{name}, seed {seed}: {agree}"


def test_the_groups_that_tell_are_the_same(lesson, exercise):
    reference = lesson.reference_answer(exercise.name)
    telling = {
        tuple(draw_group(exercise, group, reference, seed).requires_computation for group in exercise.groups)
        for seed in SEEDS_THAT_TELL
    }
    assert len(telling) == 1
    assert any(telling.pop())
