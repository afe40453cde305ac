"""The visible tests of lesson 3's answers. Each example is small enough to check by hand."""

import math

import torch

from attention_lab.examples import example

CAUSAL_BY_HAND = [
    [True, False, False, False],
    [True, True, False, False],
    [True, True, True, False],
    [True, True, True, True],
]


def test_causal_mask(answer):
    example("the table that we wrote by hand", answer, 4, gives=CAUSAL_BY_HAND)
    example("two tokens", answer, 2, gives=[[True, False], [True, True]])
    example("a single token", answer, 1, gives=[[True]])


def test_padding_mask(answer):
    example(
        "the two sentences above",
        answer,
        torch.tensor([[1, 2, 3, 4], [1, 2, 5, 0]]),
        gives=[[[True, True, True, True]], [[True, True, True, False]]],
    )
    example("padding on the left", answer, torch.tensor([[0, 1, 2]]), gives=[[[False, True, True]]])
    example("5 is padding, 0 a word", answer, torch.tensor([[3, 0, 5]]), 5, gives=[[[True, True, False]]])


def test_masked_softmax(answer):
    scores = torch.tensor([[0.0, math.log(3), 5.0], [2.0, 2.0, 2.0]])
    mask = torch.tensor([[True, True, False], [True, True, True]])
    by_hand = [[1 / 4, 3 / 4, 0.0], [1 / 3, 1 / 3, 1 / 3]]
    example("ln 1 and ln 3 share 1 to 3, the third key is hidden", answer, scores, mask, gives=by_hand)
    example("the same as a batch of one text", answer, scores[None], mask[None], gives=[by_hand])
    example(
        "a row with nothing to attend to",
        answer,
        torch.tensor([[2.0, 1.0], [0.0, 0.0]]),
        torch.tensor([[False, False], [True, True]]),
        gives=[[0.0, 0.0], [0.5, 0.5]],
    )
    example(
        "a visible score far below the hidden one",
        answer,
        torch.tensor([[-20000.0, 20000.0]]),
        torch.tensor([[True, False]]),
        gives=[[1.0, 0.0]],
    )


def test_masked_attention(answer):
    query = torch.tensor([[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]])  # (T_q, d_k), 2 / sqrt(4) is 1
    key = torch.tensor([[0.0, math.log(2), 0.0, 0.0], [math.log(3), 0.0, 0.0, 0.0], [0.0] * 4])
    value = torch.tensor([[4.0, 0.0], [8.0, 4.0], [12.0, 8.0]])  # (T_k, d_v)
    shares = torch.tensor([[1 / 5, 3 / 5, 1 / 5], [1 / 2, 1 / 4, 1 / 4]])
    example("no mask", answer, query, key, value, gives=(shares @ value, shares))
    example("no value: the keys are mixed", answer, query, key, gives=(shares @ key, shares))
    alone = torch.tensor([[math.sqrt(2 * math.log(3)), 0.0, 0.0, 0.0], [0.0] * 4])
    shares = torch.tensor([[3 / 4, 1 / 4], [1 / 2, 1 / 2]])
    example("no key: the query is the key and the value", answer, alone, gives=(shares @ alone, shares))

    mask = torch.tensor([[True, True, False], [False, False, False]])
    shares = torch.tensor([[1 / 4, 3 / 4, 0.0], [0.0, 0.0, 0.0]])
    by_hand = [[7.0, 3.0], [0.0, 0.0]]
    example("one key hidden, then all", answer, query, key, value, mask, gives=(by_hand, shares))
    batch = query[None], key[None], value[None]  # one text: (1, T_q, d_k), (1, T_k, d_k), (1, T_k, d_v)
    example("the same as a batch of one text", answer, *batch, mask, gives=([by_hand], shares[None]))
    far = torch.tensor([[200.0, 0.0, 0.0, 0.0]])
    apart = torch.cat([-far, far])  # scores -20000 and 20000
    visible = torch.tensor([[True, False]])
    gives = (value[:1], [[1.0, 0.0]])
    example("a visible score far below the hidden one", answer, far, apart, value[:2], visible, gives=gives)
