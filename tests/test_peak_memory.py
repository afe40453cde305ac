"""What a function holds at once and how much it multiplies: known sizes, as torch counts them."""

import subprocess
import sys

import pytest
import torch

from attention_lab.memory import multiplications, peak_bytes


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


@pytest.mark.parametrize(
    "product",
    [
        torch.matmul,
        lambda x, y: torch.einsum("bij,bjk->bik", x, y),
        lambda x, y: torch.stack([one @ other for one, other in zip(x, y, strict=True)]),
        lambda x, y: torch.baddbmm(torch.ones(2, 3, 5), x, y),
    ],
    ids=["matmul", "einsum", "one by one", "added"],
)
def test_multiplications_of_matrix_products_are_counted(product):
    x, y = torch.ones(2, 3, 4), torch.ones(2, 4, 5)
    assert multiplications(product, x, y) == 2 * 3 * 4 * 5
    assert multiplications(lambda: 2 * product(x, y) + product(x, y)) == 2 * 2 * 3 * 4 * 5


@pytest.mark.integration
def test_nothing_is_printed():
    program = "import torch\nfrom attention_lab.memory import *\n"
    program += "peak_bytes(torch.ones, 3)\nmultiplications(torch.ones, 3)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout + run.stderr == ""
