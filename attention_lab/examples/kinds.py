"""The kinds of examples: what an answer gives, what it refuses, what is the same, what takes no more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from attention_lab.examples.comparison import compare
from attention_lab.examples.failed import at_its_own_line
from attention_lab.examples.other_kinds import compare_other_kinds
from attention_lab.examples.tensors import floating, lists_alike, tensors_in, with_tensors
from attention_lab.examples.words import listed, name_of


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
    wanted = ", or ".join(listed(numbers) for numbers in (naming, or_naming) if numbers)
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


def _names(error: Exception, numbers: Sequence[int]) -> bool:
    return all(str(number) in str(error) for number in numbers)
