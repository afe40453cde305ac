"""What a function holds at once and how much it multiplies: known sizes, as torch counts them."""

import subprocess
import sys

import pytest
import torch

from attention_lab.memory import multiplications, peak_bytes
from nbjudge.torch.memory import multiplications_of


def one_after_the_other(x):
    total = torch.zeros(())
    for _ in range(4):
        total = total + (x + 1).sum()
    return total


def all_kept(x):
    return sum(each.sum() for each in [x + 1, x + 2, x + 3, x + 4])


@pytest.mark.parametrize(("function", "tensors"), [(one_after_the_other, 1), (all_kept, 4), (torch.neg, 1)])
def test_it_is_the_most_at_once_and_not_all_together(function, tensors):
    x = torch.ones(1000, 100)  # was there before
    assert tensors * 4e5 <= peak_bytes(function, x) < tensors * 4e5 + 2000


def test_with_gradients_what_the_backward_pass_needs_stays():
    x = torch.ones(1000, 100)
    recorded = peak_bytes(lambda: (x.clone().requires_grad_().exp().exp().exp()).sum())
    with torch.no_grad():
        assert recorded > 1.5 * peak_bytes(lambda: x.clone().exp().exp().exp().sum())


VECTOR, OTHER = torch.ones(30), torch.ones(30)
X, Y = torch.ones(2, 3, 4), torch.ones(2, 4, 5)
# Each product, and how many numbers it multiplies.
PRODUCTS = {
    "matrix and vector": (lambda: torch.ones(40, 30) @ VECTOR, 1200),
    "two vectors": (lambda: torch.dot(VECTOR, OTHER), 30),
    "added to a vector": (lambda: torch.addmv(torch.ones(40), torch.ones(40, 30), VECTOR), 1200),
    "convolution": (lambda: torch.conv1d(torch.ones(1, 2, 9), torch.ones(4, 2, 3)), 168),
    "matmul": (lambda: X @ Y, 120),
    "einsum": (lambda: torch.einsum("bij,bjk->bik", X, Y), 120),
    "one by one": (lambda: torch.stack([one @ other for one, other in zip(X, Y, strict=True)]), 120),
    "added": (lambda: torch.baddbmm(torch.ones(2, 3, 5), X, Y), 120),
    "numbers": (lambda: X * X, 0),
}


@pytest.mark.parametrize(("product", "count"), PRODUCTS.values(), ids=PRODUCTS)
def test_products_are_counted_as_the_judge_counts(product, count):
    assert multiplications(product) == multiplications_of(product)[1] == count


def test_products_of_products_are_counted():
    assert multiplications(lambda x, y: 2 * (x @ y) + x @ y, X, Y) == 2 * 120


@pytest.mark.integration
def test_nothing_is_printed():
    program = "import torch\nfrom attention_lab.memory import *\n"
    program += "peak_bytes(torch.ones, 3)\nmultiplications(torch.ones, 3)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout + run.stderr == ""
