"""An exception whose class computes when it is read, or whose message is large, costs its own answer only."""

from __future__ import annotations

import nbformat
import pytest

from nbjudge.calls import read_reply
from nbjudge.kernel import protocol
from nbjudge.kernel.client import open_kernel
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.probe import respond
from nbjudge.settings import Limits

LARGE = 60_000_000  # characters: two copies of it are more than the reader of a kernel takes in
CALLS = [
    {"args": [number], "kwargs": {}, "cotangents": None, "through": None, "measure": None, "build": None}
    for number in range(3)
]


class Large(BaseException):
    """What an exception of a student's may raise when it is read; no `Exception`."""


class RaisesInStr(Exception):
    def __str__(self):
        raise Large("x" * 1_000_000)


class TextOfAClass(str):
    def __getitem__(self, _index):
        raise Large


class ReturnsTextOfAClass(Exception):
    def __str__(self):
        return TextOfAClass("said")


class RaisesInTraceback(Exception):
    @property
    def __traceback__(self):
        raise Large


class ClassWithoutName(type):
    @property
    def __name__(cls):
        raise Large


class HasNoName(Exception, metaclass=ClassWithoutName):
    pass


def described(error):
    def answer(_number):
        raise error

    return read_reply(respond.answer_calls(answer, CALLS), len(CALLS)).answers


@pytest.mark.parametrize(
    ("error", "name", "message"),
    [
        (ValueError("said"), "ValueError", "said"),  # the control
        (RaisesInStr(), "RaisesInStr", ""),
        (ReturnsTextOfAClass(), "ReturnsTextOfAClass", "said"),
        (RaisesInTraceback(), "Exception", ""),
        (HasNoName(), "Exception", ""),
        (Large("said"), "Large", "said"),
    ],
    ids=lambda value: type(value).__qualname__ if isinstance(value, BaseException) else "",
)
def test_every_call_is_answered_by_an_exception(error, name, message):
    answers = described(error)
    assert [(each.status, each.error, each.message) for each in answers] == [("raised", name, message)] * 3


def test_an_interrupt_while_an_exception_is_read_ends_the_request():
    class Interrupted(Exception):
        def __str__(self):
            raise KeyboardInterrupt("x" * 1_000_000)

    assert [answer.status for answer in described(Interrupted())] == ["timeout"] * 3


def test_what_escapes_a_call_is_a_short_error_without_context():
    class Hostile(dict):
        def items(self):
            raise Large("x" * 1_000_000)

        def get(self, *_):
            raise Large("x" * 1_000_000)

    with pytest.raises(RuntimeError, match=respond.NOT_ANSWERED) as caught:
        respond.respond(protocol.request("answer", CALLS, {}), Hostile())
    assert caught.value.__suppress_context__ and len(str(caught.value)) < 100


ANSWERS = f"""
class Large(BaseException):
    pass
class RaisesInStr(Exception):
    def __str__(self):
        raise Large("x" * {LARGE})
def large(number):
    raise RaisesInStr
def right(number):
    return number + 1
"""
ERRORS = {
    "large": f"raise ValueError('x' * {LARGE})",
    "chained": f"try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise ValueError('x' * {LARGE})",
    "small": "raise ValueError('x')",  # the control
}


@pytest.mark.integration
def test_a_kernel_replies_to_large_errors_and_is_not_started_again(tmp_path):
    """The limits are those of a class, and no reply and no cell exceeds one."""
    with open_kernel(tmp_path, KernelEnvironment(limits=Limits())) as kernel:
        assert kernel.run_cell(nbformat.v4.new_code_cell(ANSWERS)) == "done"
        first = kernel.process
        for source in ERRORS.values():
            cell = nbformat.v4.new_code_cell(source)
            assert kernel.run_cell(cell) == "done"
            assert cell.outputs[-1].ename == "ValueError"
            assert cell.outputs[-1].evalue.strip("x") == ""
        assert cell.outputs[-1].evalue == "x"
        reply = kernel.call("large", CALLS, {})
        assert not reply.lost and {answer.error for answer in reply.answers} == {"RaisesInStr"}
        assert [answer.value for answer in kernel.call("right", CALLS, {}).answers] == [1, 2, 3]
        assert kernel.process is first and kernel.budget.losses == 0
