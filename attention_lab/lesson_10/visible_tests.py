"""The visible tests of lesson 10's answers. Each example is small enough to check by hand."""

import math

import torch

from attention_lab.examples import example, refuses, same, with_weights

QUARTER, NONE = math.pi / 2, 0.0  # angles
ROOT = math.sqrt(3) / 2  # the cosine of a twelfth of a turn


def test_rotary_angles(answer):
    by_hand = [[0.0, 0.0], [1.0, 0.1], [2.0, 0.2]]
    example("three positions, two pairs, base 100", answer, 3, 4, 100.0, gives=by_hand)
    example("the usual base", answer, 2, 4, gives=[[0.0, 0.0], [1.0, 0.01]])
    thirds = [[0.0, 0.0, 0.0], [1.0, 0.1, 0.01]]
    example("three pairs, base 1000", answer, 2, 6, 1000.0, gives=thirds)
    far = answer(2050, 8)[2049]
    title = "position 2049, which half precision rounds to 2048"
    same(title, far, torch.tensor([2049.0, 204.9, 20.49, 2.049]))
    same("its dtype", str(far.dtype), "torch.float32")
    same("base 10000 if none is given", torch.equal(answer(9, 8), answer(9, 8, 10000.0)), True)
    refuses("a head of 5 numbers", answer, 3, 5, naming=(5,))


def _one_token():
    return torch.tensor([[1.0, 2.0, 3.0, 4.0]])  # (T, D), a new tensor each time


def _twelfths():
    return torch.tensor([[math.pi / 6, -math.pi / 6]])  # one position, two pairs


def _three_tokens(answer):
    tokens = torch.tensor([[1.0, 2.0], [1.0, 2.0], [5.0, 0.0]])
    angles = torch.tensor([[NONE], [QUARTER], [-QUARTER]])
    by_hand = torch.tensor([[1.0, 2.0], [-2.0, 1.0], [0.0, -5.0]])
    example("three tokens", answer, tokens, angles, gives=by_hand)
    batch = torch.stack([tokens, -tokens, 2 * tokens, 3 * tokens]).view(2, 2, 3, 2)
    gives = torch.stack([by_hand, -by_hand, 2 * by_hand, 3 * by_hand]).view(2, 2, 3, 2)
    example("a batch with heads", answer, batch, angles, gives=gives)


def test_rotate(answer):
    example("a quarter turn", answer, _one_token()[:, :2], torch.tensor([[QUARTER]]), gives=[[-2.0, 1.0]])
    example("two pairs", answer, _one_token(), torch.tensor([[QUARTER, NONE]]), gives=[[-2.0, 1.0, 3.0, 4.0]])
    turned = [[ROOT - 1.0, 0.5 + 2 * ROOT, 3 * ROOT + 2.0, -1.5 + 4 * ROOT]]
    example("a twelfth to the left, a twelfth to the right", answer, _one_token(), _twelfths(), gives=turned)
    _three_tokens(answer)


def test_rotate_halves(answer):
    example("a quarter turn", answer, _one_token()[:, :2], torch.tensor([[QUARTER]]), gives=[[-2.0, 1.0]])
    angles = torch.tensor([[QUARTER, NONE]])
    example("the first of two pairs", answer, _one_token(), angles, gives=[[-3.0, 2.0, 1.0, 4.0]])
    turned = [[ROOT - 1.5, 2 * ROOT + 2.0, 0.5 + 3 * ROOT, -1.0 + 4 * ROOT]]
    example("a twelfth to the left, a twelfth to the right", answer, _one_token(), _twelfths(), gives=turned)
    _three_tokens(answer)


def test_to_halves(answer):
    rows = torch.arange(12.0)[:, None] * torch.tensor([1.0, 10.0])  # (E, E_in), each row different
    one = [0, 2, 4, 1, 3, 5]
    example("one head of six rows", answer, rows[:6], 1, gives=rows[one])
    two = [*one, *(6 + row for row in one)]
    example("two heads: each keeps its own rows", answer, rows, 2, gives=rows[two])
    three = [4 * head + row for head in range(3) for row in (0, 2, 1, 3)]
    example("three heads", answer, rows, 3, gives=rows[three])


def _turned_keys(layer, text, base):
    """The keys of a layer with 2 heads of size 4, turned: (B, H, T, D)."""
    keys = layer.key(text).unflatten(-1, (2, 2, 2)).transpose(1, 2)  # (B, H, T, D/2, 2)
    positions = torch.arange(text.shape[1])
    angles = torch.stack([positions * 1.0, positions / math.sqrt(base)], dim=-1)  # (T, D/2)
    a, b = keys[..., 0], keys[..., 1]
    pairs = [a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()]
    return torch.stack(pairs, dim=-1).flatten(-2)


def test_RotaryAttention(answer):
    eye, rolled = torch.eye(4), torch.eye(4).roll(1, dims=0)
    layer = with_weights(answer(4, 2), query=2 * eye, key=eye, value=eye, output=rolled)
    x = torch.tensor([[[1.0, 0.0, 0.5, 1.0], [0.0, 2.0, 1.0, 0.0], [3.0, 0.0, 1.0, 2.0]]])  # (B, T, E)
    heads = x.view(1, 3, 2, 2).transpose(1, 2)  # (B, H, T, D)
    c, s, c2, s2 = math.cos(1), math.sin(1), math.cos(2), math.sin(2)
    first_head = [[1.0, 0.0], [-2 * s, 2 * c], [3 * c2, 3 * s2]]
    second_head = [[0.5, 1.0], [c, s], [c2 - 2 * s2, s2 + 2 * c2]]
    keys = torch.tensor([[first_head, second_head]])  # (B, H, T, D), turned by hand
    every, causal = torch.ones(3, 3).bool(), torch.ones(3, 3).tril().bool()
    empty = causal & torch.tensor([[True], [False], [True]])

    def by_hand(visible):
        scores = 2 * keys @ keys.transpose(-2, -1) / math.sqrt(2)
        weights = scores.masked_fill(~visible, -math.inf).softmax(-1).masked_fill(~visible, 0.0)
        return (weights @ heads).transpose(1, 2).flatten(2) @ rolled.T  # (B, T, E)

    output, cache = layer(x)
    same("keys in the cache: turned", cache[0], keys)
    same("values in the cache: not turned", cache[1], heads)
    same("three tokens, all visible", output, by_hand(every))
    same("causal", layer(x, causal)[0], by_hand(causal))
    same("a mask with a batch axis", layer(x, causal[None])[0], by_hand(causal))
    same("nothing to attend to", layer(x, empty)[0], by_hand(empty))

    past = [keys[:, :, :1], heads[:, :, :1]]
    before = torch.stack(past)
    output, cache = layer(x[:, 1:], causal[1:], past)
    same("two tokens after a cache of one", output, by_hand(causal)[:, 1:])
    same("the keys then", cache[0], keys)
    same("the values then", cache[1], heads)
    same("the cache passed in is unchanged", torch.stack(past), before)
    same("without a mask", layer(x[:, 1:], None, past)[0], by_hand(every)[:, 1:])
    longer = (keys[:, :, :2], heads[:, :, :2])
    same("one token after a cache of two", layer(x[:, 2:], None, longer)[0], by_hand(every)[:, 2:])
    c, s = math.cos(2049), math.sin(2049)
    turned = torch.tensor([[[[c, s]], [[0.5 * c - s, 0.5 * s + c]]]])  # (B, H, 1, D)
    far = layer(x[:, :1], None, [torch.zeros(1, 2, 2049, 2)] * 2)[1][0][:, :, -1:]
    same("a key at position 2049, which half precision rounds to 2048", far, turned)

    torch.manual_seed(42)
    wide, text = answer(8, 2, base=100.0), torch.randn(2, 6, 8, requires_grad=True)
    output, cache = wide(text)
    same("keys of two pairs, with base 100", cache[0], _turned_keys(wide, text, 100.0))
    gradient = torch.autograd.grad(output.square().sum(), text)[0]
    same("a gradient for every token", gradient.ne(0).any(dim=-1).all(), torch.tensor(True))
    same("four projections, nothing else", len(wide.state_dict()), 4)
    usual = answer(8, 2)
    same("the usual base", usual(text)[1][0], _turned_keys(usual, text, 10000.0))
    same("in float64", usual.double()(text.double())[0].dtype == torch.float64, True)
    refuses("3 heads and a width of 8", answer, 8, 3, naming=(8, 3))
    refuses("heads of 5 numbers", answer, 10, 2, naming=(5,), or_naming=(10, 2))
