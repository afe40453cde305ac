"""The visible tests of the four answers of lesson 7. Each example is small enough to check by hand."""

import math

import torch
import torch.nn.functional as F

from attention_lab.examples import example, refuses, same


def test_order_matters(answer):
    torch.manual_seed(42)
    x, shuffle = torch.rand(2, 5, 8), torch.tensor([3, 0, 4, 1, 2])

    def is_right(title, attend, matters):
        example(title, answer, attend, x, shuffle, gives=matters, gradients=False)

    is_right("each token alone: a layer without neighbours", torch.tanh, False)
    is_right("attention without positions", lambda x: F.scaled_dot_product_attention(x, x, x), False)
    is_right("the same, with a difference as small as rounding", lambda x: x + 1e-6 * x.cumsum(dim=1), False)
    is_right("a running sum", lambda x: x.cumsum(dim=1), True)
    is_right("each token moves one position on", lambda x: x.roll(1, dims=1), True)
    is_right("the last position counts twice", lambda x: torch.cat([x[:, :-1], 2 * x[:, -1:]], dim=1), True)
    is_right("a sum in the second text only", lambda x: torch.cat([x[:1], x[1:].cumsum(dim=1)]), True)
    is_right("a small difference", lambda x: x + 1e-3 * x[:, :1], True)


def test_sinusoidal_encoding(answer):
    sin, cos = math.sin, math.cos
    first = [0.0, 1.0, 0.0, 1.0]  # at position 0 all hands point up
    rows = [first, [sin(1), cos(1), sin(0.01), cos(0.01)], [sin(2), cos(2), sin(0.02), cos(0.02)]]
    example("E = 4: speeds 1 and 1/100", answer, 3, 4, gives=rows)
    third = [sin(3), cos(3), sin(0.3), cos(0.3), sin(0.03), cos(0.03), sin(0.003), cos(0.003)]
    same("E = 8: speeds 1, 1/10, 1/100, 1/1000", answer(4, 8)[3], torch.tensor(third))
    far = [sin(2049), cos(2049), sin(20.49), cos(20.49)]
    title = "position 2049, which half precision rounds to 2048"
    same(title, answer(2050, 4)[2049], torch.tensor(far))
    slow = 10000 ** (-2 / 3)
    example("an odd E ends on a sine", answer, 2, 3, gives=[first[:3], [sin(1), cos(1), sin(slow)]])


def test_PositionalEncoding(answer):
    # E = 5: three clocks, the last one without its cosine.
    speeds = [10000 ** (-clock / 5) for clock in (0, 0, 2, 2, 4)]
    angles = torch.arange(10.0)[:, None] * torch.tensor(speeds)  # (max_len, E)
    table = torch.where(torch.arange(5) % 2 == 0, angles.sin(), angles.cos())
    encode = answer(embed_dim=5, max_len=10)
    assert "pe" in dict(encode.named_buffers()), "the table must be a buffer called pe: see register_buffer"
    assert not encode.state_dict(), "the state_dict must be empty: the buffer is not persistent"

    example("tokens of zeros: only the table is left", encode, torch.zeros(1, 10, 5), gives=table[None])
    x = torch.arange(30.0).reshape(2, 3, 5)  # (B, T, E)
    example("the same rows in both sentences", encode, x, gives=x + table[:3])
    far = [math.sin(2049), math.cos(2049), math.sin(20.49), math.cos(20.49)]
    title = "position 2049, which half precision rounds to 2048"
    same(title, answer(4, 2050)(torch.zeros(1, 2050, 4))[0, 2049], torch.tensor(far))
    refuses("12 tokens, 10 positions", encode, torch.zeros(1, 12, 5), naming=(12, 10))
    refuses("256 positions by default", answer(4), torch.zeros(1, 257, 4), naming=(257, 256))


def test_shift_matrix(answer):
    turn = [[math.cos(2), math.sin(2)], [-math.sin(2), math.cos(2)]]
    example("E = 2: one clock, two steps", answer, 2, 2, gives=turn)
    example("a shift of 0 changes nothing", answer, 0, 4, gives=torch.eye(4))
    angles = torch.arange(30.0)[:, None] * torch.tensor([1, 0.1, 0.01, 0.001])  # (positions, clocks)
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)  # (positions, E)
    same("from 5, three steps lead to 8", answer(3, 8) @ table[5], table[8])
    same("the same from 20", answer(3, 8) @ table[20], table[23])
    same("and back", answer(-3, 8) @ table[23], table[20])
