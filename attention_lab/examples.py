"""The examples that stand under each answer: a line each, and a sentence where one does not come out.

`example` makes more of a line than its numbers: the answer is also asked in float64, with gradients and
once more, so that what works on one kind of input only is noticed at once. Tracebacks in a notebook
show the line of the example and the learner's own, and none of this file.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

TOLERANCE = 1e-4  # relative and absolute: examples are written with a few digits
MOST_NUMBERS = 12  # of a result that a sentence shows


class ExampleFailed(AssertionError):
    """An example that did not come out; the message says what is right and what came instead."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the line of the example, not those of this file."""
        from IPython import get_ipython

        outside = None
        trace = self.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != __file__:
            outside, trace = trace, trace.tb_next
        if outside is not None:
            outside.tb_next = None
        formatter = get_ipython().InteractiveTB
        lines: list[str] = formatter.structured_traceback(type(self), self, self.__traceback__)
        return lines


def _at_its_own_line(function: Callable[..., None]) -> Callable[..., None]:
    """Have what it finds wrong shown at the line that calls it."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        try:
            function(*args, **kwargs)
        except AssertionError as error:
            raise ExampleFailed(str(error)) from None

    return called


@_at_its_own_line
def example(
    title: str,
    answer: Callable[..., Any],
    *args: Any,
    gives: Any,
    gradients: bool = True,
    names: Sequence[str] = ("output", "weights"),
    **kwargs: Any,
) -> None:
    """Ask `answer` one thing, and say in a sentence what is wrong with what it gives.

    gives: numbers (nested lists or a tensor) for a tensor; a tuple with an entry for each of several
    results, which `names` calls by name (`...` for one that is not looked at); a dict of such; else the
    very value.
    gradients: whether one has to reach each floating tensor handed in.

    Prints the title where all is well. Raises ExampleFailed with the sentence otherwise, and lets an
    error of the answer's own through as it is.
    """
    __tracebackhide__ = True
    asked = f"{_name(answer)}, {title}"
    before = _with_tensors(args, torch.Tensor.clone)
    first = answer(*args, **kwargs)
    _compare(asked, first, gives, names, _floating(args))
    for number, (kept, arg) in enumerate(zip(before, args, strict=True), start=1):
        unchanged = all(map(torch.equal, _tensors(kept), _tensors(arg))) and _lists_alike(kept, arg)
        assert unchanged, (
            f"{asked}: argument {number} was changed. Make new tensors, leave what comes in as it is."
        )
    if _floating(args) is not None:
        _ask_other_kinds(asked, answer, args, kwargs, gives, names, gradients)
    print(f"✓ {title}")


@_at_its_own_line
def refuses(
    title: str,
    answer: Callable[..., Any],
    *args: Any,
    naming: Sequence[int] = (),
    or_naming: Sequence[int] = (),
    **kwargs: Any,
) -> None:
    """See that `answer` raises a ValueError whose sentence holds the numbers `naming`, or those `or_naming`.

    Raises ExampleFailed with a sentence where it does not.
    """
    __tracebackhide__ = True
    asked = f"{_name(answer)}, {title}"
    wanted = ", or ".join(_listed(numbers) for numbers in (naming, or_naming) if numbers)
    wanted = wanted or "what does not fit"
    try:
        answer(*args, **kwargs)
    except ValueError as error:
        named = any(_names(error, numbers) for numbers in (naming, or_naming) if numbers or not naming)
        assert named, f"{asked}: name {wanted} in the sentence; yours says “{error}”."
        print(f"✓ {title}: {error}")
    except Exception as error:
        said = f"raise a ValueError whose sentence names {wanted}, not {type(error).__name__}: {error}"
        raise AssertionError(f"{asked}: {said}") from None
    else:
        raise AssertionError(f"{asked}: raise a ValueError whose sentence names {wanted}.")


@_at_its_own_line
def same(title: str, result: Any, expected: Any) -> None:
    """See that one result equals what is expected: shape, type and numbers.

    Raises ExampleFailed with a sentence where it does not.
    """
    __tracebackhide__ = True
    _compare(title, result, expected, (), None)
    print(f"✓ {title}")


@_at_its_own_line
def at_most(title: str, amount: float, limit: float, unit: str = "") -> None:
    """See that an amount, such as the bytes held at once, is no more than a limit.

    Raises ExampleFailed with both numbers where it is more.
    """
    __tracebackhide__ = True
    assert amount <= limit, f"{title}: {f'{limit:,} {unit}'.strip()} at most; yours takes {amount:,}."
    print(f"✓ {title}: {f'{amount:,} {unit}'.strip()}")


def with_weights(layer: torch.nn.Module, **weights: Any) -> torch.nn.Module:
    """The layer, with these numbers as its parameters: ``query=[[1.0, 0.0]]`` is those of ``query.weight``.

    A name with its end (``qkv_bias``) is that of ``qkv.bias``. Raises AssertionError with a sentence where
    the layer has not just these parameters, in these shapes.
    """
    __tracebackhide__ = True
    numbers = {_parameter(name): torch.as_tensor(given) for name, given in weights.items()}
    wanted = {name: tuple(given.shape) for name, given in numbers.items()}
    own = {name: tuple(parameter.shape) for name, parameter in layer.named_parameters()}
    assert own == wanted, f"{_name(layer)}: its parameters are not those asked for ({_apart(own, wanted)})."
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            parameter.copy_(numbers[name])
    return layer


def _apart(own: dict[str, tuple[int, ...]], wanted: dict[str, tuple[int, ...]]) -> str:
    """How names and shapes differ, in a few words."""
    missing = [name for name in wanted if name not in own]
    extra = [name for name in own if name not in wanted]
    shapes = [
        f"{name} is {own[name]}, not {shape}"
        for name, shape in wanted.items()
        if own.get(name, shape) != shape
    ]
    parts = (("missing: ", missing), ("too many: ", extra), ("", shapes))
    return "; ".join(f"{what}{', '.join(names[:4])}" for what, names in parts if names)


def _parameter(name: str) -> str:
    return f"{name.removesuffix('_bias')}.bias" if name.endswith("_bias") else f"{name}.weight"


def _ask_other_kinds(
    asked: str,
    answer: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    gives: Any,
    names: Sequence[str],
    gradients: bool,
) -> None:
    """Ask again with other numbers, in float64, with gradients, and once more as at first."""
    __tracebackhide__ = True
    answer(
        *_with_tensors(args, lambda numbers: numbers * 2 if numbers.is_floating_point() else numbers),
        **kwargs,
    )
    _compare(f"{asked}, asked once more after other numbers", answer(*args, **kwargs), gives, names, None)
    # A module's parameters are float32 and take part.
    dtype = torch.float32 if isinstance(answer, torch.nn.Module) else torch.float64

    def converted(numbers: torch.Tensor) -> torch.Tensor:
        return numbers.to(dtype, copy=True) if numbers.is_floating_point() else numbers

    other, more = _with_tensors(args, converted), _with_tensors(kwargs, converted)
    if dtype == torch.float64:
        _compare(f"{asked}, in float64", answer(*other, **more), gives, names, dtype)
    if not gradients:
        return
    inputs = [each.requires_grad_() for each in _tensors(other) if each.is_floating_point()]
    results = answer(*other, **more)
    total = sum(r.double().square().sum() for r in _several(results) if _is_floating(r))
    said = f"{asked}: no gradient comes back. Leave out detach, no_grad, item, and torch.tensor of a result."
    assert isinstance(total, torch.Tensor) and total.requires_grad, said
    for number, gradient in enumerate(torch.autograd.grad(total, inputs, allow_unused=True), start=1):
        assert gradient is not None, f"{asked}: no gradient comes back to floating argument {number}."
        assert not gradient.isnan().any(), f"{asked}: the gradient of floating argument {number} is NaN."


def _compare(asked: str, result: Any, gives: Any, names: Sequence[str], dtype: torch.dtype | None) -> None:
    __tracebackhide__ = True
    assert result is not None, f"{asked}: there is no result. Is there a return?"
    if not isinstance(gives, tuple):
        _compare_one(asked, result, gives, dtype)
        return
    several = isinstance(result, (tuple, list)) and len(result) == len(gives)
    said = f"{asked}: return {len(gives)} results, {' and '.join(names)}, not {_kind(result)}."
    assert several, said
    parts = zip(names, result, gives, strict=False)
    for name, one, expected in sorted(parts, key=lambda part: part[0] != "weights"):  # they are made first
        if expected is not ...:
            _compare_one(f"{asked}: {name}", one, expected, dtype)


def _compare_one(asked: str, result: Any, gives: Any, dtype: torch.dtype | None) -> None:
    __tracebackhide__ = True
    if isinstance(gives, dict) and isinstance(result, dict):
        missing = [name for name in gives if name not in result]
        assert not missing, f"{asked}: {', '.join(missing)} is missing; yours holds {', '.join(result)}."
        for name, expected in gives.items():
            _compare_one(f"{asked}: {name}", result[name], expected, dtype)
        return
    if isinstance(gives, (bool, int, float, str, dict)):
        kind = isinstance(result, type(gives)) and isinstance(result, bool) == isinstance(gives, bool)
        right = kind and (result == gives or _close(result, gives))
        assert right, f"{asked}: {gives!r} is right ({_kind(gives)}), not {_shown(result)} ({_kind(result)})."
        return
    expected = gives if isinstance(gives, torch.Tensor) else torch.tensor(gives)
    assert isinstance(result, torch.Tensor), f"{asked}: a tensor is wanted, not {_kind(result)}."
    shapes = f"the shape {tuple(expected.shape)} is right, not {tuple(result.shape)}"
    assert result.shape == expected.shape, f"{asked}: {shapes}."
    floating = expected.is_floating_point() or (dtype is not None and expected.dtype is torch.int64)
    if floating and result.is_floating_point():
        wanted = dtype or result.dtype
    else:
        wanted = dtype if floating and dtype is not None else expected.dtype
    assert result.dtype == wanted, f"{asked}: the numbers should be {wanted}, not {result.dtype}."
    if result.is_floating_point():
        assert not result.isnan().any(), f"{asked}: NaN stands in the result, {_shown(result)}."
    equal = torch.allclose(result.double(), expected.double(), rtol=TOLERANCE, atol=TOLERANCE)
    assert equal, f"{asked}: {_difference(result.detach(), expected.detach())}."


def _close(result: Any, gives: Any) -> bool:
    return isinstance(gives, float) and math.isclose(result, gives, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _floating(args: Sequence[Any]) -> torch.dtype | None:
    return next((each.dtype for each in _tensors(args) if each.is_floating_point()), None)


def _tensors(value: Any) -> list[torch.Tensor]:
    """The tensors in an argument, or in a list of them."""
    if isinstance(value, torch.Tensor):
        return [value]
    return (
        [tensor for entry in value for tensor in _tensors(entry)] if isinstance(value, (list, tuple)) else []
    )


def _lists_alike(one: Any, other: Any) -> bool:
    """Whether lists are as long as they were, and the lists in them."""
    if not isinstance(one, (list, tuple)):
        return True
    return len(one) == len(other) and all(map(_lists_alike, one, other))


def _with_tensors(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The same, with each tensor in it changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {name: _with_tensors(entry, change) for name, entry in value.items()}
    return (
        type(value)(_with_tensors(entry, change) for entry in value)
        if isinstance(value, (list, tuple))
        else value
    )


def _is_floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _several(results: Any) -> Sequence[Any]:
    return results if isinstance(results, (tuple, list)) else [results]


def _difference(result: torch.Tensor, expected: torch.Tensor) -> str:
    """All numbers of small tensors; of large ones, and of those that look alike, the first that differs."""
    shown = _shown(expected), _shown(result)
    if expected.numel() <= MOST_NUMBERS and shown[0] != shown[1]:
        return f"{shown[0]} is right, not {shown[1]}"
    apart = ~torch.isclose(result.double(), expected.double(), rtol=TOLERANCE, atol=TOLERANCE)
    place = apart.nonzero()[0].tolist()
    right, yours = (float(each[tuple(place)]) for each in (expected, result))
    digits = next((d for d in range(4, 17) if f"{right:.{d}g}" != f"{yours:.{d}g}"), 17)
    return (
        f"at {place} {right:.{digits}g} is right, not {yours:.{digits}g} "
        f"({int(apart.sum())} of {apart.numel()} numbers differ)"
    )


def _shown(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return repr(value)[:200]
    if value.numel() > MOST_NUMBERS:
        return f"a tensor of shape {tuple(value.shape)} that begins {_shown(value.flatten()[:4])}"
    return str(_rounded(value.detach().tolist()))


def _rounded(numbers: Any) -> Any:
    if isinstance(numbers, list):
        return [_rounded(number) for number in numbers]
    return float(f"{numbers:.4g}") + 0.0 if isinstance(numbers, float) else numbers  # no -0.0


def _listed(numbers: Sequence[int]) -> str:
    return " and ".join(map(str, numbers))


def _names(error: Exception, numbers: Sequence[int]) -> bool:
    return all(str(number) in str(error) for number in numbers)


def _kind(value: Any) -> str:
    kind = "tensor" if isinstance(value, torch.Tensor) else type(value).__name__
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _name(answer: Any) -> str:
    return answer.__name__ if inspect.isroutine(answer) or inspect.isclass(answer) else type(answer).__name__
