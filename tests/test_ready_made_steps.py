"""A ready-made step is seen and told, and no one is accused of writing their own."""

import importlib
import math
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import scipy.special
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import forward_ad
from torch.nn.attention.flex_attention import flex_attention

from attention_lab.authoring import (
    AUTOMATIC_DIFFERENTIATION,
    BUILDING_LAYERS,
    FUSED_ATTENTION,
    RMS_NORM,
    SOFTMAX,
    Case,
    Exercise,
    case,
)
from nbjudge.authoring import merge_watched_calls
from nbjudge.calls import caller_of, calls_for
from nbjudge.course import open_course
from nbjudge.judge.group_result import forbidden_step
from nbjudge.judge.scoring import judge_exercise
from nbjudge.probe.watching import Recording, python_functions
from nbjudge.torch.values import kernels_of_operators

pytestmark = [
    pytest.mark.filterwarnings("ignore:flex_attention called without:UserWarning"),
    pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning"),
]
COURSE = open_course(Path(__file__).parents[1])
STEPS = (SOFTMAX, FUSED_ATTENTION, AUTOMATIC_DIFFERENTIATION, BUILDING_LAYERS, RMS_NORM)
WATCH = merge_watched_calls(step.watched_calls() for step in STEPS)
ATTENTION, LAYER = "F.scaled_dot_product_attention", "nn.MultiheadAttention"
BACKWARD = "a backward pass"
SCIPYS, TRANSFORM = "scipy.special._logsumexp.softmax", "torch.distributions.SoftmaxTransform"
POOL = ThreadPoolExecutor(1)
MADE_BEFORE = nn.Linear(4, 2)


def by_hand(scores):
    exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


def ready_made(scores):
    return torch.softmax(scores, -1)


def imported_within(scores):
    from sklearn.utils.extmath import softmax  # noqa: PLC0415

    return torch.from_numpy(softmax(scores.numpy()))


class Inside(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = nn.Softmax(dim=-1)

    def forward(self, scores):
        return self.step(scores)


class InItsBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return by_hand(x)

    @staticmethod
    def backward(ctx, gradient):
        return torch.softmax(gradient, -1)


def scripted(expression):
    return torch.jit.CompilationUnit(f"def answer(x):\n    return {expression}\n").answer


def by_backward(x):
    leaf = x.clone().requires_grad_()
    by_hand(leaf).square().sum().backward()
    return leaf.grad


def by_autograd_grad(x):
    leaf = x.clone().requires_grad_()
    return torch.autograd.grad(by_hand(leaf).square().sum(), leaf)[0]


def by_dual_numbers(x):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(by_hand(forward_ad.make_dual(x, x))).tangent


# Each with the call that the student is told, and how to run it.
SOFTMAXES = {
    "torch.softmax": ("torch.softmax", lambda x: torch.softmax(x, dim=-1)),
    "a method": ("torch.softmax", lambda x: x.softmax(-1)),
    "a module inside a module": ("torch.softmax", lambda x: Inside()(x)),
    "the operator itself": ("torch.softmax", lambda x: torch.ops.aten._softmax(x, -1, False)),
    "scripted": ("torch.softmax", scripted("torch.softmax(x, -1)")),
    "vmapped": ("torch.softmax", lambda x: torch.vmap(lambda row: torch.softmax(row, 0))(x)),
    "in a thread": ("torch.softmax", lambda x: POOL.submit(torch.softmax, x, -1).result()),
    "softmin": ("torch.softmax", lambda x: F.softmin(-x, dim=-1)),
    "sparse": ("torch.softmax", lambda x: torch.sparse.softmax(x.to_sparse(), dim=1).to_dense()),
    "log_softmax": ("torch.log_softmax", lambda x: torch.log_softmax(x, dim=-1).exp()),
    "cross_entropy": ("torch.log_softmax", lambda x: -F.cross_entropy(x, torch.tensor([0, 1, 2]))),
    "logsumexp": ("torch.logsumexp", lambda x: torch.exp(x - x.logsumexp(-1, keepdim=True))),
    "logcumsumexp": ("torch.logcumsumexp", lambda x: torch.exp(x - x.logcumsumexp(-1)[..., -1:])),
    "logaddexp": ("torch.logaddexp", lambda x: torch.logaddexp(x[:, 0], x[:, 1])),
    "scipy's": (SCIPYS, lambda x: torch.from_numpy(scipy.special.softmax(x.numpy(), axis=-1))),
    "imported within": ("sklearn.utils.extmath.softmax", imported_within),
    "a distribution's": (TRANSFORM, lambda x: torch.distributions.transforms.SoftmaxTransform()(x)),
}
FUSED = {
    ATTENTION: (ATTENTION, lambda x: F.scaled_dot_product_attention(x, x, x)),
    "its inner function": (
        ATTENTION,
        lambda x: torch.ops.aten._scaled_dot_product_attention_math(x, x, x)[0],
    ),
    "in batches": (ATTENTION, lambda x: F.scaled_dot_product_attention(*(x[None, None],) * 3)),
    "scripted": (ATTENTION, scripted("torch._C._nn.scaled_dot_product_attention(x, x, x)")),
    LAYER: (LAYER, lambda x: nn.MultiheadAttention(4, 2)(x, x, x)[0]),
    "a layer in eval mode": (LAYER, lambda x: nn.MultiheadAttention(4, 2).eval()(x, x, x)[0]),
    "the layer's function": (
        "F.multi_head_attention_forward",
        lambda x: F.multi_head_attention_forward(
            *(x[:, None],) * 3, 4, 2, torch.ones(12, 4), None, None, None, False, 0.0, torch.eye(4), None
        )[0],
    ),
    "a transformer layer": (
        "nn.TransformerEncoderLayer",
        lambda x: nn.TransformerEncoderLayer(4, 2, dim_feedforward=8)(x[None]),
    ),
    "flex_attention": ("flex_attention", lambda x: flex_attention(*(x[None, None],) * 3)),
}
DIFFERENTIATED = {
    "a backward method": (BACKWARD, by_backward),
    "autograd.grad": (BACKWARD, by_autograd_grad),
    "jacobian": (BACKWARD, lambda x: torch.autograd.functional.jacobian(by_hand, x)),
    "func.jacrev": (BACKWARD, lambda x: torch.func.jacrev(by_hand)(x)),
    "func.jacfwd": ("torch.autograd.forward_ad.make_dual", lambda x: torch.func.jacfwd(by_hand)(x)),
    "forward mode": ("torch.autograd.forward_ad.make_dual", by_dual_numbers),
    "in a thread": (BACKWARD, lambda x: POOL.submit(by_backward, x).result()),
    "the derivative of a softmax": (
        "the backward pass of torch.softmax",
        lambda x: torch._softmax_backward_data(x, x, -1, x.dtype),
    ),
}
LAYERS = {
    "a layer": ("torch.nn.modules.module.Module.__init__", lambda x: nn.Linear(3, 4).weight),
    "a module of one's own": ("torch.nn.modules.module.Module.__init__", lambda x: Inside()(x)),
}
NORMS = {
    "nn.RMSNorm": ("nn.RMSNorm", nn.RMSNorm(4)),
    "F.rms_norm": ("F.rms_norm", lambda x: F.rms_norm(x, (4,))),
    "torch.rms_norm": ("torch.rms_norm", lambda x: torch.rms_norm(x, (4,))),
    "fused": ("torch.rms_norm", lambda x: torch.ops.aten._fused_rms_norm(x, [4], None, 1e-5)[0]),
    "without gradients": ("torch.rms_norm", torch.no_grad()(lambda x: torch.rms_norm(x, (4,)))),
}
SEEN = tuple(zip(STEPS, (SOFTMAXES, FUSED, DIFFERENTIATED, LAYERS, NORMS), strict=True))
OWN = {
    "a softmax by hand": by_hand,
    "in a thread": lambda x: POOL.submit(by_hand, x).result(),
    "by logarithms": lambda x: torch.exp(x - x.exp().sum(-1, keepdim=True).log()),
    "by bmm": lambda x: torch.bmm(by_hand(torch.bmm(x[None], x[None].mT)), x[None])[0],
    "a layer": MADE_BEFORE,
    "a normalisation": lambda x: F.normalize(x.exp(), p=1, dim=-1),
    "an RMSNorm by hand": lambda x: (
        x * x.pow(2).mean(-1, keepdim=True).add_(1e-5).rsqrt() + F.layer_norm(x, (4,))
    ),
    "a mask": lambda x: by_hand(x.masked_fill(torch.ones(3, 4).triu(1).bool(), -math.inf)).nan_to_num(),
    "other non-linear functions": lambda x: torch.sigmoid(x) + x.tanh() + F.relu(x) + F.gelu(x),
    "a Jacobian by formula": lambda x: torch.diag_embed(x) - x[..., None] * x[..., None, :],
}


def called(function, watch=WATCH, gradients=False):
    """Return what comes of a call of `function` on a table of scores."""
    scores = torch.arange(12.0).view(3, 4) / 10
    calls = calls_for([Case((scores,))], [[torch.ones(3, 4)] if gradients else None])
    (answer,) = caller_of(function)("", calls, watch).answers
    assert answer.status == "value", f"{answer.error}: {answer.message}"
    return answer


@pytest.mark.parametrize(
    ("step", "told", "answer"),
    [
        pytest.param(step, told, answer, id=f"{step.called}: {name}")
        for step, answers in SEEN
        for name, (told, answer) in answers.items()
    ],
)
def test_a_ready_made_step_is_seen(step, told, answer):
    assert forbidden_step([step], called(answer).ran) == (step, told)


@pytest.mark.parametrize("answer", [answer for _, answer in FUSED.values()], ids=FUSED)
def test_ready_made_attention_is_a_softmax_too(answer):
    assert forbidden_step([SOFTMAX], called(answer).ran)


@pytest.mark.parametrize("answer", OWN.values(), ids=OWN)
def test_no_one_is_accused_of_their_own(answer):
    assert not forbidden_step(STEPS, called(answer).ran)


@pytest.mark.parametrize("name", SOFTMAXES)
def test_a_softmax_is_neither_attention_nor_derivative(name):
    ran = called(SOFTMAXES[name][1]).ran
    assert not forbidden_step([FUSED_ATTENTION, AUTOMATIC_DIFFERENTIATION], ran)


def test_the_judges_backward_pass_accuses_no_one():
    """What autograd runs for the judge is not the student's, but a step inside of it is."""
    assert not forbidden_step(STEPS, called(by_hand, gradients=True).ran)
    ran = called(ready_made, gradients=True).ran
    assert not forbidden_step([FUSED_ATTENTION, AUTOMATIC_DIFFERENTIATION], ran)
    assert forbidden_step([SOFTMAX], called(InItsBackward.apply, gradients=True).ran)


def test_the_verdict_says_what_ran_and_gives_nothing():
    lesson, exercise = COURSE.exercise("softmax")
    answer = caller_of(lambda scores: scores.softmax(-1))
    verdict = judge_exercise(exercise, lesson.reference_answer("softmax"), answer, seed=1)
    assert verdict.points == 0
    assert verdict.findings[0].mistake == "not_allowed"
    assert "runs a ready-made softmax (`torch.softmax`), and this is the step" in verdict.message


def test_only_the_group_in_which_it_ran_is_lost():
    exercise = Exercise("answer", results=("weights",), not_allowed=(SOFTMAX, AUTOMATIC_DIFFERENTIATION))
    exercise.group("rows", points=1)(lambda draw: [case(draw.normal(*draw.sizes(1)), gradients=True)])
    exercise.group("tables", points=2)(lambda draw: [case(draw.normal(*draw.sizes(2)))])

    def answer(scores):
        return by_hand(scores) if scores.dim() == 1 else torch.softmax(scores, -1)

    assert judge_exercise(exercise, by_hand, caller_of(answer), seed=1).points == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("step", [ready_made, SOFTMAXES["logsumexp"][1], FUSED[ATTENTION][1]])
def test_the_watch_changes_no_number(step, dtype):
    def with_gradient():
        x = torch.randn(3, 5, 4, dtype=dtype, generator=torch.Generator().manual_seed(7)).requires_grad_()
        value = step(x)
        value.square().sum().backward()
        return value.detach(), x.grad

    expected = with_gradient()
    with Recording(WATCH) as recording:
        recorded = with_gradient()
    assert recording.taken()
    assert all(map(torch.equal, recorded, expected))


def everything_watched():
    kernels = [
        repr(torch.library.get_kernel(operator, torch._C._dispatch_key_parse(key)))
        for operator, key in kernels_of_operators(WATCH["operators"]["torch"])
    ]
    codes = [nn.Module.__init__.__code__, nn.MultiheadAttention.forward.__code__]
    return kernels, codes, list(sys.meta_path)


def test_nothing_is_left_behind(capfd):
    """Whatever became of the answer: the watch ends with it and has printed nothing."""
    before = everything_watched()
    with pytest.raises(KeyboardInterrupt), Recording(WATCH) as recording:
        assert everything_watched() != before
        with recording.aside():  # what the judge makes to ask with
            torch.softmax(torch.ones(3), -1)
        assert recording.taken() == set()
        torch.softmax(torch.ones(3), -1)
        raise KeyboardInterrupt
    assert recording.taken() == {"aten::_softmax (called)"}
    assert everything_watched() == before
    torch.softmax(torch.ones(3), -1)
    assert recording.taken() == set()
    assert capfd.readouterr() == ("", "")


def test_the_installed_torch_has_the_steps():
    """A torch with other names needs a new look at the list of steps."""
    for step in STEPS:
        for module, names in step.functions.items():
            for name in names:
                assert python_functions(importlib.import_module(module), name), f"{module}.{name}"
        for pattern in step.operators:
            assert kernels_of_operators((pattern,)) or pattern == "*softmin*", pattern


@pytest.mark.parametrize("module", sorted(WATCH["functions"]))
def test_a_module_in_name_only_disturbs_no_one(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, object())
    with Recording(WATCH) as recording:
        torch.ones(3).exp()
    assert recording.taken() == set()
