"""The visible tests of lesson 14's answers. Each example is small enough to check by hand."""

import math
from unittest import TestCase

import torch
import torch.nn.functional as F

from attention_lab.examples import example, refuses, same, with_article, with_weights
from attention_lab.lesson_14.rotary import rotary_angles, rotate

# Your names, and those of a GGUF file.
GGUF_NAMES = {
    "norm1": "attn_norm",
    "attention.query": "attn_q",
    "attention.key": "attn_k",
    "attention.value": "attn_v",
    "attention.output": "attn_output",
    "norm2": "ffn_norm",
    "mlp.gate": "ffn_gate",
    "mlp.up": "ffn_up",
    "mlp.down": "ffn_down",
}


def test_RMSNorm(answer):
    fresh = answer(2)
    parameter = isinstance(getattr(fresh, "weight", None), torch.nn.Parameter)
    assert parameter, "weight should be an nn.Parameter of the layer"
    same("weights of 1 at first", dict(fresh.state_dict()), {"weight": torch.ones(2)})
    state = sorted(fresh.state_dict())
    assert state == ["weight"], f"the state_dict should hold weight only, not {state}"
    root = math.sqrt(12.5)
    example("one token", fresh, torch.tensor([3.0, 4.0]), gives=[3 / root, 4 / root])
    layer = answer(2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([2.0, -1.0]))
    x = torch.tensor([[[3.0, 4.0], [-6.0, 8.0]], [[1.0, 1.0], [0.0, 0.0]]])
    expected = [[[6 / root, -4 / root], [-6 / root, -4 / root]], [[2.0, -1.0], [0.0, 0.0]]]
    example("two texts, each number times its weight; zeros stay zeros", layer, x, gives=expected)
    x = torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)
    answer(2).double()(x)[0].backward()
    slope = torch.tensor([16.0, -12.0], dtype=torch.float64) / (2 * root**3)
    assert torch.allclose(x.grad, slope, atol=1e-4), f"the gradient of x should be {slope}, not {x.grad}"
    for eps, given in ((1e-5, ()), (0.1, (0.1,))):
        small = torch.tensor([3e-3, 4e-3], dtype=torch.float64)
        actual = answer(2, *given).double()(small)
        same(f"a small token in float64, eps {eps}", actual, small / math.sqrt(12.5e-6 + eps))


def test_GatedMLP(answer):
    layer = with_weights(answer(1, 1), gate=[[1.0]], up=[[1.0]], down=[[1.0]])
    silu = 2 / (1 + math.exp(-2))
    example("one number, weights of 1", layer, torch.tensor([2.0]), gives=[2 * silu])
    weights = {"gate": [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], "up": [[0.0, 1.0], [3.0, 0.0], [0.0, 2.0]]}
    layer = with_weights(answer(2, 3), **weights, down=[[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    x = torch.tensor([[[2.0, -1.0]], [[0.0, 4.0]]])  # (B, T, E)
    small, other = -1 / (1 + math.e), -2 / (1 + math.exp(2))
    gives = [[[-silu, 6 * small - 2 * other]], [[0.0, 0.0]]]
    example("three hidden numbers", layer, x, gives=gives)
    layer = answer(2, 3).double()
    far = layer(torch.tensor([1e6, -1e6], dtype=torch.float64))
    assert far.isfinite().all(), f"for large numbers the result should be finite, not {far.tolist()}"
    layer(torch.ones(2, dtype=torch.float64)).sum().backward()
    for name, parameter in layer.named_parameters():
        assert parameter.grad is not None and parameter.grad.any(), f"no gradient reaches {name}"
    torch.manual_seed(42)
    x, layer = torch.randn(3, 2).double(), answer(2, 3).double()
    expected = (F.silu(x @ layer.gate.weight.T) * (x @ layer.up.weight.T)) @ layer.down.weight.T
    close = torch.allclose(layer(x), expected, rtol=1e-6, atol=1e-8)
    assert close, "in float64 the result is rough: keep the dtype of x"
    print("✓ in float64, and with gradients")


def _attend(layer, x, past, heads, kv_heads, base):
    """Attention of each new token by itself: the output, and keys and values of past and new."""

    def cut(part, count):
        return part(x).unflatten(-1, (count, -1)).transpose(1, 2)  # (B, H, T, D)

    query, key, value = cut(layer.query, heads), cut(layer.key, kv_heads), cut(layer.value, kv_heads)
    before = 0 if past is None else past[0].shape[2]
    angles = rotary_angles(before + x.shape[1], query.shape[-1], base)[before:].to(x)
    query, key = rotate(query, angles), rotate(key, angles)
    if past is not None:
        key, value = torch.cat([past[0], key], dim=2), torch.cat([past[1], value], dim=2)
    rows = []
    for token in range(x.shape[1]):
        found = []
        for head in range(heads):
            seen = before + token + 1
            keys, values = (part[:, head * kv_heads // heads, :seen] for part in (key, value))
            scores = (keys @ query[:, head, token, :, None]).squeeze(-1) / math.sqrt(query.shape[-1])
            found.append((scores.softmax(-1)[:, None] @ values).squeeze(1))
        rows.append(torch.cat(found, dim=-1))
    return layer.output(torch.stack(rows, dim=1)), (key, value)


def _pair(title, result):
    """The output and the cache that a layer returns."""
    pair = isinstance(result, (tuple, list)) and len(result) == 2
    assert pair, f"{title}: a pair (output, cache) is asked for, not {with_article(result)}"
    output, cache = result
    pair = isinstance(cache, (tuple, list)) and len(cache) == 2
    assert pair, f"{title}: the cache should be a pair (key, value), not {with_article(cache)}"
    return output, cache


def _compare_with(title, result, expected):
    """One line for the output and both halves of the cache."""
    output, cache = _pair(title, result)
    parts = {"keys in the cache": cache[0], "values in the cache": cache[1], "output": output}
    right = {"keys in the cache": expected[1][0], "values in the cache": expected[1][1]}
    same(title, parts, right | {"output": expected[0]})


def test_GroupedRotaryAttention(answer):
    torch.manual_seed(42)
    layer = answer(24, 6, 2)
    shapes = {name: tuple(entry.shape) for name, entry in layer.state_dict().items()}
    wanted = {
        "query.weight": (24, 24),
        "key.weight": (8, 24),
        "value.weight": (8, 24),
        "output.weight": (24, 24),
    }
    assert shapes == wanted, f"the state_dict should hold {wanted}, not {shapes}"
    x = torch.randn(2, 5, 24)
    with torch.no_grad():
        layer.query.weight.mul_(4)
        layer.key.weight.mul_(4)
        whole = _attend(layer, x, None, 6, 2, 10000.0)
        _compare_with("five tokens", layer(x), whole)
        past = [part[:, :, :2] for part in whole[1]]
        before = torch.stack(past)
        _compare_with("three more after two", layer(x[:, 2:], past), (whole[0][:, 2:], whole[1]))
        assert torch.equal(torch.stack(past), before), "the cache passed in was changed"
        once_more = torch.allclose(layer(x[:, 2:], past)[0], whole[0][:, 2:], atol=1e-4)
        assert once_more, "the same cache, continued once more, gives another output"
        cache, outputs = None, []
        for token in x.split(1, dim=1):
            output, cache = layer(token, cache)
            outputs.append(output)
        same("token by token", torch.cat(outputs, dim=1), whole[0])
        wide = answer(16, 4, 4, 100.0).double()
        x = torch.randn(1, 4, 16).double()
        _compare_with("base 100, float64", wide(x), _attend(wide, x, None, 4, 4, 100.0))
        output, cache = wide(x)
        kept = all(part.dtype == torch.float64 for part in (output, *cache))
        assert kept, "for x in float64 the output or the cache has another dtype: keep that of x"
        far = tuple(torch.randn(1, 2, 2041, 4) / 10 for _ in range(2))
        x = torch.randn(1, 1, 24) / 100
        _compare_with("position 2,041", layer(x, far), _attend(layer, x, far, 6, 2, 10000.0))
        layer.query.weight.mul_(300)
        layer.key.weight.mul_(300)
        x = torch.randn(1, 3, 24)
        assert layer(x)[0].isfinite().all(), "for large scores the output is not finite"
    one = answer(8, 2, 1)
    x = torch.randn(1, 3, 8, requires_grad=True)
    _, cache = one(x)
    gradient, *_ = torch.autograd.grad(one(torch.randn(1, 1, 8), cache)[0].sum(), [x], allow_unused=True)
    assert gradient is not None and gradient.any(), "no gradient flows through the cache"
    given = tuple(torch.randn(1, 1, 2, 4, requires_grad=True) for _ in range(2))
    gradients = torch.autograd.grad(one(x, given)[0].sum(), given, allow_unused=True)
    assert all(each is not None for each in gradients), "no gradient reaches the cache passed in"
    refuses("10 numbers, 4 heads", answer, 10, 4, 2, naming=(10, 4))
    refuses("6 heads, 4 key/value heads", answer, 24, 6, 4, naming=(6, 4))
    refuses("heads of 3 numbers", answer, 12, 4, 2, naming=(3,), or_naming=(12, 4))


def _normed(x, weight, eps):
    return weight * x / torch.sqrt(x.square().mean(-1, keepdim=True) + eps)


def test_DecoderBlock(answer):
    torch.manual_seed(42)
    block = answer(24, 6, 2, 10)
    names = sorted(block.state_dict())
    wanted = sorted(f"{name}.weight" for name in GGUF_NAMES)
    assert names == wanted, f"the state_dict should hold {wanted}, not {names}"
    assert len(list(block.parameters())) == 9, "each norm should have a weight of its own"
    shape = tuple(block.state_dict()["attention.key.weight"].shape)
    assert shape == (8, 24), f"attention.key.weight should be (8, 24), not {shape}: pass num_kv_heads on"
    with torch.no_grad():
        for norm in (block.norm1, block.norm2):
            norm.weight.copy_(1 + torch.rand(24))
        silent = answer(24, 6, 2, 10)
        silent.attention.output.weight.zero_()
        silent.mlp.down.weight.zero_()
        x = torch.randn(2, 4, 24)
        title = "silent halves change nothing"
        same(title, _pair(title, silent(x))[0], x)

        def expected(block, x, past, base, eps):
            found, cache = _attend(block.attention, _normed(x, block.norm1.weight, eps), past, 6, 2, base)
            middle = x + found
            y = _normed(middle, block.norm2.weight, eps)
            hidden = F.silu(block.mlp.gate(y)) * block.mlp.up(y)
            return middle + block.mlp.down(hidden), cache

        before = x.clone()
        right = expected(block, x, None, 10000.0, 1e-5)
        _compare_with("a whole text", block(x), right)
        assert torch.equal(x, before), "x was changed: make a new tensor"
        past = tuple(part[:, :, :3] for part in right[1])
        _compare_with("the last token after a cache", block(x[:, 3:], past), (right[0][:, 3:], right[1]))
        other = answer(24, 6, 2, 10, 50.0, 0.5)
        _compare_with("base 50, eps 0.5", other(x), expected(other, x, None, 50.0, 0.5))
        modes = {"training": block.train()(x)[0], "evaluation": block.eval()(x)[0]}
        same("both modes", modes, dict.fromkeys(modes, right[0]))
        small = block.double()(x.double() / 1000)[0]
        right = expected(block, x.double() / 1000, None, 10000.0, 1e-5)[0]
        same("a small x in float64: the default eps", 1000 * small, 1000 * right)


def test_load_decoder(answer):
    torch.manual_seed(42)
    shapes = {"attn_norm": (54,), "ffn_norm": (54,), "attn_q": (54, 54), "attn_output": (54, 54)}
    shapes |= {"attn_k": (18, 54), "attn_v": (18, 54)}
    shapes |= {"ffn_gate": (5, 54), "ffn_up": (5, 54), "ffn_down": (54, 5)}
    tensors = {name: torch.randn(54) for name in ("output_norm.weight", "blk.1.attn_q.bias")}
    for layer in (10, 1, 0):
        for name in reversed(shapes):
            tensors[f"blk.{layer}.{name}.weight"] = torch.randn(shapes[name], dtype=torch.float64)
    before = {name: tensor.clone() for name, tensor in tensors.items()}
    expected = {f"{ours}.weight": tensors[f"blk.1.{theirs}.weight"] for ours, theirs in GGUF_NAMES.items()}
    halves = dict(expected)
    for name in ("attention.query.weight", "attention.key.weight"):
        heads = [[0, 3, 1, 4, 2, 5] for _ in range(len(expected[name]) // 6)]  # 9 and 3 heads of six rows
        halves[name] = expected[name][[6 * head + row for head, rows in enumerate(heads) for row in rows]]
    calls = {
        "layer 1 of a GGUF file": (expected, {}),
        "layout pairs": (expected, {"layout": "pairs"}),
        "layout halves": (halves, {"layout": "halves"}),
    }
    for title, (right, given) in calls.items():
        state = answer(tensors, 1, **given)
        assert isinstance(state, dict), f"{title}: a dict is asked for, not a {type(state).__name__}"
        assert sorted(state) == sorted(right), (
            f"{title}: the names should be {sorted(right)}, not {sorted(state)}"
        )
        same(title, state, right)
        kept = all(tensor.dtype == torch.float64 for tensor in state.values())
        assert kept, f"{title}: a dtype has changed"
        unchanged = list(tensors) == list(before) and all(
            torch.equal(tensors[name], before[name]) for name in before
        )
        assert unchanged, "tensors was changed"
    fewer = answer({**tensors, "blk.1.attn_k.weight": tensors["blk.1.attn_k.weight"][:6]}, 1, "halves", 3, 1)
    rows = [18 * head + row for head in range(3) for pair in range(9) for row in (pair, pair + 9)]
    right = {"attention.query.weight": tensors["blk.1.attn_q.weight"][rows]}
    right["attention.key.weight"] = halves["attention.key.weight"][:6]
    same("3 query heads of 18 rows, 1 key/value head of 6", fewer, right)
    named = "another layout should raise a ValueError that names it, here 'thirds'"
    with TestCase().assertRaisesRegex(ValueError, "thirds", msg=named):
        answer(tensors, 1, layout="thirds")
    del tensors["blk.10.ffn_up.weight"]
    without = "blk.10.ffn_up.weight is missing from tensors: raise a KeyError with this name"
    with TestCase().assertRaisesRegex(KeyError, "blk.10.ffn_up.weight", msg=without):
        answer(tensors, 10)
    print("✓ another layout raises a ValueError, a missing entry a KeyError with its full name")


def _shares(answer, title, logits, **given):
    """The shares of 10,000 draws, (V,)."""
    generator = torch.Generator().manual_seed(42)
    tokens = answer(logits.repeat(10_000, 1), **given, generator=generator)
    what = type(tokens).__name__
    assert isinstance(tokens, torch.Tensor), f"{title}: the result should be a tensor, not a {what}"
    kind = f"{tuple(tokens.shape)} of {tokens.dtype}"
    right = tokens.shape == (10_000,) and tokens.dtype == torch.int64
    assert right, f"{title}: for 10,000 texts the result should be (10000,) of torch.int64, not {kind}"
    return tokens.bincount(minlength=len(logits)) / 10_000


def _compare_shares(answer, title, cases):
    """One line for several cases: (shares, what they become, arguments)."""
    for shares, expected, given in cases:
        call = ", ".join(f"{name}={number}" for name, number in given.items()) or "the defaults"
        call = (
            f"shares {shares} with {call}" if len(shares) < 9 else f"{len(shares)} equal shares with {call}"
        )
        drawn = _shares(answer, call, torch.log(torch.tensor(shares)) + 1000, **given)
        near = torch.allclose(drawn, torch.tensor(expected), atol=0.025)
        assert near, f"{call} should give {expected}, not {[round(share, 3) for share in drawn.tolist()]}"
    print(f"✓ {title}")


def test_sample(answer):
    logits = torch.tensor([[1.0, 3.0, 3.0, 0.0], [2.0, -1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 5.0]])
    before = logits.clone()
    largest = {"three texts": answer(logits, 0), "0.0": answer(logits, 0.0), "one": answer(logits[:1], 0)}
    right = torch.tensor([1, 0, 3])
    same(
        "temperature 0: the first of the largest", largest, dict.fromkeys(largest, right) | {"one": right[:1]}
    )
    left = {"one text": answer(100 * logits[2:], 0.5), "a small top_p": answer(logits[1:], 1.0, 0.1)}
    same("one token left", left, {"one text": right[2:], "a small top_p": torch.tensor([0, 3])})
    assert torch.equal(logits, before), "logits was changed: make a new tensor"
    plain, uneven, tied = [0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.3, 0.1, 0.4, 0.1]
    by_temperature = (
        (uneven, uneven, {}),
        (uneven, [0.105, 0.658, 0.237], {"temperature": 0.5}),
        (uneven, [0.263, 0.415, 0.322], {"temperature": 2.0}),
    )
    _compare_shares(answer, "shares at temperatures 1, 0.5 and 2", by_temperature)
    by_top_p = (
        (plain, [0.625, 0.375, 0.0], {"top_p": 0.7}),
        (uneven, [0.0, 0.625, 0.375], {"top_p": 0.7}),
        (uneven, [0.0, 1.0, 0.0], {"top_p": 0.4}),
        (tied, [0.125, 0.375, 0.0, 0.5, 0.0], {"top_p": 0.75}),
        ([0.25] * 4, [0.5, 0.5, 0.0, 0.0], {"top_p": 0.5}),
        ([1 / 32] * 32, [0.125] * 8 + [0.0] * 24, {"top_p": 0.25}),
    )
    _compare_shares(answer, "the fewest tokens that reach top_p, equal shares too", by_top_p)
    by_both = (
        (uneven, [0.0, 0.735, 0.265], {"temperature": 0.5, "top_p": 0.7}),
        (uneven, [0.0, 1.0, 0.0], {"temperature": 0.5, "top_p": 0.6}),
    )
    _compare_shares(answer, "first the temperature, then top_p", by_both)
    rows = torch.log(torch.tensor([[0.9, 0.05, 0.05], [0.4, 0.35, 0.25]])).repeat(2000, 1)
    tokens = answer(rows, 1.0, 0.7)
    assert not tokens[0::2].any(), "each row has a cut of its own: of the first only token 0 is kept"
    assert tokens[1::2].any(), "each row has a cut of its own: of the second two tokens are kept"

    even, state = torch.zeros(50, 8), torch.get_rng_state()
    first, second, other = (answer(even, generator=torch.Generator().manual_seed(s)) for s in (1, 1, 2))
    same("equal seeds give equal tokens", first, second)
    assert not torch.equal(first, other), "another seed should give other tokens"
    generator = torch.Generator().manual_seed(1)
    answer(even, generator=generator)
    assert not torch.equal(answer(even, generator=generator), first), (
        "the generator should go on, not start again"
    )
    untouched = torch.equal(torch.get_rng_state(), state)
    assert untouched, "torch's global seed should be left alone when a generator is given"
    assert not torch.equal(answer(even), answer(even)), "without a generator two calls should differ"
    print("✓ the generator decides, and the global seed is left alone")
