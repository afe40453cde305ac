"""Around torch's own layers: the entries of docs/torch-attention.md change nothing in what lessons compare.

The modes decide which implementation of torch runs: training, evaluation, evaluation without gradients.
"""

from __future__ import annotations

import contextlib
import itertools

import pytest
import torch
from torch import nn

from attention_lab.lesson_08.layers import (
    EfficientMultiHeadAttention,
    TorchMultiHeadAttention,
    copy_weights,
)

pytestmark = [pytest.mark.lesson, pytest.mark.usefixtures("float64")]
MODES = {
    "training": (True, contextlib.nullcontext),
    "evaluation": (False, contextlib.nullcontext),
    "evaluation without gradients": (False, torch.no_grad),
}
REAL = torch.tensor([[1, 1, 1, 1], [0, 0, 1, 1], [1, 0, 0, 0]]).bool()  # a whole text; left and right padding
CAUSAL = torch.ones(4, 4).tril().bool()
MASKS = {
    "none": None,
    "causal": CAUSAL,
    "padding": REAL[:, None],
    "both": REAL[:, None] & CAUSAL,  # with left padding, the first queries see nothing
    "all padding": (REAL & torch.tensor([[True], [True], [False]]))[:, None],
}
combinations = pytest.mark.parametrize(
    ("mode", "mask", "heads"), list(itertools.product(MODES, MASKS, (1, 2))), ids=lambda value: str(value)
)


@pytest.fixture
def float64():
    """One seed, and numbers whose differences are no rounding errors."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        torch.set_default_dtype(torch.float64)
        yield
        torch.set_default_dtype(torch.float32)


def outputs(layer, mode, *arguments, **options):
    """What a layer gives in a mode, and the gradient that reaches its first argument where there is one."""
    training, gradients = MODES[mode]
    x = arguments[0].clone()
    with gradients():
        x.requires_grad_(torch.is_grad_enabled())
        found = layer.train(training)(x, *arguments[1:], **options)
    found = found if isinstance(found, tuple) else (found,)
    if x.requires_grad:
        found[0].square().sum().backward()
        found += (x.grad,)
    return [tensor.detach() for tensor in found]


def assert_same(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.isfinite().all()
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-8)


@combinations
def test_the_adapter_agrees_with_ours(mode, mask, heads):
    ours, torchs = EfficientMultiHeadAttention(8, heads), TorchMultiHeadAttention(8, heads)
    for parameter in ours.parameters():
        nn.init.normal_(parameter)  # torch's own biases are zero at first, which would hide them
    copy_weights(ours, torchs)
    assert torch.equal(torchs.layer.out_proj.bias, ours.output.bias)
    x = torch.randn(3, 4, 8)
    assert_same(outputs(torchs, mode, x, mask=MASKS[mask]), outputs(ours, mode, x, mask=MASKS[mask]))
