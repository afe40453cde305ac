"""A notebook that exceeded limits twice does not get its full time again."""

from __future__ import annotations

import pytest

from nbjudge.calls import Answer, Reply
from nbjudge.kernel.timing import TimeBudget

CALLS = [{"args": [number]} for number in range(3)]


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def budget(clock):
    budget = TimeBudget(300, clock)
    budget.start()
    return budget


def reply(*statuses, lost=False):
    return Reply([Answer(status) for status in statuses], lost)


def test_each_second_loss_halves_what_is_left(budget, clock):
    left = []
    for _ in range(8):
        budget.count_cell()
        left.append(budget.ends - clock.now)
    assert left == [300, 150, 150, 75, 75, 37.5, 37.5, 37.5]


def test_a_loss_gives_no_time_back(budget, clock):
    clock.now += 290
    for _ in range(8):
        budget.count_cell()
    assert budget.ends == 1300
    clock.now += 10
    assert budget.is_used_up


def test_one_exercise_is_two_losses_at_most(budget, clock):
    for _ in range(10):
        budget.count_reply("loops", CALLS, reply("timeout", "timeout", "timeout"))
    assert (budget.losses, budget.ends - clock.now) == (2, 150)
    budget.count_reply("dies", CALLS, reply("died", "died", "died", lost=True))
    budget.count_reply("dies", CALLS, reply("unreadable", "unreadable", "unreadable", lost=True))
    assert (budget.losses, budget.ends - clock.now) == (4, 75)


def test_one_slow_cell_and_slow_answers_that_come_are_not_punished(budget):
    budget.count_cell()
    for _ in range(3):  # each time there was no time for the last call, and then it was answered
        budget.count_reply("slow", CALLS, reply("value", "value", "timeout"))
        budget.count_reply("slow", CALLS[2:], reply("raised"))
    assert (budget.losses, budget.ends) == (1, 1300)


def test_a_call_that_is_stopped_a_second_time_is_a_loss(budget):
    budget.count_reply("hangs", CALLS, reply("value", "value", "timeout"))
    assert budget.losses == 0
    budget.count_reply("hangs", CALLS[1:], reply("value", "timeout"))
    assert budget.losses == 1


def test_the_time_begins_once(budget, clock):
    clock.now += 100
    budget.start()
    assert budget.ends == 1300
