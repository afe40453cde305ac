"""The visible tests of lesson 9's answers: by hand, or against lesson 6's layer."""

import math

import torch
import torch.nn.functional as F

from attention_lab.examples import example, refuses, same, with_weights
from attention_lab.lesson_09.efficient import EfficientMultiHeadAttention, split_heads


def test_CachedAttention(answer):
    unit = [[1.0, 0.0], [0.0, 1.0]]
    layer = with_weights(answer(2, 1), query=unit, key=unit, value=unit, output=unit)
    x = torch.tensor([[[0.0, 8.0]]])  # (1, 1, 2): a query that scores 0 with every key of the past
    past = (torch.tensor([[[[1.0, 0.0], [3.0, 0.0]]]]), torch.tensor([[[[1.0, 2.0], [5.0, 2.0]]]]))
    before = tuple(each.clone() for each in past)
    joined = torch.cat([before[0], x[None]], dim=2), torch.cat([before[1], x[None]], dim=2)
    output, cache = layer(x, past)
    same("the cache holds past and new, in this order: the keys", cache[0], joined[0])
    same("and the values", cache[1], joined[1])
    same("the cache passed in is unchanged", torch.stack(past), torch.stack(before))
    weights = torch.softmax(torch.tensor([0.0, 0.0, 64 / math.sqrt(2)]), dim=0)
    same("one new token after two", output, (weights @ joined[1][0, 0])[None, None])

    for bias in (False, True):
        torch.manual_seed(42)
        layer, reference = answer(8, 2, bias=bias), EfficientMultiHeadAttention(8, 2, bias=bias)
        names, expected_names = sorted(layer.state_dict()), sorted(reference.state_dict())
        assert names == expected_names, (
            f"with bias={bias} the state_dict should hold {expected_names}, not {names}"
        )
        reference.load_state_dict(layer.state_dict())
        text = torch.randn(3, 6, 8, requires_grad=True)
        expected, _ = reference(text, mask=torch.ones(6, 6, dtype=torch.bool).tril())
        expected_gradient = torch.autograd.grad(expected.square().sum(), text, retain_graph=True)[0]
        for lengths in ([6], [3, 3], [1, 3, 2], [1] * 6):
            outputs, cache = [], None
            for piece in text.split(lengths, dim=1):
                output, cache = layer(piece, cache)
                outputs.append(output)
            same(f"pieces of {lengths}, bias={bias}", torch.cat(outputs, dim=1), expected)
        gradient = torch.autograd.grad(torch.cat(outputs, dim=1).square().sum(), text)[0]
        same("gradients flow through the cache", gradient, expected_gradient)

    _, cache = layer(text[:, :4])
    first, _ = layer(text[:, 4:], cache)
    layer(text[:, :2], cache)
    same("the same cache continued a second time", layer(text[:, 4:], cache)[0], first)
    same("a cache of shape (B, H, T, D)", cache[0], split_heads(reference.key(text[:, :4]), 2))
    with torch.no_grad():
        _, (keys, _) = layer(text[:, 4:], cache)
        before = keys.clone()
        layer(text[:, :2], cache)
        same("a returned cache does not change later, without gradients too", keys, before)
    _, cache = layer.double()(text[:, :4].double())
    output, (keys, values) = layer(text[:, 4:].double(), cache)
    for result in (output, keys, values):
        assert result.dtype == torch.float64, f"for x in float64 a result is {result.dtype}"
    refuses("10 numbers for 4 heads", answer, 10, 4, naming=(10, 4))


def test_generate(answer):
    calls, sums_of = [], {}

    def step(ids, cache):
        """The next token is the sum of all tokens so far, modulo 10; token 10 is as likely."""
        before = torch.zeros(len(ids), dtype=torch.int64) if cache is None else sums_of[cache]
        sums = before[:, None] + ids.cumsum(dim=1)
        calls.append((tuple(ids.shape), cache, torch.is_grad_enabled()))
        sums_of[f"cache {len(calls)}"] = sums[:, -1]
        logits = F.one_hot(sums % 10, 12).float()
        logits[..., 10] = 1.0  # equal maxima: the first one counts
        return logits, f"cache {len(calls)}"

    prompt = torch.tensor([[1, 2, 3], [0, 4, 1]])
    expected = torch.tensor([[1, 2, 3, 6, 2, 4, 8], [0, 4, 1, 5, 0, 0, 0]])
    written = answer(step, prompt, 4)
    shapes, expected_shapes = [shape for shape, _, _ in calls], [(2, 3), (2, 1), (2, 1), (2, 1)]
    assert shapes == expected_shapes, (
        f"the prompt goes in once, then each new token alone: {expected_shapes}, not {shapes}"
    )
    caches, expected_caches = [cache for _, cache, _ in calls], [None, "cache 1", "cache 2", "cache 3"]
    assert caches == expected_caches, (
        f"each step gets the cache that the step before it returned: {expected_caches}, not {caches}"
    )
    same("four tokens for two texts", written, expected)
    assert not any(recorded for *_, recorded in calls), "gradients must be off while a step runs"
    assert torch.is_grad_enabled(), "gradients were on before, and must be on again afterwards"
    with torch.no_grad():
        answer(step, prompt, 1)
        assert not torch.is_grad_enabled(), "gradients were off before, and must be off afterwards"
    calls.clear()
    same("no new tokens", answer(step, prompt, 0), prompt)
    assert not calls, "no step may run for new_tokens=0"


def test_cache_bytes(answer):
    example("the example by hand", answer, 3, 1, 5, 2, 4, gives=480)
    example("a batch of six texts", answer, 3, 6, 5, 2, 4, gives=2880)
    example("four bytes per number", answer, 3, 1, 5, 2, 4, 4, gives=960)
    example("one byte per number, by name", answer, 3, 1, 5, 2, 4, bytes_per_number=1, gives=240)
    cache = torch.zeros(2, 3, 5, 4), torch.zeros(2, 3, 5, 4)  # (B, H, T, D) each, float32
    measured = sum(tensor.numel() * tensor.element_size() for tensor in cache)
    example("the tensors of a real cache", answer, 1, 2, 5, 3, 4, 4, gives=measured)


def test_repeat_heads(answer):
    a, b = [[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]  # two heads, of one token each: (T, D) = (1, 3)
    example("two heads, each twice", answer, torch.tensor([[a, b]]), 2, gives=[[a, a, b, b]])
    example("each three times", answer, torch.tensor([[a, b]]), 3, gives=[[a, a, a, b, b, b]])
    example("groups of one", answer, torch.tensor([[b, a]]), 1, gives=[[b, a]])
    example("two texts", answer, torch.tensor([[a], [b]]), 2, gives=[[a, a], [b, b]])
    long = torch.arange(12.0).view(1, 2, 3, 2)
    expected = torch.stack([long[:, 0], long[:, 0], long[:, 1], long[:, 1]], dim=1)
    example("three tokens", answer, long, 2, gives=expected)


def test_GroupedQueryAttention(answer):
    for kv_heads, bias in ((4, False), (2, True), (1, False), (2, False)):
        torch.manual_seed(42)
        layer, reference = answer(8, 4, kv_heads, bias), EfficientMultiHeadAttention(8, 4, bias)
        shape = tuple(layer.key.weight.shape)
        assert shape == (2 * kv_heads, 8), f"{kv_heads} heads of size 2: the key's weight is {shape}"
        # Lesson 6's layer computes the same where several of its key/value heads are equal.
        rows = [2 * (head * kv_heads // 4) + number for head in range(4) for number in range(2)]
        state = {name: tensor.clone() for name, tensor in layer.state_dict().items()}
        for name in state:
            state[name] = state[name][rows] if name.startswith(("key", "value")) else state[name]
        reference.load_state_dict(state)
        x = torch.randn(3, 5, 8)
        empty = torch.ones(3, 5, 5, dtype=torch.bool).tril()
        empty[1, 2] = False  # one query with nothing to attend to
        padding = torch.tensor([[[1, 1, 1, 0, 0]], [[1, 1, 1, 1, 1]], [[1, 0, 0, 0, 0]]]).bool()
        title = f"key/value heads: {kv_heads}, bias={bias}"
        for name, mask in (("no", None), ("a causal", empty[0]), ("a padding", padding), ("a ragged", empty)):
            results = layer(x, mask)
            assert isinstance(results, tuple) and len(results) == 2, f"{title}: return output and weights"
            for part, result, expected in zip(
                ("output", "weights"), results, reference(x, mask=mask), strict=True
            ):
                assert result.shape == expected.shape, f"{title}, {name} mask: {part} {tuple(result.shape)}"
                difference = (result - expected).abs().max()
                assert difference < 1e-5, (
                    f"{title}, {name} mask: {part} differs from lesson 6's by {difference:.2g}"
                )
        print("✓", title)
        x.requires_grad_()
        layer(x)[0].square().sum().backward()
        for name, parameter in layer.named_parameters():
            assert parameter.grad is not None, f"no gradient reaches {name}"
    assert answer(8, 4, 2).query.bias is None, "`bias` is False unless the caller says otherwise"
    refuses("10 numbers for 4 heads", answer, 10, 4, 2, naming=(10, 4))
    refuses("4 query heads, 3 for keys", answer, 8, 4, 3, naming=(4, 3))
