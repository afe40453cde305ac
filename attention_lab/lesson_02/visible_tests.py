"""The visible tests of lesson 2's answers. Each example is small enough to check by hand."""

import math

import torch

from attention_lab.examples import example, refuses, same


def test_score_variance(answer):
    for d_k, seed in ((64, 0), (4, 1), (4, 2)):
        call, variance = f"score_variance({d_k}, seed={seed})", answer(d_k, seed=seed)
        assert isinstance(variance, float), f"{call} should be a float, not a {type(variance).__name__}"
        assert variance != d_k, f"{call} is exactly {d_k}: that is the theory; draw pairs and measure"
        near = 0.9 * d_k < variance < 1.1 * d_k
        assert near, f"{call}: the variance of q.k is within 10 % of {d_k}, yours is {variance:.4g}"
        print(f"✓ width {d_k}, seed {seed}: variance {variance:.1f}")
    first, second, other = (answer(4, seed=seed) for seed in (3, 3, 4))
    assert first == second, f"seed 3 gave {first:.4f} and then {second:.4f}: set the seed before you draw"
    assert first != other, f"seeds 3 and 4 both gave {first:.4f}: use the argument `seed`"
    few = answer(4, samples=100, seed=3)
    assert few != first, f"100 pairs and 10,000 pairs both gave {few:.4f}: draw `samples` pairs"
    assert answer(4) == answer(4, 10_000, 0), "if they are left out, `samples` is 10,000 and `seed` is 0"
    print("✓ the seed and the number of samples decide")


def test_scaled_scores(answer):
    query = torch.tensor([[1.0, 1.0, 1.0, 1.0], [1.0, 0.0, -1.0, 0.0]])  # (T_q, d_k)
    key = torch.tensor([[1.0, 2.0, 3.0, 4.0], [4.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0]])  # (T_k, d_k)
    by_hand = torch.tensor([[5.0, 2.0, 1.0], [-1.0, 2.0, 0.0]])  # (T_q, T_k)
    example("width 4, by hand", answer, query, key, gives=by_hand)
    queries, keys = torch.stack([query, query.flip(0)]), torch.stack([key, key.flip(0)])  # (B, ...)
    example("a batch of two", answer, queries, keys, gives=torch.stack([by_hand, by_hand.flip(0, 1)]))


def test_scaled_dot_product_attention(answer):
    query = torch.tensor([[2.0, 0.0, 1.0, 0.0], [0.0, 2.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0]])  # (T_q, d_k)
    ln = math.log
    key = torch.tensor([[0.0, ln(6), 0.0, 1.0], [ln(2), 0.0, 0.0, 2.0], [ln(5), 0.0, 0.0, 3.0]])  # (T_k, d_k)
    value = torch.tensor([[8.0, 0.0], [0.0, 8.0], [8.0, 8.0]])  # (T_k, d_v)
    shares = torch.tensor([[1 / 8, 2 / 8, 5 / 8], [6 / 8, 1 / 8, 1 / 8], [1 / 3, 1 / 3, 1 / 3]])
    example("by hand, the weights", answer, query, key, value, gives=(..., shares), gradients=False)
    example("by hand, the output", answer, query, key, value, gives=(shares @ value, shares))
    example("without a value, the key is mixed", answer, query, key, gives=(shares @ key, shares))
    far, itself = 100 * torch.eye(3), torch.eye(3)  # so far apart that each fits only itself
    example("without a key, the query asks itself", answer, far, value=value, gives=(value, itself))
    batch = [torch.stack([part, part.flip(0)]) for part in (query[:2], key, value)]  # the second backwards
    weights = torch.stack([shares[:2], shares[:2].flip(0, 1)])  # (B, T_q, T_k)
    example("a batch of two", answer, *batch, gives=(weights @ batch[2], weights))
    refuses("widths 16 and 8", answer, torch.ones(3, 16), torch.ones(5, 8), naming=(16, 8))


def test_softmax_jacobian(answer):
    sixteenths = torch.tensor([[4.0, -2.0, -2.0], [-2.0, 3.0, -1.0], [-2.0, -1.0, 3.0]])
    three = torch.tensor([1 / 2, 1 / 4, 1 / 4])
    example("three keys, by hand", answer, three, gives=sixteenths / 16)
    rows = torch.tensor([[0.5, 0.5], [0.9, 0.1], [1.0, 0.0]])  # (3, 2)
    table = torch.tensor([[0.25, -0.25, -0.25, 0.25], [0.09, -0.09, -0.09, 0.09], [0.0, 0.0, 0.0, 0.0]])
    table = table.view(3, 2, 2)  # a matrix for each row
    example("the three rows of the table", answer, rows, gives=table)
    batch, matrices = torch.stack([rows, rows.flip(0)]), torch.stack([table, table.flip(0)])
    example("a batch of two", answer, batch, gives=matrices)
    scores = torch.tensor([1.5, 0.2, -0.3, 0.8])
    by_torch = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, dim=-1), scores)
    same("the same as torch's own differentiation", answer(torch.softmax(scores, dim=-1)), by_torch)
