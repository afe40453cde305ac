"""A question is answered in the kernel whatever the answer does there."""

import os
import subprocess
import sys
import threading
import time

import pytest

from nbjudge.tutor.learner.answering import CHATTY, answer


def test_the_value_is_sent_back():
    assert answer(lambda: "ab").text == "ab"


@pytest.mark.parametrize("answer_to", [lambda: [None for _ in iter(int, 1)], lambda: time.sleep(60)])
def test_an_endless_answer_is_interrupted(answer_to):
    began = time.monotonic()
    done = answer(answer_to, seconds=0.3)
    assert (done.text, done.lost) == (None, "timeout")
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(("owner", "end"), [(threading.Thread, "start"), (threading.Event, "set")])
def test_an_interrupt_beside_the_answer_meets_no_one(monkeypatch, owner, end):
    """The time may be up before the answer begins, or when it has just ended."""
    real = getattr(owner, end)

    def long(*arguments):
        real(*arguments) if end == "start" else None
        time.sleep(0.2)  # where the KeyboardInterrupt would come up
        real(*arguments) if end == "set" else None

    with monkeypatch.context() as slow:
        slow.setattr(owner, end, long)
        try:
            outcome = answer(lambda: "ab", seconds=0.05)
        except KeyboardInterrupt:
            pytest.fail("the interrupt was raised outside of the answer")
    assert (outcome.text, outcome.lost) == ("ab", "")


def test_gradients_are_on_again_after_an_interrupt():
    torch = pytest.importorskip("torch")

    def never_ends():
        torch.set_grad_enabled(False)  # an interrupt in the exit of `torch.no_grad` leaves them off too
        time.sleep(60)

    assert answer(never_ends, seconds=0.3).lost == "timeout"
    assert torch.is_grad_enabled()


def test_the_learners_own_interrupt_is_theirs():
    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        answer(stop, seconds=60)


def test_a_megabyte_of_prints_is_counted_and_gone(capsys):
    done = answer(lambda: print("x" * 1_000_000))
    assert capsys.readouterr().out == ""
    assert done.notes == ["Your answer printed 1,000,001 characters meanwhile; they are not shown."]
    assert answer(lambda: print("x" * (CHATTY // 2))).notes == []


def test_threads_that_go_on_are_told():
    stop = threading.Event()
    try:
        done = answer(lambda: threading.Thread(target=stop.wait).start())
    finally:
        stop.set()
    assert "left 1 thread running" in done.notes[0]


@pytest.mark.integration
def test_what_ends_python_ends_it():
    """A tutor cannot prevent that; the next check says so, see test_check.py."""
    code = "import os; from nbjudge.tutor.learner.answering import answer; answer(lambda: os._exit(3))"
    assert subprocess.run([sys.executable, "-c", code], env=os.environ).returncode == 3
