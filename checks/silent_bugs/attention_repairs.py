"""Repairs of any attention function, one for each property: what a check sees that does not look at it.

A repair takes an attention function and returns one that is right in this property alone. So a broken
function that passes a right check once it is repaired has no other fault, and any check turns into one that
leaves a property out, whatever its style.
"""

import torch

from .attention_candidates import DTYPES, GIVEN, MASKS
from .attention_checks import formula

ARGUMENTS = ("query", "key", "value", "mask")
RESULTS = ("output", "weights")
PAIRS = [
    (result, name) for result in RESULTS for name in ARGUMENTS[:3] if (result, name) != ("weights", "value")
]
SIZE_PATHS = {
    "T_k is not T_q": "key is not None and key.shape[-2] != query.shape[-2]",
    "d_v is not d": "value is not None and value.shape[-1] != query.shape[-1]",
    "the batch has several samples": "len(query) > 1",
    "a query sees no key": "mask is not None and not mask.any(dim=-1).all()",
}


def _repair(change):
    """A repair, from what takes the function and the four arguments and returns the results."""

    def repair(attention):
        def repaired(query, key=None, value=None, mask=None):
            return change(attention, query, key, value, mask)

        return repaired

    return repair


def _on_path(when):
    """Nothing is wrong where the condition holds, as if it were never tried there."""
    condition = eval(f"lambda query, key, value, mask: {when}")
    return _repair(lambda attention, *given: (formula if condition(*given) else attention)(*given))


def _results(change):
    """Of the results, given the right ones."""
    return _repair(lambda attention, *given: change(attention(*given), formula(*given)))


def _result(index, change):
    """Of one result, given the right one."""
    return _results(
        lambda results, right: [
            change(result, right[place]) if place == index else result for place, result in enumerate(results)
        ]
    )


def _if_close(close):
    """Of results in the right shape and dtype whose numbers are close in some weak sense."""

    def change(results, right):
        pairs = list(zip(results, right, strict=True))
        alike = all(one.shape == two.shape and one.dtype == two.dtype for one, two in pairs)
        return right if alike and all(close(one, two) for one, two in pairs) else results

    return _results(change)


def _gradient(result, name):
    """Of the gradient from one result to one argument."""
    place, index = RESULTS.index(result), ARGUMENTS.index(name)

    def change(attention, *given):
        if given[index] is None:
            return attention(*given)
        results, rest, alone = list(attention(*given)), list(given), list(given)
        rest[index] = rest[index].detach()
        for other in {0, 1, 2} - {index}:
            alone[other] = None if alone[other] is None else alone[other].detach()
        right = formula(*alone)[place]
        results[place] = attention(*rest)[place] + (right - right.detach())
        return results

    return _repair(change)


def _gradients(forgiven):
    """Of all gradients, where those of output and weights are such as a careless check lets pass."""

    def change(attention, *given):
        results = attention(*given)
        leaves = [tensor for tensor in given[:3] if tensor is not None and tensor.requires_grad]
        if not leaves or not all(result.requires_grad for result in results):
            return results
        loss = sum(result.square().sum() for result in results)
        if not forgiven(torch.autograd.grad(loss, leaves, retain_graph=True, allow_unused=True)):
            return results
        pairs = zip(results, formula(*given), strict=True)
        return [result.detach() + (right - right.detach()) for result, right in pairs]

    return _repair(change)


def _unchanged(name):
    """Of an argument that is left as it is."""
    index = ARGUMENTS.index(name)

    def change(attention, *given):
        lent = list(given)
        lent[index] = None if lent[index] is None else lent[index].clone()
        return attention(*lent)

    return _repair(change)


def _refusing(refused):
    """No repair: results that are right in a form that a check does not expect."""

    def change(results, right):
        if refused(results):
            raise TypeError("a right function, but not for this check")
        return results

    return _results(change)


PATHS = MASKS | GIVEN | DTYPES
# By property, for each sentence of the statement and each path.
REPAIRS = {
    **{f"calls: {name}": _on_path(when) for name, when in (PATHS | SIZE_PATHS).items()},
    **{f"gradient: {result} to {name}": _gradient(result, name) for result, name in PAIRS},
    "gradient: its numbers": _gradients(
        lambda gradients: all(gradient is not None and gradient.isfinite().all() for gradient in gradients)
    ),
    "gradient: never NaN": _gradients(
        lambda gradients: any(gradient is not None and gradient.isnan().any() for gradient in gradients)
    ),
    **{f"unchanged: {name}": _unchanged(name) for name in ARGUMENTS},
    **{f"numbers: {name}": _result(place, lambda _, right: right) for place, name in enumerate(RESULTS)},
    "numbers: behind their mean": _if_close(
        lambda one, two: torch.allclose(one.mean(), two.mean(), atol=1e-5)
    ),
    "numbers: digits": _if_close(lambda one, two: torch.allclose(one, two, rtol=0.02, atol=0.02)),
    **{
        f"dtype: {name}": _result(place, lambda result, right: result.to(right.dtype))
        for place, name in enumerate(RESULTS)
    },
    "results: two": _results(lambda results, _: results[:2]),
    "results: a tuple or a list": _refusing(lambda results: not isinstance(results, tuple)),
    "results: any memory layout": _refusing(
        lambda results: not all(each.is_contiguous() for each in results)
    ),
}
