"""The sentences of the examples under an answer, where one does not come out."""

from __future__ import annotations

import re

import pytest
import torch

from attention_lab.examples import ExampleFailedError, at_most, refuses, same


def test_small_tensors_are_shown_whole():
    with pytest.raises(ExampleFailedError, match=r"doubled: expected \[2\.0, 4\.0\], got \[2\.0, 5\.0\]\."):
        same("doubled", torch.tensor([2.0, 5.0]), torch.tensor([2.0, 4.0]))


def test_of_large_tensors_the_first_number_that_differs_is_shown():
    expected = torch.arange(24.0).view(2, 3, 4)
    wrong = expected.clone()
    wrong[1, 0, 2:] = 0.5
    with pytest.raises(
        ExampleFailedError, match=r"at \[1, 0, 2\] expected 14, got 0\.5 \(2 of 24 numbers differ\)"
    ):
        same("counted", wrong, expected)


def test_flags_are_shown_as_flags():
    expected = torch.ones(5, 5).tril().bool()
    with pytest.raises(
        ExampleFailedError, match=r"at \[0, 1\] expected False, got True \(10 of 25 values differ\)"
    ):
        same("mask", torch.ones_like(expected), expected)


def test_numbers_that_look_alike_get_as_many_digits_as_it_takes():
    with pytest.raises(
        ExampleFailedError, match=r"at \[0\] expected 2, got 2\.0004 \(1 of 2 numbers differ\)"
    ):
        same("totals", torch.tensor([2.0004, 6.0]), torch.tensor([2.0, 6.0]))
    with pytest.raises(ExampleFailedError, match=r"at \[\] expected 1000, got 1000\.2"):
        same("alone", torch.tensor(1000.21), torch.tensor(1000.0))


def test_an_amount_is_held_against_its_limit(capsys):
    at_most("held at once", 1_200, 2_000, "bytes")
    assert capsys.readouterr().out == "✓ held at once: 1,200 bytes\n"
    with pytest.raises(
        ExampleFailedError, match=r"held at once: 2,000 bytes at most; yours takes 1,000,000\."
    ):
        at_most("held at once", 1_000_000, 2_000, "bytes")


def broken(sentence):
    def answer(*_args):
        raise ValueError(sentence)

    return answer


@pytest.mark.parametrize("sentence", ["5 is odd", "10 / 2 is odd"])
def test_a_refusal_may_name_one_or_the_other(sentence, capsys):
    refuses("odd", broken(sentence), naming=(5,), or_naming=(10, 2))
    assert sentence in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (broken("10 is odd"), "odd: name 5, or 10 and 2 in the sentence; yours says “10 is odd”."),
        (int, "odd: raise a ValueError whose sentence names 5, or 10 and 2."),
        ([].pop, "names 5, or 10 and 2, not IndexError: pop from empty list"),
    ],
)
def test_a_refusal_says_which_numbers_are_wanted(answer, message):
    with pytest.raises(AssertionError, match=re.escape(message)):
        refuses("odd", answer, naming=(5,), or_naming=(10, 2))
