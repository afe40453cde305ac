"""Disguised functions: one code for all of them, written again for each draw, that does what was chosen."""

import itertools

import pytest
import torch

from attention_lab.authoring.obfuscation import Obfuscation
from nbjudge.probe import respond
from nbjudge.torch import Draw
from nbjudge.values.packing import pack, unpack

TEMPLATE = """
def made(x, y=None):
    <first>
    <second>
    return total
"""
CHOICES = {
    "first": (
        "total = x @ x.mT if y is None else x @ y",
        "rows = [row * 2.0 for row in x]\ntotal = torch.stack(rows) @ x.mT",
        "<inner>",
    ),
    "inner": ("total = x.sum() - x", "total = x - x.sum()"),
    "second": ("total = total * total - 3.0", "total /= math.sqrt(2)", "pass"),
}
PLAIN = {
    "first": (
        lambda x: x @ x.mT,
        lambda x: torch.stack([row * 2.0 for row in x]) @ x.mT,
        None,
    ),
    "inner": (lambda x: x.sum() - x, lambda x: x - x.sum()),
    "second": (lambda t: t * t - 3.0, lambda t: t / 2**0.5, lambda t: t),
}
X = torch.randn(4, 4, generator=torch.Generator().manual_seed(0))
WAYS = list(itertools.product(range(3), range(2), range(3)))


def function(obfuscation, first, inner, second):
    source = obfuscation.draw_function({"first": first, "inner": inner, "second": second}, {"w": 1})
    return respond.make(unpack(pack(source), with_code=True))


@pytest.mark.parametrize("seed", range(10))
def test_each_way_gives_bit_for_bit_what_it_says(seed):
    obfuscation = Obfuscation(Draw(seed), TEMPLATE, CHOICES)
    for first, inner, second in WAYS:
        begun = PLAIN["inner"][inner] if first == 2 else PLAIN["first"][first]
        right = PLAIN["second"][second](begun(X))
        assert torch.equal(function(obfuscation, first, inner, second)(X), right)


def test_all_functions_of_a_draw_have_one_code():
    obfuscation = Obfuscation(Draw(3), TEMPLATE, CHOICES)
    assert len({function(obfuscation, *ways).__code__ for ways in WAYS}) == 1


def test_every_draw_writes_another_code():
    codes = [function(Obfuscation(Draw(seed), TEMPLATE, CHOICES), 0, 0, 0).__code__ for seed in range(20)]
    assert len({code.co_code for code in codes}) == 20
    assert len({code.co_varnames for code in codes}) > 10


def test_a_name_that_is_given_is_never_the_name_of_something_else():
    """`w` comes from outside; a fresh name that hid it would be an error on some seed."""
    choices = {"way": ("a = x\nb = a\nc = b\nreturn c * w", "d = w\ne = d\nreturn e + x")}
    for seed in range(60):
        obfuscation = Obfuscation(Draw(seed), "def made(x):\n    <way>\n", choices)
        for way in range(2):
            assert respond.make(obfuscation.draw_function({"way": way}, {"w": 2.0}))(1.0) == 2.0 + way
