"""The visible tests of the four answers of lesson 6. Each example is small enough to check by hand."""

import math

import torch
import torch.nn as nn

from attention_lab.examples import example, refuses, same, with_weights
from attention_lab.lesson_06.naive import MultiHeadAttention

# Three tokens after the projection of two heads: head 0 holds the tens, head 1 the forties.
HEAD_0 = torch.tensor([[10.0, 100.0], [20.0, 200.0], [30.0, 300.0]])  # (T, D)
HEAD_1 = 4 * HEAD_0
BOTH = torch.cat([HEAD_0, HEAD_1], dim=1)  # (T, E)
HEADS = torch.stack([HEAD_0, HEAD_1])  # (H, T, D)


def test_split_heads(answer):
    example("tens and forties", answer, BOTH[None], 2, gives=HEADS[None])
    two_sentences = torch.stack([BOTH, -BOTH])
    example("two sentences", answer, two_sentences, 2, gives=torch.stack([HEADS, -HEADS]))
    example("four heads of one number", answer, BOTH[None], 4, gives=BOTH.T[None, :, :, None])
    refuses("10 numbers for 4 heads", answer, torch.zeros(1, 3, 10), 4, naming=(10, 4))


def test_merge_heads(answer):
    example("token 0 is 10, 100, 40, 400 again", answer, HEADS[None], gives=BOTH[None])
    two_sentences = torch.stack([HEADS, -HEADS])
    example("two sentences", answer, two_sentences, gives=torch.stack([BOTH, -BOTH]))
    out_of_order = torch.stack([HEAD_0, HEAD_1], dim=1).transpose(0, 1)  # (H, T, D), in memory (T, H, D)
    example("memory in another order", answer, out_of_order[None], gives=BOTH[None])


def test_EfficientMultiHeadAttention(answer):
    eye, turn = torch.eye(4), torch.eye(4).roll(1, dims=0)  # turn moves each number one position on
    projections = {"query": math.sqrt(2) * eye, "key": eye, "value": eye, "output": turn}
    layer = with_weights(answer(4, 2), **projections)
    query = torch.tensor([[[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]])  # (B, T_q, E)
    key = torch.tensor([[[math.log(3), 0.0, 0.0, math.log(2)], [0.0, math.log(4), math.log(4), 0.0]]])
    value = torch.tensor([[[4.0, 8.0, 5.0, 3.0], [0.0, 0.0, 10.0, 6.0]]])  # (B, T_k, E)
    found = [[[3.0, 6.0, 9.0, 5.4], [0.8, 1.6, 20 / 3, 4.0]]]  # by head 0, by head 1: two numbers each
    weights = [[[0.475, 0.525], [0.4333, 0.5667]]]  # the mean of 3/4, 1/4 and 1/5, 4/5; 1/5, 4/5 and 2/3, 1/3
    turned = torch.tensor(found).roll(1, dims=-1)
    example("two heads by hand", layer, query, key, value, gives=(turned, weights))
    mixed = layer(query, key, key)[0].detach()
    example("no value: the keys are mixed", layer, query, key, gives=(mixed, weights))
    example("alone, a token gets itself", layer, value[:, :1], gives=([[[3.0, 4.0, 8.0, 5.0]]], [[[1.0]]]))
    four = with_weights(answer(4, 4), **(projections | {"query": eye}))
    quarters = [[[0.4875, 0.5125], [0.4667, 0.5333]]]
    example("four heads of one number", four, query, key, value, gives=(..., quarters))
    level = (..., torch.full((1, 3, 5), 1 / 5))
    example("3 queries, 5 keys alike", layer, torch.ones(1, 3, 4), torch.ones(1, 5, 4), gives=level)

    mask = torch.tensor([[[True, False]], [[False, False]]])  # (B, 1, T_k): one key hidden, then all
    two_texts = [part.expand(2, 2, 4) for part in (query, key, value)]
    mixed = [[[3.0, 4.0, 8.0, 5.0]] * 2, [[0.0] * 4] * 2]
    hidden = (mixed, [[[1.0, 0.0]] * 2, [[0.0, 0.0]] * 2])
    example("one key hidden, then all", layer, *two_texts, mask, gives=hidden)
    causal = torch.ones(2, 2, dtype=torch.bool).tril()  # (T_q, T_k)
    example("a causal mask", layer, query, key, value, causal, gives=(..., [[[1.0, 0.0], weights[0][1]]]))
    loud = [1e6 * two_texts[0], two_texts[1].flip(1) - 10, two_texts[2]]
    example("visible scores far below the hidden ones", layer, *loud, mask, gives=hidden)

    numbers = {"query": 10.0, "key": 10.0, "value": 1.0, "output": 5.0}
    biases = {f"{name}_bias": torch.full((4,), number) for name, number in numbers.items()}
    silent = {name: torch.zeros(4, 4) for name in projections} | {"output": turn}
    biased = with_weights(answer(4, 2, bias=True), **silent, **biases)
    example("biases everywhere", biased, query, gives=([[[6.0] * 4] * 2], [[[1 / 2, 1 / 2]] * 2]))
    refuses("3 heads and a width of 8", answer, 8, 3, naming=(3, 8))


def test_from_torch(answer):
    """The state_dict is loaded into lesson 5's layer, head by head, so that it needs no other answer."""
    torch.manual_seed(42)
    mask = torch.ones(4, 5, dtype=torch.bool).tril()  # every query has something to attend to
    query, key, value = torch.rand(3, 4, 8), torch.rand(3, 5, 8), torch.rand(3, 5, 8)
    for bias in (False, True):
        mha = nn.MultiheadAttention(8, 2, bias=bias, batch_first=True)
        for parameter in mha.parameters():  # its biases would be 0
            nn.init.normal_(parameter)
        state = answer(mha)
        kinds = ("weight", "bias") if bias else ("weight",)
        names = {f"{name}.{kind}" for name in ("query", "key", "value", "output") for kind in kinds}
        assert set(state) == names, f"bias={bias}: the names are {sorted(names)}, not {sorted(state)}"

        loop = MultiHeadAttention(8, 2, bias=bias)
        heads = {f"output.{kind}": state[f"output.{kind}"] for kind in kinds}
        for name in names - set(heads):
            for head, part in enumerate(state[name].chunk(2)):
                heads[f"heads.{head}.{name}"] = part
        loop.load_state_dict(heads)
        output, weights = mha(query, key, value, attn_mask=~mask)  # torch's layer: True = ignore
        same(f"torch's output, bias={bias}", loop(query, key, value, mask)[0], output)
        same(f"torch's weights, bias={bias}", loop(query, key, value, mask)[1], weights)
