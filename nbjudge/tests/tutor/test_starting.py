"""A check that comes before the tutor is ready says so, once and only where someone reads it."""

from types import SimpleNamespace

import pytest

from nbjudge.tutor.learner import checking
from nbjudge.tutor.messages import CheckRequest, Notice


@pytest.mark.parametrize(
    ("is_starting", "has_reader", "is_said"),
    [(True, True, True), (False, True, False), (True, False, False)],
)
def test_one_line_says_that_the_tutor_is_starting(monkeypatch, capsys, is_starting, has_reader, is_said):
    tutor = SimpleNamespace(
        is_starting=is_starting, has_announced_start=False, send=lambda request: Notice(sentence="done")
    )
    shell = SimpleNamespace(kernel=SimpleNamespace(_allow_stdin=has_reader))
    monkeypatch.setattr(checking, "connection", tutor)
    monkeypatch.setattr(checking, "get_ipython", lambda: shell)
    for _ in range(3):
        assert checking.converse(CheckRequest(exercise="softmax")) == (Notice(sentence="done"), [])
    assert capsys.readouterr().out.splitlines() == [checking.STARTING] * is_said


def test_a_script_has_no_reader(monkeypatch):
    monkeypatch.setattr(checking, "get_ipython", lambda: None)
    assert not checking._has_reader()
