"""Two more right ways to write `is_correct`: by chance, and from a list of questions."""

import random

import torch

from .attention_checks import FLOATS, SIZES, calls, formula
from .is_correct import is_correct


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
