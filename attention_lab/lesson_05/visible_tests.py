"""The visible tests of lesson 5's answers. Each result can be worked out by hand."""

import math

import torch

from attention_lab.examples import example, refuses, with_weights


def test_MultiHeadAttention(answer):
    eye, turn = torch.eye(4), torch.eye(4).roll(1, dims=0)  # turn moves each number one column to the right
    projections = {"query": math.sqrt(2) * eye, "key": eye, "value": eye}
    cut = {f"heads.{h}.{name}": full[2 * h : 2 * h + 2] for h in (0, 1) for name, full in projections.items()}
    layer = with_weights(answer(4, 2), **cut, output=turn)
    query = torch.tensor([[[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]])  # (B, T_q, E)
    key = torch.tensor([[[math.log(3), 0.0, 0.0, math.log(2)], [0.0, math.log(4), math.log(4), 0.0]]])
    value = torch.tensor([[[4.0, 8.0, 5.0, 3.0], [0.0, 0.0, 10.0, 6.0]]])  # (B, T_k, E)
    found = [[[3.0, 6.0, 9.0, 5.4], [0.8, 1.6, 20 / 3, 4.0]]]  # by head 0, by head 1: two numbers each
    weights = [[[0.475, 0.525], [0.4333, 0.5667]]]  # the mean of 3/4, 1/4 and 1/5, 4/5; 1/5, 4/5 and 2/3, 1/3
    turned = torch.tensor(found).roll(1, dims=-1)
    example("two heads by hand", layer, query, key, value, gives=(turned, weights))
    mixed = layer(query, key, key)[0].detach()
    example("no value: the keys are mixed", layer, query, key, gives=(mixed, weights))
    one = ([[[3.0, 4.0, 8.0, 5.0]]], [[[1.0]]])
    example("one token, which attends to itself", layer, value[:, :1], gives=one)
    level = (..., torch.full((1, 3, 5), 1 / 5))
    example("3 queries, 5 equal keys", layer, torch.ones(1, 3, 4), torch.ones(1, 5, 4), gives=level)

    hidden = (torch.tensor([[[3.0, 4.0, 8.0, 5.0]] * 2]), [[[1.0, 0.0]] * 2])
    example("key 1 hidden", layer, query, key, value, torch.tensor([[[True, False]]]), gives=hidden)

    biases = {f"{name}_bias": torch.ones(2) for name in cut} | {"output_bias": torch.full((4,), 5.0)}
    zero = {name: torch.zeros(2, 4) for name in cut}
    biased = with_weights(answer(4, 2, bias=True), **zero, **biases, output=turn)
    example("biases everywhere", biased, query, gives=([[[6.0] * 4] * 2], [[[1 / 2, 1 / 2]] * 2]))
    refuses("3 heads and a width of 8", answer, 8, 3, naming=(3, 8))
