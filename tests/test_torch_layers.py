"""Around torch's own layers: the entries of docs/torch-attention.md change nothing in what lessons compare.

The modes decide which implementation of torch runs: training, evaluation, evaluation without gradients.
"""

import contextlib
import itertools
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from attention_lab.encoder.model import ReferenceBlock
from attention_lab.lesson_08.layers import (
    EfficientMultiHeadAttention,
    TorchMultiHeadAttention,
    copy_weights,
)
from attention_lab.lesson_14.given import GivenBlock
from attention_lab.lesson_14.model import load_language_model
from nbjudge.course.course import open_course

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from language_model import PACKAGES, in_transformers, on_own_layers

pytestmark = [pytest.mark.lesson, pytest.mark.usefixtures("float64")]
LESSONS = open_course(Path(__file__).resolve().parents[1]).assignments
LOAD_DECODER = LESSONS["language_model"].reference_answer("load_decoder")
SMALL = load_language_model("small")
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


@combinations
def test_a_layer_by_from_torch_agrees(mode, mask, heads):
    lesson = LESSONS["efficient_reshape"]
    mha = nn.MultiheadAttention(8, heads, batch_first=True)
    for parameter in mha.parameters():
        nn.init.normal_(parameter)
    ours = lesson.reference_answer("EfficientMultiHeadAttention")(8, heads, bias=True)
    ours.load_state_dict(lesson.reference_answer("from_torch")(mha))
    x, visible = torch.randn(3, 4, 8), MASKS[mask]
    hidden = None
    if visible is not None:
        hidden = (~visible.expand(3, 4, 4)).repeat_interleave(heads, dim=0)
    with torch.no_grad():
        found, weights = ours.eval()(x, mask=visible)
    training, gradients = MODES[mode]
    with gradients():
        expected, their_weights = mha.train(training)(x, x, x, attn_mask=hidden)
    sees = torch.ones(3, 4).bool() if visible is None else visible.expand(3, 4, 4).any(-1)
    assert_same([found[sees], weights[sees]], [expected[sees].detach(), their_weights[sees].detach()])
    assert found.isfinite().all() and (weights[~sees] == 0).all()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("mask", ["none", "padding"])
def test_lesson_13s_block_agrees_in_all_modes(mode, mask):
    block = ReferenceBlock(nn.TransformerEncoderLayer(8, 2, 12, 0.0, "gelu", batch_first=True))
    x, visible = torch.randn(3, 4, 8), MASKS[mask]
    sees = REAL if visible is not None else torch.ones(3, 4).bool()
    expected = outputs(block, "training", x, mask=visible)[0][sees]
    assert_same([outputs(block, mode, x, mask=visible)[0][sees]], [expected])


PIECES = {"whole text": (5,), "pieces": (2, 3), "token by token": (1,) * 5}
KV_HEADS = (1, 2, 4)  # of four query heads


@pytest.mark.parametrize(("mode", "lengths", "kv_heads"), list(itertools.product(MODES, PIECES, KV_HEADS)))
def test_lesson_14s_block_agrees_with_torchs_functions(mode, lengths, kv_heads):
    """Fused attention with a mask, or with one query and none, and shared heads by `enable_gqa`."""
    small = replace(SMALL, embed_dim=16, num_heads=4, num_kv_heads=kv_heads, hidden_dim=10, num_layers=1)
    rows = {"attn_q": 16, "attn_k": 4 * kv_heads, "attn_v": 4 * kv_heads, "attn_output": 16}
    shapes = {name: (count, 16) for name, count in rows.items()}
    shapes |= {"ffn_gate": (10, 16), "ffn_up": (10, 16), "ffn_down": (16, 10)}
    shapes |= {"attn_norm": (16,), "ffn_norm": (16,)}
    tensors = {f"blk.0.{name}.weight": torch.randn(shape) for name, shape in shapes.items()}
    small = replace(small, tensors=tensors)
    ours = small.with_blocks(LESSONS["language_model"].reference_answer("DecoderBlock"), LOAD_DECODER)
    (block,), given = ours.blocks, GivenBlock(small, 0)
    results, x = [], torch.randn(2, 5, 16)
    training, gradients = MODES[mode]
    for each in (block.train(training), given):
        text, cache, parts = x.clone(), None, []
        with gradients():
            text.requires_grad_(torch.is_grad_enabled())
            for piece in text.split(PIECES[lengths], dim=1):
                part, cache = each(piece, cache)
                parts.append(part)
        found = [torch.cat(parts, dim=1), *cache]
        if text.requires_grad:
            torch.cat(parts, dim=1).square().sum().backward()
            found.append(text.grad)
        results.append([tensor.detach() for tensor in found])
    assert_same(*results)


@pytest.mark.integration
@pytest.mark.filterwarnings("default")  # transformers' own
def test_lesson_14s_model_agrees_with_padded_llama(monkeypatch):
    """Padding at the left, at the right, and a text that is all padding; ours has no mask for it."""
    if not (PACKAGES / "transformers").is_dir():
        reason = "the package transformers is not installed: make language-model"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    monkeypatch.syspath_prepend(PACKAGES)
    torch.set_default_dtype(torch.float32)
    own, llama = on_own_layers(SMALL), in_transformers(SMALL)
    ids = torch.randint(5, 40, (1, 6))
    expected = own(ids)[0].detach()
    for (training, gradients), start in itertools.product(MODES.values(), (0, 3)):
        padded, real = torch.zeros(2, 9, dtype=torch.long), torch.zeros(2, 9, dtype=torch.long)
        padded[0, start : start + 6], real[0, start : start + 6] = ids[0], 1  # the second text is all padding
        with gradients():
            logits = llama.train(training)(padded, attention_mask=real).logits[:1, start : start + 6]
        torch.testing.assert_close(logits.detach(), expected, rtol=0, atol=1e-3)
