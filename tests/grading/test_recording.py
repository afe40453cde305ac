"""What records the steps of an answer changes no number, says nothing, and leaves nothing behind."""

import subprocess
import sys
from types import ModuleType

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from every_step import FUNCTIONS, OPERATORS, WATCH

from attention_lab.authoring import SOFTMAX
from nbjudge.judge.group_result import forbidden_step
from nbjudge.probe.recording import Recording

KERNELS = [(operator, key) for operator, keys in OPERATORS.items() for key in keys]


def softmax(x):
    return torch.softmax(x, -1)


def log_sum(x):
    return torch.exp(x - torch.logsumexp(x, -1, keepdim=True))


def attention(x):
    return F.scaled_dot_product_attention(x, x, x)


def layer(x):
    torch.manual_seed(1)
    return nn.MultiheadAttention(4, 2).to(x.dtype)(x, x, x)[0]


def with_gradient(function, dtype):
    x = torch.randn(3, 5, 4, dtype=dtype, generator=torch.Generator().manual_seed(7)).requires_grad_()
    value = function(x)
    value.square().sum().backward()
    return value.detach(), x.grad


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("function", [softmax, log_sum, attention, layer])
def test_numbers_and_gradients_are_the_same_to_the_last_bit(function, dtype):
    expected = with_gradient(function, dtype)
    with Recording(WATCH) as recording, recording.answering():
        recorded = with_gradient(function, dtype)
    assert recording.taken()
    assert all(map(torch.equal, recorded, expected))


def everything_watched():
    kernels = [
        repr(torch.library.get_kernel(operator, torch._C._dispatch_key_parse(key)))
        for operator, key in KERNELS
    ]
    codes = [
        getattr(getattr(sys.modules[module], owner), name).__code__
        for module, owner, name in (
            ("torch.nn.modules.module", "Module", "__init__"),
            ("torch.nn.modules.activation", "MultiheadAttention", "forward"),
        )
    ]
    return kernels, codes, list(sys.meta_path), sys.getprofile()


def test_nothing_is_left_behind_whatever_became_of_the_answer(capfd):
    before = everything_watched()
    with pytest.raises(KeyboardInterrupt), Recording(WATCH) as recording, recording.answering():
        assert everything_watched() != before
        softmax(torch.ones(3))
        raise KeyboardInterrupt
    assert recording.taken() == {"aten::_softmax"}
    assert everything_watched() == before
    softmax(torch.ones(3))
    subprocess.run(["true"], check=True)
    assert recording.taken() == set()
    assert capfd.readouterr() == ("", "")


def test_python_is_told_to_report_once_however_many_questions_are_asked(monkeypatch):
    with Recording(WATCH):
        pass
    monkeypatch.setattr(sys, "addaudithook", pytest.fail)
    with Recording(WATCH) as recording, recording.answering():
        subprocess.run(["true"], check=True)
    assert recording.taken()


def test_what_the_judge_makes_to_ask_with_is_not_the_answers():
    with Recording(WATCH) as recording:
        with recording.aside():
            softmax(torch.ones(3))
        with recording.answering():
            torch.ones(3).exp()
        assert recording.taken() == set()
        softmax(torch.ones(3))  # anyone who does it between answers has been left there
        assert recording.taken() == {"aten::_softmax"}


def test_the_judges_own_backward_pass_is_no_differentiation_of_the_students():
    x = torch.ones(3, requires_grad=True)
    with Recording(WATCH) as recording:
        with recording.answering(differentiating=True):
            x.exp().sum().backward()
        assert recording.taken() == set()
        with recording.answering():
            x.exp().sum().backward()
        assert recording.taken() == {"a backward pass"}


@pytest.mark.parametrize("module", sorted(FUNCTIONS))
def test_a_module_in_name_only_disturbs_no_one(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, object())
    with Recording(WATCH) as recording, recording.answering():
        torch.ones(3).exp()
    assert recording.taken() == set()


def test_code_that_torch_compile_wrote_is_known_by_the_operators_it_was_made_from(monkeypatch):
    cache = pytest.importorskip("torch._inductor.codecache").PyCodeCache
    earlier, later = ModuleType("earlier"), ModuleType("later")
    for module, operators in ((earlier, "_softmax"), (later, "amax_exp_sum")):
        exec(
            f"class Runner:\n    def call(self):\n        return cpp_fused_{operators}_0()\n"
            f"def cpp_fused_{operators}_0():\n    return 1\n",
            vars(module),
        )
    compiled = [earlier]
    monkeypatch.setattr(cache, "modules", compiled)
    fetched = earlier.Runner().call
    with Recording(WATCH) as recording:
        with recording.answering():
            assert fetched() == 1
        assert forbidden_step([SOFTMAX], recording.taken())
        with recording.answering():
            compiled.append(later)
        ran = recording.taken()
        assert ran and not forbidden_step([SOFTMAX], ran)
