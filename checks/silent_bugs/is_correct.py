"""The exercise `is_correct`: right and broken attention functions, told apart."""

import math
import random

import torch
import torch.nn.functional as F

from attention_lab.authoring import Exercise, case

from .attention_candidates import FAMILIES, Candidate, Family
from .attention_checks import FLOATS, SIZES, calls, formula

is_correct = Exercise(
    "is_correct",
    results=("answer",),
)


def drawn_candidates(draw, family: str) -> list[Candidate]:
    """All broken functions of a family among right ones, in an order that is drawn."""
    functions = Family(draw, FAMILIES[family])
    candidates = [*functions.right_ones(), *functions.broken_ones()]
    return [candidates[index] for index in draw.permutation(len(candidates)).tolist()]


def _cases(draw, family):
    """The label stays here: what travels is the function alone, as compiled code that all of them share."""
    for candidate in drawn_candidates(draw, family):
        yield case(candidate.function)


# Every group holds both kinds and passes or fails as a whole, so neither an answer that never changes
# nor one decided by a coin earns anything.
@is_correct.group("the scale is wrong, or nothing is", points=1)
def scale(draw):
    yield from _cases(draw, "scale")


@is_correct.group("the softmax is wrong, or nothing is", points=2)
def softmax(draw):
    yield from _cases(draw, "softmax")


@is_correct.group("the mask is used wrongly, or nothing is wrong", points=2)
def mask(draw):
    yield from _cases(draw, "mask")


@is_correct.group("a query with nothing to attend to goes wrong, or nothing does", points=1)
def empty(draw):
    yield from _cases(draw, "empty")


@is_correct.group("query, key, value or results are mixed up, or nothing is", points=2)
def inputs(draw):
    yield from _cases(draw, "inputs")


@is_correct.group("something else takes part, or nothing does", points=1)
def company(draw):
    yield from _cases(draw, "company")


@is_correct.group("gradients suffer, or nothing does", points=2)
def gradients(draw):
    yield from _cases(draw, "gradients")


@is_correct.group("digits, dtype or arguments suffer, or nothing does", points=1)
def tensors(draw):
    yield from _cases(draw, "tensors")


def _tensors(dtype, batch=2, queries=3, keys=4, width=6, value_width=5):
    generator = torch.Generator().manual_seed(11)
    shapes = (batch, queries, width), (batch, keys, width), (batch, keys, value_width)
    return [torch.randn(shape, generator=generator, dtype=dtype).requires_grad_() for shape in shapes]


def _masks(queries=3, keys=4):
    """One for all samples, one for each, and padding; in the last two, queries may attend to nothing."""
    shared = torch.ones(queries, keys).tril().bool()
    each = torch.stack([shared, shared.flip(1)])
    each[1, 1] = False
    return shared, each, torch.tensor([[[True] * (keys - 1) + [False]], [[False] * keys]])


@is_correct.accepted_alternative(
    "torch's fused attention is the reference: with a unit matrix as values it returns the weights, too. "
    "It is short, but it relies on torch for empty rows."
)
def against_torch(attention):
    """Torch's own attention gives the output, and with the unit matrix for values the weights."""
    try:
        for dtype in FLOATS:
            query, key, value = _tensors(dtype)
            calls = [((query, key, value), mask) for mask in (None, *_masks())]
            calls += [((query,), None), ((query, key), None), ((query,), _masks(3, 3)[1])]
            for given, mask in calls:
                copies = [tensor.detach().clone() for tensor in given]
                mask_copy = None if mask is None else mask.clone()
                actual = attention(*given, mask=mask)
                assert all(map(torch.equal, given, copies))
                assert mask is None or torch.equal(mask, mask_copy)
                q, k, v = (*given, given[-1], given[-1])[:3] if len(given) < 3 else given
                expected = [F.scaled_dot_product_attention(q, k, x, mask_copy) for x in (v, _unit(k))]
                torch.testing.assert_close(actual[0], expected[0], rtol=1e-4, atol=1e-5)
                torch.testing.assert_close(actual[1], expected[1], rtol=1e-4, atol=1e-5)
                gradients = [
                    torch.autograd.grad([(x**2).sum() for x in results], given)
                    for results in (actual, expected)
                ]
                torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-4)
    except Exception:
        return False
    return True


def _unit(key):
    return torch.eye(key.shape[-2], dtype=key.dtype).expand(*key.shape[:-1], -1)


@is_correct.accepted_alternative(
    "Computes each query by itself, with only the keys that it may see. No mask takes part, so this "
    "reference cannot repeat a masking mistake of the function under test. It is slow."
)
def only_what_is_seen(attention):
    """Each query by itself, with nothing but the keys that it may attend to: no mask takes part."""

    def right(query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        mask = torch.ones(1, 1, dtype=torch.bool) if mask is None else mask
        mask = mask.expand(len(query), query.shape[1], key.shape[1])
        weights = torch.zeros(mask.shape, dtype=query.dtype)
        for sample, place in mask.any(dim=-1).nonzero().tolist():
            seen = mask[sample, place]
            scores = key[sample, seen] @ query[sample, place]
            weights[sample, place, seen] = F.softmax(scores / math.sqrt(query.shape[-1]), dim=0)
        return weights @ value, weights

    def agrees(given, mask):
        used = [tensor.detach().clone().requires_grad_() for tensor in given]
        mask_used = None if mask is None else mask.clone()
        results, expected = attention(*used, mask=mask_used), right(*given, mask=mask)
        for tensor, other in zip(results, expected, strict=True):
            if tensor.dtype != other.dtype or tensor.shape != other.shape:
                return False
            if not bool(((tensor - other).abs() < 1e-5).all()):
                return False
        gradients = torch.autograd.grad(results[0].exp().sum() + results[1].exp().sum(), used)
        expected_gradients = torch.autograd.grad(expected[0].exp().sum() + expected[1].exp().sum(), given)
        close = all(torch.allclose(a, b, rtol=1e-3, atol=1e-4) for a, b in zip(gradients, expected_gradients))
        unchanged = all(torch.equal(a, b) for a, b in zip(used, given))
        return close and unchanged and (mask is None or torch.equal(mask, mask_used))

    for dtype in FLOATS:
        query, key, value = _tensors(dtype)
        calls = [((query,), None), ((query, key), None), ((query,), torch.ones(3, 3).tril().bool())]
        calls += [((query, key, value), mask) for mask in (None, *_masks())]
        for given, mask in calls:
            try:
                if not agrees(given, mask):
                    return False
            except (RuntimeError, ValueError, TypeError, IndexError, AttributeError):
                return False
    return True


@is_correct.accepted_alternative
def by_properties(attention):
    """Return what has to be so, without a second implementation of all of it."""
    try:
        return all(_has_the_properties(attention, dtype) for dtype in FLOATS)
    except Exception:
        return False


def _size(attention, tensors, mask, place):
    return attention(*tensors, mask)[place].square().sum()


def _has_the_properties(attention, dtype):
    query, key, value = tensors = _tensors(dtype)
    before, masks = [tensor.detach().clone() for tensor in tensors], _masks()
    near = {"rtol": 1e-4, "atol": 1e-5}
    scale = math.sqrt(query.shape[-1])
    for mask in (None, *masks):
        output, weights = attention(query, key, value, mask)
        seen = torch.ones(2, 3, 4, dtype=torch.bool) if mask is None else mask.expand(2, 3, 4)
        # No weight where the mask forbids it; a whole row of it elsewhere; the output is made of it.
        sums = weights.sum(dim=-1)
        fine = output.dtype == weights.dtype == dtype and weights.shape == seen.shape
        fine = fine and not weights[~seen].any() and not output[~seen.any(dim=-1)].any()
        fine = fine and torch.allclose(sums, seen.any(dim=-1).to(dtype), **near)
        fine = fine and output.shape == (2, 3, 5) and torch.allclose(output, weights @ value, **near)
        # The logarithms of two weights differ as the scores do.
        a, b = weights.unsqueeze(-1), weights.unsqueeze(-2)
        both = seen.unsqueeze(-1) & seen.unsqueeze(-2)
        scores = torch.einsum("bqd,bkd->bqk", query, key) / scale
        differences = scores.unsqueeze(-1) - scores.unsqueeze(-2)
        fine = fine and bool((weights[seen] > 0).all())
        if not fine or not torch.allclose((a / b)[both].log(), differences[both], rtol=1e-3, atol=1e-4):
            return False
        # Backward: the gradient from each result to each argument tells how the result changes with it.
        for place, moved in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1)):
            (slope,) = torch.autograd.grad(_size(attention, tensors, mask, place), tensors[moved])
            step = 0.01 * torch.cos(torch.arange(slope.numel(), dtype=dtype)).view_as(slope)
            ends = [[t + sign * step if t is tensors[moved] else t for t in tensors] for sign in (1, -1)]
            change = _size(attention, ends[0], mask, place) - _size(attention, ends[1], mask, place)
            if not torch.allclose(change, 2 * (slope * step).sum(), rtol=1e-2, atol=1e-3):
                return False
    # No key means the query, no value the key.
    for short, long in (((query,), (query, query, query)), ((query, key), (query, key, key))):
        for of_short, full in zip(attention(*short), attention(*long), strict=True):
            if not torch.allclose(of_short, full, **near):
                return False
    unchanged = all(map(torch.equal, tensors, before)) and all(map(torch.equal, masks, _masks()))
    square = query.detach()
    output, weights = attention(square)
    right = torch.softmax(square @ square.mT / scale, dim=-1)
    return (
        unchanged
        and torch.allclose(weights, right, **near)
        and torch.allclose(output, right @ square, **near)
    )


@is_correct.accepted_alternative
def on_random_calls(attention):
    """Calls whose sizes, masks and left-out arguments are drawn, twelve of them."""
    chance = random.Random(4)
    generator = torch.Generator().manual_seed(chance.randrange(1000))
    for turn in range(12):
        dtype = FLOATS[turn % 2]
        batch, queries, keys, width, value_width = (chance.randint(2, 6) for _ in range(5))
        count = chance.choice((1, 2, 3, 3))
        keys = keys if count > 1 else queries
        shapes = (batch, queries, width), (batch, keys, width), (batch, keys, value_width)
        given = [torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes[:count]]
        kind = chance.choice((None, (queries, keys), (batch, 1, keys), (batch, queries, keys)))
        mask = None if kind is None else torch.rand(kind, generator=generator) < chance.choice((0.2, 0.7))
        if not _survives(attention, given, mask):
            return False
    return True


def _survives(attention, given, mask):
    copies = [tensor.clone().requires_grad_() for tensor in given]
    originals = [tensor.clone().requires_grad_() for tensor in given]
    arguments = dict(zip(("query", "key", "value"), copies)) | {
        "mask": None if mask is None else mask.clone()
    }
    right = formula(*originals, mask=mask)
    sum(tensor.pow(3).sum() for tensor in right).backward()
    try:
        results = tuple(attention(**arguments))
        for tensor, expected in zip(results, right, strict=True):
            torch.testing.assert_close(tensor, expected, rtol=1e-4, atol=1e-4)
        sum(tensor.pow(3).sum() for tensor in results).backward()
        for tensor, original in zip(copies, originals):
            torch.testing.assert_close(tensor.grad, original.grad, rtol=1e-3, atol=1e-3)
            assert torch.equal(tensor, original)
        assert mask is None or torch.equal(arguments["mask"], mask)
    except Exception:
        return False
    return True


@is_correct.accepted_alternative
def question_by_question(attention):
    """Every question is put, and only then the answer is given."""
    passed = []
    for call in calls(FLOATS, tuple(SIZES.values()), ("none", "shared", "padding", "each"), True, (1, 2, 3)):
        query, *others = [tensor.clone().requires_grad_() for tensor in call.tensors]
        mask = call.mask.clone() if call.mask is not None else None
        try:
            output, weights = attention(query, *others, mask=mask)
            right_output, right_weights = call.results
            passed.append(output.shape == right_output.shape and output.dtype == right_output.dtype)
            passed.append(weights.shape == right_weights.shape and weights.dtype == right_weights.dtype)
            passed.append((output - right_output).abs().max().item() < 1e-4)
            passed.append((weights - right_weights).abs().max().item() < 1e-4)
            passed.append(mask is None or torch.equal(mask, call.mask))
            passed.append(all(torch.equal(a, b) for a, b in zip((query, *others), call.tensors)))
            if call.gradients is not None:
                (output.square().sum() + weights.square().sum()).backward()
                pairs = zip((query, *others), call.gradients)
                passed += [torch.allclose(leaf.grad, right, rtol=1e-3, atol=1e-4) for leaf, right in pairs]
        except Exception:
            passed.append(False)
    return all(passed)
