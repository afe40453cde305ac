"""The visible tests of lesson 4's answers. Each result can be worked out by hand."""

import math

import torch

from attention_lab.examples import example, refuses, same, with_weights


def test_AttentionHead(answer):
    head = with_weights(
        answer(2, 4),
        query=[[2.0, 0.0], [0.0, 2.0], [0.0, 0.0], [0.0, 0.0]],
        key=[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]],  # 2 / sqrt(4) is 1: scores are x @ key.mT
        value=[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]],
    )
    query = torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]]])  # (B, T_q, E), two texts
    key = torch.tensor([[[math.log(3), 5.0], [0.0, 2.0]], [[9.0, 0.0], [8.0, math.log(4)]]])  # (B, T_k, E)
    value = torch.tensor([[4.0, 0.0], [0.0, 8.0]]).expand(2, 2, 2)
    weights = [[[3 / 4, 1 / 4]], [[1 / 5, 4 / 5]]]
    mixed = [[[3.0, 2.0, 5.0, 0.0]], [[0.8, 6.4, 7.2, 0.0]]]
    example("weights set by hand", head, query, key, value, gives=(mixed, weights))
    own = head.value(torch.tensor(weights) @ key).detach()
    example("no value: the keys' tokens", head, query, key, gives=(own, weights))
    example(
        "one token, which attends to itself",
        head,
        query,
        gives=(head.value(query).detach(), [[[1.0]], [[1.0]]]),
    )

    mask = torch.tensor([[[True, False]], [[False, False]]])
    hidden = ([[[4.0, 0.0, 4.0, 0.0]], [[0.0] * 4]], [[[1.0, 0.0]], [[0.0, 0.0]]])
    example("one key hidden, then all", head, query, key, value, mask, gives=hidden)
    large = (1e6 * query, torch.tensor([[-9.0, 0.0], [9.0, 0.0]]).expand(2, 2, 2), value, mask)
    example("a visible score far below the hidden one", head, *large, gives=hidden)


def test_CausalSelfAttention(answer):
    qkv, bias = torch.zeros(12, 4), torch.zeros(12)
    bias[0], qkv[1, 3] = 2 * math.log(3), 2 * math.log(2)  # query: 2 / sqrt(4) is 1
    qkv[4:8] = torch.eye(4)  # key: the token as it is
    qkv[8:] = torch.diag(torch.tensor([6.0, 6.0, 6.0, 0.0]))
    bias[-1] = 5.0  # value
    layer = answer(4, block_size=5)
    assert "mask" in dict(layer.named_buffers()), "the mask should be a buffer: see register_buffer"
    same("the mask: True on and below the diagonal", layer.mask, torch.ones(5, 5).tril().bool())

    with_weights(layer, qkv=qkv, qkv_bias=bias)
    x = torch.tensor([[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]])  # (B, T, E)
    weights = [[[1.0, 0.0, 0.0], [3 / 4, 1 / 4, 0.0], [1 / 2, 1 / 3, 1 / 6]]]
    mixed = [[[6.0, 0.0, 0.0, 5.0], [4.5, 1.5, 0.0, 5.0], [3.0, 2.0, 1.0, 5.0]]]
    example("scores of ln 3, ln 2 and 0, by hand", layer, x, gives=(mixed, weights))
    first = ([[[6.0, 0.0, 0.0, 5.0]]], [[[1.0]]])
    example("the first token only", layer, x[:, :1], gives=first)
    with_weights(layer, qkv=1000 * qkv, qkv_bias=-1000 * bias)  # the last key scores highest, unseen
    example(
        "large scores, and the future is hidden",
        layer,
        10 * x[:, :2],
        gives=(..., [[[1.0, 0.0], [0.0, 1.0]]]),
    )
    refuses("8 tokens in a block of 5", layer, torch.zeros(2, 8, 4), naming=(8, 5))
