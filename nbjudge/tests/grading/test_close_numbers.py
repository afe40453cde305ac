"""Two numbers that are told to differ are shown with the digits in which they do."""

import re

import pytest
import torch
from torch_exercise import Exercise

from nbjudge.authoring import case
from nbjudge.calls import read_reply
from nbjudge.judge.describe import told_apart
from nbjudge.judge.scoring import judge_exercise
from nbjudge.probe import respond


@pytest.mark.parametrize(
    ("actual", "right", "shown"),
    [
        (0.5, 0.25, ("0.5", "0.25")),
        (0.46142, 0.46138, ("0.46142", "0.46138")),
        (1.0, 1.0 + 2**-52, ("1", "1.0000000000000002")),
        (torch.tensor(2.0), torch.tensor(2.00001), ("2", "2.00001")),
        (torch.tensor(2), torch.tensor(3), ("2", "3")),
    ],
)
def test_as_many_digits_as_it_takes_and_no_more(actual, right, shown):
    assert told_apart(actual, right) == shown


def nearly(x):
    return x + 2e-4 * torch.eye(len(x))[0]


def nearly_the_sum(x):
    return float(x.sum()) * 1.0002


@pytest.mark.parametrize(
    ("answer", "reference"), [(nearly, lambda x: x), (nearly_the_sum, lambda x: float(x.sum()))]
)
def test_a_student_whose_number_is_nearly_right_sees_what_is_wrong_with_it(answer, reference):
    exercise = Exercise("nearly", results=("numbers",))

    @exercise.group("numbers", points=1)
    def numbers(draw):
        yield case(torch.eye(*draw.sizes(1))[0])

    def ask_student(_name, calls, _watched_calls):
        return read_reply(respond.answer_calls(answer, calls), len(calls))

    verdict = judge_exercise(exercise, reference, ask_student, seed=1)
    sentence = verdict.findings[0].sentence
    yours, other = re.search(r"(?:yours is|gives) (\S+), and (\S+) is right", sentence).groups()
    assert (yours, other) == ("1.0002", "1")
