"""The visible tests of the four answers of lesson 13. Each example is small enough to check by hand."""

from unittest import TestCase

import torch
import torch.nn as nn

from attention_lab.encoder import load_encoder, reference_blocks, reference_embed
from attention_lab.examples import example, same

# The parts of a block, and their names in a BERT checkpoint.
BERT_NAMES = {
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.output": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "linear1": "intermediate.dense",
    "linear2": "output.dense",
    "norm2": "output.LayerNorm",
}


def test_TransformerBlock(answer):
    zeros = {f"attention.{name}.weight": torch.zeros(2, 2) for name in ("query", "key", "value", "output")}
    zeros |= {name.replace("weight", "bias"): torch.zeros(2) for name in zeros}
    norms = {f"norm{n}.weight": torch.ones(2) for n in (1, 2)}
    norms |= {f"norm{n}.bias": torch.zeros(2) for n in (1, 2)}
    feed = {
        "linear1.weight": torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]]),
        "linear1.bias": torch.zeros(3),
        "linear2.weight": torch.tensor([[3.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
        "linear2.bias": torch.tensor([-5.0, 0.0]),
    }
    silent = {name: torch.zeros_like(tensor) for name, tensor in feed.items()}
    x = torch.tensor([[[7.0, 1.0], [2.0, 6.0]]])  # normalised: (1, -1) and (-1, 1)

    def block(**state):
        layer = answer(2, 1, 3)
        names, expected = sorted(layer.state_dict()), sorted(zeros | norms | feed)
        assert names == expected, f"the state_dict should hold {expected}, not {names}"
        layer.load_state_dict(zeros | norms | feed | state)
        return layer

    expected = [[[1.0, -1.0], [-1.0, 1.0]]]
    example("two silent halves leave the residual, normalised", block(**silent), x, gives=expected)
    shifted = {"norm1.weight": torch.tensor([2.0, 2.0]), "norm2.bias": torch.tensor([0.0, 4.0])}
    expected = [[[1.0, 3.0], [-1.0, 5.0]]]
    example("norm1 and norm2 each in their place", block(**silent, **shifted), x, gives=expected)
    quarter = {"norm2.weight": torch.tensor([0.5, 0.25])}
    expected = [[[-0.5, 0.25], [-0.5, 0.25]]]
    example("the feed-forward half: GELU, sum, norm", block(**quarter), x, gives=expected)

    torch.manual_seed(42)
    actual = answer(8, 2, 12)
    reference = nn.TransformerEncoderLayer(8, 2, 12, 0.0, "gelu", layer_norm_eps=1e-12, batch_first=True)
    state = {f"self_attn.out_proj.{name}": part for name, part in actual.attention.output.named_parameters()}
    for kind in ("weight", "bias"):
        thirds = [getattr(getattr(actual.attention, name), kind) for name in ("query", "key", "value")]
        state[f"self_attn.in_proj_{kind}"] = torch.cat(thirds)
    others = {
        name: tensor for name, tensor in actual.state_dict().items() if not name.startswith("attention")
    }
    reference.load_state_dict(state | others)
    text = torch.randn(3, 5, 8)
    same("training and evaluation mode agree", actual.train()(text), actual.eval()(text))
    actual.train()
    visible = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]]).bool()
    same("the same numbers as torch's own block", actual(text), reference(text))
    masked, expected = actual(text, mask=visible[:, None]), reference(text, src_key_padding_mask=~visible)
    same("the same numbers with padding hidden", masked[visible], expected[visible])
    for norm in (actual.norm1, actual.norm2):
        assert norm.eps == 1e-12, f"a norm has eps={norm.eps}, where BERT has 1e-12"
    actual, reference, small = actual.double(), reference.double(), 1e-4 * text.double()
    same("in float64", actual(small), reference(small))
    gradients = []
    for layer in (actual, reference):
        x = text.double().requires_grad_()
        layer(x)[..., 0].sum().backward()
        gradients.append(x.grad)
    assert torch.allclose(*gradients), "the gradient that reaches x is not that of torch's own block"


def test_load_block(answer):
    square = ("self.query", "self.key", "self.value", "output.dense")
    shapes = {f"attention.{name}": (4, 4) for name in square}
    shapes |= {"attention.output.LayerNorm": (4,), "output.LayerNorm": (4,)}
    shapes |= {"intermediate.dense": (6, 4), "output.dense": (4, 6)}
    torch.manual_seed(42)
    others = ("embeddings.LayerNorm.weight", "encoder.layer.1.output.unknown")
    weights = {name: torch.randn(4) for name in others}
    for layer in (10, 1, 11, 0):
        for name, shape in shapes.items():
            weights[f"encoder.layer.{layer}.{name}.weight"] = torch.randn(shape, dtype=torch.float64)
            weights[f"encoder.layer.{layer}.{name}.bias"] = torch.randn(shape[0], dtype=torch.float64)
    names = list(weights)
    state = answer(weights, 1)
    assert list(weights) == names, "weights was changed"
    expected = sorted(f"{name}.{kind}" for name in BERT_NAMES for kind in ("weight", "bias"))
    missing, unknown = sorted(set(expected) - set(state)), sorted(set(state) - set(expected))
    assert not missing, f"missing from the state_dict: {missing}; not a name of the block: {unknown}"
    assert not unknown, f"not a name of the block: {unknown}"
    for name, bert_name in BERT_NAMES.items():
        actual = {kind: state[f"{name}.{kind}"] for kind in ("weight", "bias")}
        same(
            f"{name} of layer 1",
            actual,
            {kind: weights[f"encoder.layer.1.{bert_name}.{kind}"] for kind in actual},
        )
        assert all(tensor.dtype == torch.float64 for tensor in actual.values()), (
            f"{name}: the dtype has changed"
        )
    del weights["encoder.layer.10.output.dense.bias"]
    without = "encoder.layer.10.output.dense.bias is missing from weights: raise a KeyError with this name"
    with TestCase().assertRaisesRegex(KeyError, "encoder.layer.10.output.dense.bias", msg=without):
        answer(weights, 10)
    print("✓ a missing entry raises a KeyError with its full name")


def test_mean_pool(answer):
    x = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [5.0, 1.0]], [[4.0, 8.0], [2.0, 2.0], [9.0, 9.0]]])
    every, padded = torch.ones(2, 3, dtype=torch.bool), torch.tensor([[1, 1, 1], [1, 1, 0]]).bool()
    holes, empty = torch.tensor([[1, 0, 1], [0, 1, 0]]).bool(), torch.tensor([[0, 0, 0], [0, 1, 1]]).bool()
    example("nothing hidden", answer, x, every, gives=[[3.0, 3.0], [5.0, 6.3333]])
    example("padding left out", answer, x, padded, gives=[[3.0, 3.0], [3.0, 5.0]])
    example("a mask with holes", answer, x, holes, gives=[[3.0, 1.5], [2.0, 2.0]])
    example("a text without any token", answer, x, empty, gives=[[0.0, 0.0], [5.5, 5.5]])


def test_embed(answer):
    small = load_encoder("small")
    blocks = [block.requires_grad_() for block in reference_blocks(small)]  # torch's own
    blocks[0].train()
    modes = [block.training for block in blocks]
    texts = ["The goal.", "Parliament signed a treaty with three countries on Monday.", "A new film"]
    before, given = small.tokenizer.to_str(), list(texts)
    vectors = answer(texts, small.tokenizer, small.embeddings, iter(blocks))
    assert texts == given, "the list of texts was changed"
    assert small.tokenizer.to_str() == before, "the tokenizer was changed"
    assert torch.is_grad_enabled(), "gradients are off after the call"
    with torch.no_grad():
        answer(texts[:1], small.tokenizer, small.embeddings, [])
        assert not torch.is_grad_enabled(), "gradients were off before the call and are on after it"
    assert [block.training for block in blocks] == modes, "the mode of the blocks was changed"
    assert not vectors.requires_grad, "the result has requires_grad=True"
    same("the same vectors as torch's own blocks give, text by text", vectors, reference_embed(texts, small))
    alone = answer(texts[:1], small.tokenizer, small.embeddings, blocks)
    same("a text alone and beside longer ones", alone, vectors[:1])
    nothing = answer(texts, small.tokenizer, lambda ids: torch.zeros(*ids.shape, 4), [])
    same("rows of zeros stay zero", nothing, torch.zeros(3, 4))
    short = answer(texts, small.tokenizer, lambda ids: small.embeddings(ids) / 1e8, [])
    lengths = short.norm(dim=-1)
    assert torch.allclose(lengths, torch.ones(3)), f"short vectors get lengths {lengths.tolist()}, not 1"
    wide = answer(texts, small.tokenizer, lambda ids: small.embeddings(ids).double(), [])
    assert wide.dtype == torch.float64, f"for embeddings in float64 the result is {wide.dtype}"
