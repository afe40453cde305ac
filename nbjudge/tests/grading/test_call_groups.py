"""One question for a whole exercise, and for every group the answers that it would have had alone."""

import sys
from types import SimpleNamespace

import IPython
import pytest
import torch
from torch_exercise import Exercise

from nbjudge.authoring import case
from nbjudge.calls import Answer, Reply
from nbjudge.judge.drawn_group import call_groups, draw_groups
from nbjudge.judge.scoring import judge_exercise
from nbjudge.kernel import protocol

SIZES = {"one": 1, "two": 2, "three": 3, "four": 4}
exercise = Exercise("double", results=("output",))


def cases_of_width(width, count):
    return lambda draw: [case(draw.normal(width)) for _ in range(count)]


for name, size in SIZES.items():
    exercise.group(name, points=1)(cases_of_width(size, count=size))


def double(x):
    return 2 * x


GROUPS = draw_groups(exercise, double, 5)


class Kernel:
    """Answers rightly, but for calls of one width: then it is late, dies, or says nothing readable."""

    def __init__(self, width=None, status="timeout", keeps=True, calls_in_time=100):
        self.width, self.status, self.keeps, self.calls_in_time = width, status, keeps, calls_in_time
        self.requested_widths = []

    def __call__(self, name, calls, watched_calls):
        assert name == "double" and watched_calls == {}
        self.requested_widths.append(sorted({len(call["args"][0]) for call in calls}))
        answers = []
        for call in calls[: self.calls_in_time]:
            (x,) = call["args"]
            if len(x) == self.width:
                if not self.keeps:
                    return Reply([Answer(self.status)] * len(calls), lost=True)
                break
            answers.append(Answer("value", double(x)))
        return Reply(answers + [Answer("timeout")] * (len(calls) - len(answers)))


def statuses(kernel):
    answered = call_groups(exercise, [group.calls for group in GROUPS], kernel)
    assert [len(answers) for answers in answered] == list(SIZES.values())
    for group, answers in zip(GROUPS, answered, strict=True):
        for call, answer in zip(group.calls, answers, strict=True):
            assert answer.status != "value" or torch.equal(answer.value, double(*call["args"]))
    return [answers[0].status for answers in answered]


ALL, BEFORE = [1, 2, 3, 4], ["value", "value"]


@pytest.mark.parametrize(
    ("kernel", "found", "requested"),
    [
        (Kernel(), ["value"] * 4, [ALL]),
        # Results before a hung or dead answer count, and later calls are not made.
        (Kernel(3), [*BEFORE, "timeout", "timeout"], [ALL, [3, 4]]),
        (Kernel(3, "timeout", keeps=False), [*BEFORE, "timeout", "timeout"], [ALL, [1], [2], [3]]),
        (Kernel(3, "died", keeps=False), [*BEFORE, "died", "died"], [ALL, [1], [2], [3]]),
        # An answer that loses the kernel at once is called again once; one that hangs is waited for once.
        (Kernel(1, "died", keeps=False), ["died"] * 4, [ALL, [1]]),
        (Kernel(1), ["timeout"] * 4, [ALL]),
        # There is time for four answers only: the groups behind are asked again.
        (Kernel(calls_in_time=4), ["value"] * 4, [ALL, [3, 4], [4]]),
    ],
)
def test_every_group_has_the_answers_of_a_group_alone(kernel, found, requested):
    assert statuses(kernel) == found
    assert kernel.requested_widths == requested


def test_an_unreadable_answer_spoils_its_group():
    """An unreadable answer spoils its own group only."""
    kernel = Kernel(2, "unreadable", keeps=False)
    assert statuses(kernel) == ["value", "unreadable", "value", "value"]
    assert judge_exercise(exercise, double, kernel, 5).points == 3


def test_after_two_replies_lost_alone_no_group_is_called():
    """After two replies lost alone no group is called."""

    class Unreadable(Kernel):
        def __call__(self, name, calls, watched_calls):
            super().__call__(name, calls, watched_calls)
            return Reply([Answer("unreadable")] * len(calls), lost=True)

    kernel = Unreadable()
    assert statuses(kernel) == ["unreadable"] * 4
    assert kernel.requested_widths == [[1, 2, 3, 4], [1], [2]]


def test_the_probe_imports_nothing_of_the_grader():
    """It is put together from the sources of several modules, whose imports may go over several lines."""
    program = protocol.program()
    compile(program, "<program>", "exec")
    assert "from nbjudge" not in program and "import nbjudge" not in program


@pytest.mark.parametrize(
    "own",
    ["from nbjudge.values.kinds import KINDS", "from nbjudge.values import (\n    kinds,\n    packing,\n)"],
)
def test_imports_between_its_parts_are_left_out(own, monkeypatch, tmp_path):
    part = tmp_path / "part_of_a_course.py"
    part.write_text(f"import json\n{own}\nfrom json import (\n    dumps,\n)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(protocol, "PARTS", [part.stem])
    assert "nbjudge" not in protocol.program() and "dumps" in protocol.program()


def test_a_kernel_runs_the_kept_probe_unchanged(monkeypatch):
    """Later requests leave the probe out, and student code can reach what is kept."""
    monkeypatch.setattr(sys, "nbjudge_probe", "something else", raising=False)
    message = {"content": {"request": protocol.request("answer", [{}], {})}}
    kernel = SimpleNamespace(get_parent={"shell": message}.__getitem__)
    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(kernel=kernel))
    without = protocol.expression(with_probe=False)
    assert repr(eval(without)) == protocol.NO_PROBE
    printed = repr(eval(protocol.expression()))
    assert protocol.read_printed(printed) == [{"status": "missing", "near": ""}]
    assert repr(eval(without)) == printed and len(without) < len(protocol.expression()) / 20
    sys.nbjudge_probe += b" "
    assert repr(eval(without)) == protocol.NO_PROBE


@pytest.mark.parametrize("printed", ["", "'", "AA BB", "'AA' + 'BB'", "'AA\\nAA'", "'AAé='", "'\udc80'"])
def test_a_reply_is_packed_text_between_quotes(printed):
    """A reply is packed text between quotes and nothing else."""
    with pytest.raises(ValueError):
        protocol.read_printed(printed)
