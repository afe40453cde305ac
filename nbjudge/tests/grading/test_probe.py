"""What runs in the student's kernel: how answers are called there, and what comes of each call."""

import gc
import inspect
import random
import sys
from collections import namedtuple
from functools import partial
from types import SimpleNamespace

import IPython
import nbformat
import numpy as np
import pytest
import torch
from judged_answers import as_text, exercise_of, judged_as_text
from torch import nn
from torch_exercise import Exercise

from nbjudge.authoring import case, made_by
from nbjudge.calls import Answer, Reply, caller_of, calls_for
from nbjudge.errors import CourseError
from nbjudge.judge.drawn_group import call_groups, draw_groups
from nbjudge.judge.scoring import judge_exercise
from nbjudge.kernel import protocol
from nbjudge.kernel.client import open_kernel
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.probe import respond
from nbjudge.settings import Limits
from nbjudge.torch import build
from nbjudge.values import packing


def with_an_optimizer(answer, rate):
    """telltale docstring"""

    # telltale comment
    def one_step(start, gradient):
        weight = nn.Parameter(start.clone())
        weight.grad = gradient
        answer([weight], torch.optim.SGD([weight], lr=rate))
        return {"weight": weight.detach(), "has gradient": weight.grad is not None}

    return one_step


def layer(width):
    return nn.Linear(width, width, bias=False)


def one_step(draw):
    yield case(draw.normal(5), draw.normal(5), through=partial(with_an_optimizer, rate=0.5))


def with_a_layer(draw):
    state = {"layer.weight": draw.normal(5, 5)}
    yield case(draw.normal(7, 5), build=build(made_by(layer, width=5), state=state, look=("result", "twice")))


step = exercise_of("step", one_step, results=("weight",), base=Exercise)
tower = exercise_of("Tower", with_a_layer, results=("output",), base=Exercise)


@step.mistake("The weights are what they were: no step was taken.")
def takes_no_step(weights, optimizer):
    optimizer.zero_grad()


class Tower(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)

    def twice(self, x):
        return self(self(x))


class ForgetsTheSecond(Tower):
    twice = Tower.forward


def takes_a_step(weights, optimizer):
    optimizer.step()
    optimizer.zero_grad()


def doubles_the_step(weights, optimizer):
    optimizer.step()
    optimizer.step()


@pytest.mark.parametrize(
    ("exercise", "reference", "answer", "found"),
    [
        (step, takes_a_step, takes_no_step, "takes_no_step"),
        (step, takes_a_step, doubles_the_step, "`weight`"),
        (step, takes_a_step, None, "step"),  # an answer that is not there needs no adapter
        (tower, Tower, ForgetsTheSecond, "`twice`"),
    ],
)
def test_what_is_made_in_the_kernel_is_judged(exercise, reference, answer, found):
    """An adapter makes the arguments and reports; a wrong entry is called by its name."""
    assert judged_as_text(exercise, reference, reference).points == 1
    verdict = judged_as_text(exercise, reference, answer)
    assert verdict.points == 0 and found in (verdict.findings[0].mistake, *verdict.findings[0].facts)


def test_the_judges_code_arrives_without_its_text():
    drawn_case = case(torch.ones(2), torch.ones(2), through=partial(with_an_optimizer, rate=0.5))
    request = packing.pack({"target": "step", "calls": calls_for([drawn_case], [None]), "watched_calls": {}})
    found = []

    def searches(weights, optimizer):
        found.extend(thing for thing in gc.get_objects() if isinstance(thing, dict))
        takes_a_step(weights, optimizer)

    assert "telltale" not in request
    packing.unpack(respond.respond(request, {"step": searches}))
    received = [space for space in found if space.get("given") == {"rate": 0.5} and "made" in space]
    adapter = received[0]["with_an_optimizer"]
    assert adapter.__doc__ is None and "telltale" not in repr(adapter.__code__.co_consts)
    with pytest.raises(OSError):
        inspect.getsource(adapter)


WIDTH, OPEN = 3, gc  # a constant comes along, and a module by its name
LOCK = nn.Linear(1, 1)


class Doubled(nn.Module):
    def forward(self, x):
        return helped(x) * WIDTH


def helped(x):
    return OPEN.isenabled() * x


def test_code_brings_what_it_uses_of_its_file():
    received = packing.unpack(packing.pack(made_by(Doubled)), with_code=True)
    assert respond.make(received)(torch.ones(2)).tolist() == [3.0, 3.0]


TABLE = {LOCK: 1}


@pytest.mark.parametrize("function", [lambda x: LOCK(x), lambda x: TABLE.get(x)])
def test_what_cannot_come_along_is_said_to_the_author(function):
    with pytest.raises(CourseError, match="uses (LOCK|TABLE), a .* that cannot come along"):
        case(1, through=function)


def test_a_named_tuple_arrives_as_a_plain_one():
    pair = namedtuple("pair", "rows factor")
    arrived = packing.unpack(packing.pack(pair(torch.ones(2), 3.0)))
    assert type(arrived) is tuple and torch.equal(arrived[0], torch.ones(2)) and arrived[1] == 3.0


# ---- one request for all groups ------------------------------------------------------------------


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
            if self.width in (len(x), "any"):
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
        # After two replies that were lost alone, no group is called.
        (Kernel("any", "unreadable", keeps=False), ["unreadable"] * 4, [ALL, [1], [2]]),
        (
            Kernel(2, "unreadable", False),
            ["value", "unreadable", "value", "value"],
            [ALL, [1], [2], [3], [4]],
        ),
    ],
)
def test_every_group_has_the_answers_of_a_group_alone(kernel, found, requested):
    assert statuses(kernel) == found
    assert kernel.requested_widths == requested
    assert judge_exercise(exercise, double, kernel, 5).points == found.count("value")


# ---- the program that runs there -----------------------------------------------------------------


def test_the_probe_imports_nothing_of_the_grader(monkeypatch, tmp_path):
    """It is put together from the sources of several modules, whose imports may go over several lines."""
    program = protocol.program()
    compile(program, "<program>", "exec")
    assert "from nbjudge" not in program and "import nbjudge" not in program
    own = "from nbjudge.values.kinds import KINDS\nfrom nbjudge.values import (\n    kinds,\n    packing,\n)"
    (tmp_path / "part_of_a_course.py").write_text(f"import json\n{own}\nfrom json import (\n    dumps,\n)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(protocol, "PARTS", ["part_of_a_course"])
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
    with pytest.raises(ValueError):
        protocol.read_printed(printed)


# ---- chance --------------------------------------------------------------------------------------


def call_answer(answer, *cases):
    """The answers to these calls in one request."""
    return as_text({"answer": answer})("answer", calls_for(cases, [None] * len(cases)), {}).answers


def chance_of_all(x):
    return x + random.random() + np.random.rand() + torch.rand(())


def test_the_same_request_draws_the_same():
    """Two modules or calls of one request draw different numbers, and so does another request."""

    def weights(*widths):
        layers = [case(torch.ones(2, width), build=build(width, width, look=("state",))) for width in widths]
        return [answer.value["state"]["weight"] for answer in call_answer(nn.Linear, *layers)]

    first, other = weights(5), weights(5, 5)
    assert torch.equal(first[0], weights(5)[0])
    assert not torch.equal(*other) and not torch.equal(first[0], other[0])
    first, again = (call_answer(chance_of_all, *[case(torch.ones(3))] * 2) for _ in range(2))
    assert torch.equal(first[0].value, again[0].value) and not torch.equal(first[0].value, first[1].value)


def test_calls_leave_later_draws_unchanged():
    """What is drawn afterwards is what would have been drawn."""

    def numbers_after(calls=lambda: None):
        for library in (random, np.random):
            library.seed(5)
        torch.manual_seed(5)
        calls()
        return random.random(), np.random.rand(), torch.rand(3).tolist()

    def calls():
        call_answer(nn.Linear, case(torch.ones(2, 5), build=build(5, 5, look=("state",))))
        call_answer(chance_of_all, case(torch.ones(3)))

    assert numbers_after(calls) == numbers_after()


# ---- exceptions whose class computes when it is read, or whose message is large ------------------


LARGE = 60_000_000  # characters: two copies of it are more than the reader of a kernel takes in
CALLS = calls_for([case(number) for number in range(3)], [None] * 3)


class Large(BaseException):
    """What an exception of a student's may raise when it is read; no `Exception`."""


def raising(error=Large):
    def raises(*_):
        raise error("x" * 1_000_000)

    return raises


def odd(base=Exception, meta=type, **attributes):
    """An object of a class of its own, called Odd."""
    return meta("Odd", (base,), attributes)


TEXT_OF_A_CLASS = odd(str, __getitem__=raising())("said")
CLASS_WITHOUT_NAME = odd(type, __name__=property(raising()))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("said"), ("raised", "ValueError", "said")),  # the control
        (odd(__str__=raising())(), ("raised", "Odd", "")),
        (odd(__str__=lambda _: TEXT_OF_A_CLASS)(), ("raised", "Odd", "said")),
        (odd(__traceback__=property(raising()))(), ("raised", "Exception", "")),
        (odd(meta=CLASS_WITHOUT_NAME)(), ("raised", "Exception", "")),
        (Large("said"), ("raised", "Large", "said")),
        (odd(__str__=raising(KeyboardInterrupt))(), ("timeout", "", "")),
    ],
    ids=["control", "raises", "text", "traceback", "name", "no Exception", "interrupt"],
)
def test_every_call_is_answered_by_an_exception(error, expected):
    """An interrupt while an exception is read ends the request."""

    def answer(_number):
        raise error

    answers = caller_of(answer)("", CALLS, {}).answers
    assert [(each.status, each.error, each.message) for each in answers] == [expected] * 3


def test_what_escapes_a_call_is_a_short_error():
    hostile = odd(dict, items=raising(), get=raising())()
    with pytest.raises(RuntimeError, match=respond.NOT_ANSWERED) as caught:
        respond.respond(protocol.request("answer", CALLS, {}), hostile)
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
def test_a_kernel_survives_large_errors(tmp_path):
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
