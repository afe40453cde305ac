"""The examples under each answer: a line per example, and a sentence for one that fails.

`example` makes more of a line than its numbers: the answer is also called in float64, with gradients and
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

__all__ = ["ExampleFailedError", "at_most", "example", "refuses", "same", "with_weights"]

TOLERANCE = 1e-4  # relative and absolute: examples are written with a few digits
MOST_NUMBERS = 12  # of a result that a sentence shows


class ExampleFailedError(AssertionError):
    """An example that did not come out; the message says what is right and what came instead."""

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows: the line of the example, not those of this file."""
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


def at_its_own_line(function: Callable[..., None]) -> Callable[..., None]:
    """Have what it finds wrong shown at the line that calls it."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        try:
            function(*args, **kwargs)
        except AssertionError as error:
            raise ExampleFailedError(str(error)) from None

    return called


@at_its_own_line
def example(
    title: str,
    answer: Callable[..., Any],
    *args: Any,
    gives: Any,
    gradients: bool = True,
    names: Sequence[str] = ("output", "weights"),
    **kwargs: Any,
) -> None:
    """Call `answer` once, and say in a sentence what is wrong with its results.

    gives: numbers (nested lists or a tensor) for a tensor; a tuple with an entry for each of several
    results, which `names` calls by name (`...` for one that is not looked at); a dict of such; else the
    very value.
    gradients: whether one has to reach each floating tensor handed in.

    Prints the title where all is well. Raises ExampleFailedError with the sentence otherwise, and lets an
    error of the answer's own through as it is.
    """
    __tracebackhide__ = True
    call = f"{name_of(answer)}, {title}"
    before = with_tensors(args, torch.Tensor.clone)
    first = answer(*args, **kwargs)
    compare(call, first, gives, names, floating(args))
    for number, (original, arg) in enumerate(zip(before, args, strict=True), start=1):
        unchanged = all(map(torch.equal, tensors_in(original), tensors_in(arg))) and lists_alike(
            original, arg
        )
        assert unchanged, (
            f"{call}: argument {number} was changed. Make new tensors, leave what comes in as it is."
        )
    if floating(args) is not None:
        compare_other_kinds(call, answer, args, kwargs, gives, names, gradients)
    print(f"✓ {title}")


@at_its_own_line
def refuses(
    title: str,
    answer: Callable[..., Any],
    *args: Any,
    naming: Sequence[int] = (),
    or_naming: Sequence[int] = (),
    **kwargs: Any,
) -> None:
    """See that `answer` raises a ValueError whose sentence holds the numbers `naming`, or those `or_naming`.

    Raises ExampleFailedError with a sentence where it does not.
    """
    __tracebackhide__ = True
    call = f"{name_of(answer)}, {title}"
    wanted = ", or ".join(" and ".join(map(str, numbers)) for numbers in (naming, or_naming) if numbers)
    wanted = wanted or "what does not fit"
    try:
        answer(*args, **kwargs)
    except ValueError as error:
        named = any(_names(error, numbers) for numbers in (naming, or_naming) if numbers or not naming)
        assert named, f"{call}: name {wanted} in the sentence; yours says “{error}”."
        print(f"✓ {title}: {error}")
    except Exception as error:
        message = f"raise a ValueError whose sentence names {wanted}, not {type(error).__name__}: {error}"
        raise AssertionError(f"{call}: {message}") from None
    else:
        raise AssertionError(f"{call}: raise a ValueError whose sentence names {wanted}.")


@at_its_own_line
def same(title: str, result: Any, expected: Any) -> None:
    """See that one result equals what is expected: shape, type and numbers.

    Raises ExampleFailedError with a sentence where it does not.
    """
    __tracebackhide__ = True
    compare(title, result, expected, (), None)
    print(f"✓ {title}")


@at_its_own_line
def at_most(title: str, amount: float, limit: float, unit: str = "") -> None:
    """See that an amount, such as the bytes held at once, is no more than a limit.

    Raises ExampleFailedError with both numbers where it is more.
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
    names = (f"{n.removesuffix('_bias')}.bias" if n.endswith("_bias") else f"{n}.weight" for n in weights)
    numbers = dict(zip(names, map(torch.as_tensor, weights.values()), strict=True))
    wanted = {name: tuple(given.shape) for name, given in numbers.items()}
    own = {name: tuple(parameter.shape) for name, parameter in layer.named_parameters()}
    assert own == wanted, (
        f"{name_of(layer)}: its parameters are not those asked for ({_differing(own, wanted)})."
    )
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            parameter.copy_(numbers[name])
    return layer


def _differing(own: dict[str, tuple[int, ...]], wanted: dict[str, tuple[int, ...]]) -> str:
    """Return how names and shapes differ, in a few words."""
    missing = [name for name in wanted if name not in own]
    extra = [name for name in own if name not in wanted]
    shapes = [
        f"{name} is {own[name]}, not {shape}"
        for name, shape in wanted.items()
        if own.get(name, shape) != shape
    ]
    parts = (("missing: ", missing), ("too many: ", extra), ("", shapes))
    return "; ".join(f"{what}{', '.join(names[:4])}" for what, names in parts if names)


def _names(error: Exception, numbers: Sequence[int]) -> bool:
    return all(str(number) in str(error) for number in numbers)


def compare(call: str, result: Any, gives: Any, names: Sequence[str], dtype: torch.dtype | None) -> None:
    """Assert that a result is what an example `gives`, see `example`; dtype: of its floating numbers."""
    __tracebackhide__ = True
    assert result is not None, f"{call}: there is no result. Is there a return?"
    if not isinstance(gives, tuple):
        _compare_one(call, result, gives, dtype)
        return
    as_many = isinstance(result, (tuple, list)) and len(result) == len(gives)
    message = f"{call}: return {len(gives)} results, {' and '.join(names)}, not {with_article(result)}."
    assert as_many, message
    parts = zip(names, result, gives, strict=False)
    for name, one, expected in sorted(parts, key=lambda part: part[0] != "weights"):  # they are made first
        if expected is not ...:
            _compare_one(f"{call}: {name}", one, expected, dtype)


def _compare_one(call: str, result: Any, gives: Any, dtype: torch.dtype | None) -> None:
    __tracebackhide__ = True
    if isinstance(gives, dict) and isinstance(result, dict):
        missing = [name for name in gives if name not in result]
        assert not missing, f"{call}: {', '.join(missing)} is missing; yours holds {', '.join(result)}."
        for name, expected in gives.items():
            _compare_one(f"{call}: {name}", result[name], expected, dtype)
        return
    if isinstance(gives, (bool, int, float, str, dict)):
        kind = isinstance(result, type(gives)) and isinstance(result, bool) == isinstance(gives, bool)
        right = kind and result == gives
        if kind and isinstance(gives, float):
            right = math.isclose(result, gives, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        yours = f"{shown(result)} ({with_article(result)})"
        assert right, f"{call}: expected {gives!r} ({with_article(gives)}), got {yours}."
        return
    expected = gives if isinstance(gives, torch.Tensor) else torch.tensor(gives)
    assert isinstance(result, torch.Tensor), f"{call}: expected a tensor, got {with_article(result)}."
    shapes = f"expected shape {tuple(expected.shape)}, got {tuple(result.shape)}"
    assert result.shape == expected.shape, f"{call}: {shapes}."
    floating = expected.is_floating_point() or (dtype is not None and expected.dtype is torch.int64)
    if floating and result.is_floating_point():
        wanted = dtype or result.dtype
    else:
        wanted = dtype if floating and dtype is not None else expected.dtype
    assert result.dtype == wanted, f"{call}: expected dtype {wanted}, got {result.dtype}."
    if result.is_floating_point():
        assert not result.isnan().any(), f"{call}: the result contains NaN, {shown(result)}."
    equal = torch.allclose(result.double(), expected.double(), rtol=TOLERANCE, atol=TOLERANCE)
    assert equal, f"{call}: {difference(result.detach(), expected.detach())}."


def compare_other_kinds(
    call: str,
    answer: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    gives: Any,
    names: Sequence[str],
    gradients: bool,
) -> None:
    """Call `answer` with other numbers, in float64, with gradients, and again as at first."""
    __tracebackhide__ = True
    answer(
        *with_tensors(args, lambda numbers: numbers * 2 if numbers.is_floating_point() else numbers),
        **kwargs,
    )
    compare(f"{call}, called once more after other numbers", answer(*args, **kwargs), gives, names, None)
    # A module's parameters are float32 and take part.
    dtype = torch.float32 if isinstance(answer, torch.nn.Module) else torch.float64

    def converted(numbers: torch.Tensor) -> torch.Tensor:
        return numbers.to(dtype, copy=True) if numbers.is_floating_point() else numbers

    other, more = with_tensors(args, converted), with_tensors(kwargs, converted)
    if dtype == torch.float64:
        compare(f"{call}, in float64", answer(*other, **more), gives, names, dtype)
    if not gradients:
        return
    inputs = [each.requires_grad_() for each in tensors_in(other) if each.is_floating_point()]
    results = answer(*other, **more)
    parts = results if isinstance(results, (tuple, list)) else [results]
    tensors = (part for part in parts if isinstance(part, torch.Tensor))
    total = sum(tensor.double().square().sum() for tensor in tensors if tensor.is_floating_point())
    message = (
        f"{call}: no gradient comes back. Leave out detach, no_grad, item, and torch.tensor of a result."
    )
    assert isinstance(total, torch.Tensor) and total.requires_grad, message
    for number, gradient in enumerate(torch.autograd.grad(total, inputs, allow_unused=True), start=1):
        assert gradient is not None, f"{call}: no gradient comes back to floating argument {number}."
        assert not gradient.isnan().any(), f"{call}: the gradient of floating argument {number} is NaN."


def floating(args: Sequence[Any]) -> torch.dtype | None:
    return next((each.dtype for each in tensors_in(args) if each.is_floating_point()), None)


def tensors_in(value: Any) -> list[torch.Tensor]:
    """The tensors in an argument, or in a list of them."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for entry in value for tensor in tensors_in(entry)]
    return []


def lists_alike(one: Any, other: Any) -> bool:
    """Return whether lists are as long as they were, and the lists in them."""
    if not isinstance(one, (list, tuple)):
        return True
    return len(one) == len(other) and all(map(lists_alike, one, other))


def with_tensors(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """The same, with each tensor in it changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {name: with_tensors(entry, change) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(with_tensors(entry, change) for entry in value)
    return value


def difference(result: torch.Tensor, expected: torch.Tensor) -> str:
    """All numbers of small tensors; of large ones, and of those that look alike, the first that differs."""
    both = shown(expected), shown(result)
    if expected.numel() <= MOST_NUMBERS and both[0] != both[1]:
        return f"expected {both[0]}, got {both[1]}"
    apart = ~torch.isclose(result.double(), expected.double(), rtol=TOLERANCE, atol=TOLERANCE)
    place = apart.nonzero()[0].tolist()
    right, yours = (each[tuple(place)].item() for each in (expected, result))
    words = str(right), str(yours)
    if expected.dtype != torch.bool or result.dtype != torch.bool:
        digits = next((d for d in range(4, 17) if f"{right:.{d}g}" != f"{yours:.{d}g}"), 17)
        words = f"{right:.{digits}g}", f"{yours:.{digits}g}"
    what = "values" if expected.dtype == torch.bool else "numbers"
    count = f"{int(apart.sum())} of {apart.numel()} {what} differ"
    return f"at {place} expected {words[0]}, got {words[1]} ({count})"


def shown(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return repr(value)[:200]
    if value.numel() > MOST_NUMBERS:
        return f"a tensor of shape {tuple(value.shape)} that begins {shown(value.flatten()[:4])}"
    return str(_rounded(value.detach().tolist()))


def _rounded(numbers: Any) -> Any:
    if isinstance(numbers, list):
        return [_rounded(number) for number in numbers]
    return float(f"{numbers:.4g}") + 0.0 if isinstance(numbers, float) else numbers  # no -0.0


def with_article(value: Any) -> str:
    kind = "tensor" if isinstance(value, torch.Tensor) else type(value).__name__
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def name_of(answer: Any) -> str:
    return answer.__name__ if inspect.isroutine(answer) or inspect.isclass(answer) else type(answer).__name__
