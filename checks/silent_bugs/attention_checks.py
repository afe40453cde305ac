"""Checks of an attention function against the formula, each of which can be left out.

The mistakes of `is_correct` are what remains when one is: most students who miss something write
checks such as these, and forget a case.
"""

import math
from dataclasses import dataclass
from functools import lru_cache, wraps
from itertools import product

import torch

from attention_lab.authoring import FLOATS, defaults

SIZES = {"batch": 3, "queries": 4, "keys": 6, "width": 5, "value_width": 2}
KINDS = ("none", "shared", "each", "padding")  # of masks


@dataclass(frozen=True)
class Call:
    """One call, and what is right: results are (output, weights), gradients those of `_loss`."""

    tensors: tuple[torch.Tensor, ...]
    mask: torch.Tensor | None
    results: tuple[torch.Tensor, ...]
    gradients: tuple[torch.Tensor, ...] | None


def agrees(
    attention,
    *,
    compared=(0, 1),
    same=torch.allclose,
    dtype_matters=True,
    gradients=True,
    changes=True,
    dtypes=FLOATS,
    sizes=SIZES,
    masks=KINDS,
    empty=True,
    given=(1, 2, 3),
    thorough=False,
):
    """Return whether all answers are those of the formula. Raises whatever `attention` raises.

    `given` says with how many of query, key and value it is called, `empty` whether there are queries
    with nothing to attend to, `same` how results are compared, and `thorough` whether everything is tried
    with everything else.
    """
    for call in calls(dtypes, tuple(sizes.values()), masks, empty, given, thorough):
        backward = gradients and call.gradients is not None
        lent = [tensor.clone().requires_grad_(backward) for tensor in call.tensors]
        lent_mask = None if call.mask is None else call.mask.clone()
        results = attention(*lent, mask=lent_mask)
        if len(results) != 2:
            return False
        for index in compared:
            if not _alike(results[index], call.results[index], same, dtype_matters):
                return False
        if backward and not _same_gradients(results, lent, call.gradients):
            return False
        if changes and not all(map(torch.equal, lent, call.tensors)):
            return False
        if changes and not (call.mask is None or torch.equal(lent_mask, call.mask)):
            return False
    return True


def caught(check):
    """The check, which says False where the attention function raises."""

    @wraps(check)
    def answer(attention):
        try:
            return check(attention)
        except Exception:
            return False

    return answer


def formula(query, key=None, value=None, mask=None):
    """Return what is right: (output, weights)."""
    key, value = defaults(query, key, value)
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    weights = weights if mask is None else weights.masked_fill(~mask, 0.0)
    return weights @ value, weights


# Every mistake asks the same few calls again and again; nothing in them is ever changed.
@lru_cache(maxsize=64)
def calls(dtypes, sizes, masks, empty, given, thorough=False) -> tuple[Call, ...]:
    generator = torch.Generator().manual_seed(5)
    batch, queries, keys, width, value_width = sizes
    shapes = ((batch, queries, width), (batch, keys, width), (batch, keys, value_width))
    drawn_calls = []
    for dtype in dtypes:
        tensors = [torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes]
        for count, kind in product(given, masks):
            all_given, first = count == given[-1], dtype == dtypes[0]
            # Not everything is tried with everything: a second dtype needs one call to be seen, arguments
            # that are left out need no mask of every kind, and gradients are slow.
            if thorough or (all_given and kind == masks[-1]) or (first and (all_given or kind in masks[:2])):
                mask = _mask(kind, batch, queries, keys if count > 1 else queries, empty, generator)
                with_gradients = thorough or (all_given and kind in (masks[0], masks[-1]))
                drawn_calls.append(_call(tensors[:count], mask, with_gradients))
    return tuple(drawn_calls)


def _call(tensors, mask, with_gradients):
    leaves = [tensor.clone().requires_grad_() for tensor in tensors]
    results = formula(*leaves, mask=mask)
    gradients = torch.autograd.grad(_loss(results), leaves) if with_gradients else None
    return Call(tuple(tensors), mask, tuple(result.detach() for result in results), gradients)


def _mask(kind, batch, queries, keys, empty, generator):
    """True where a query may attend; each row shows and hides one key at least, but for the `empty` ones."""
    if kind == "none":
        return None
    shape = {"shared": (queries, keys), "each": (batch, queries, keys), "padding": (batch, 1, keys)}[kind]
    mask = torch.rand(shape, generator=generator) < 0.6
    mask[..., 0], mask[..., 1] = True, False
    mask[0, ..., 0], mask[0, ..., 1] = False, True
    if empty:
        mask[(-1, -1) if kind == "each" else -1] = False
    return mask


def _loss(results):
    return sum(result.square().sum() for result in results)


def _alike(actual, expected, same, dtype_matters):
    if actual.shape != expected.shape or (dtype_matters and actual.dtype != expected.dtype):
        return False
    actual = actual.detach().to(expected.dtype)
    return same(actual, expected) if same is torch.equal else same(actual, expected, rtol=1e-4, atol=1e-5)


def _same_gradients(results, lent, right):
    _loss(results).backward()
    return all(
        tensor.grad is not None and torch.allclose(tensor.grad, gradient, rtol=1e-3, atol=1e-4)
        for tensor, gradient in zip(lent, right)
    )
