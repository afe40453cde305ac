"""A ready-made step is seen under whatever name it runs, and no one is accused of writing their own."""

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
import scipy.special
import torch
import torch.nn as nn
import torch.nn.functional as F
from every_step import STEPS, WATCH
from torch.autograd import forward_ad
from torch.nn.attention.flex_attention import flex_attention

from attention_lab.authoring import Case
from nbjudge.judge.group_result import forbidden_step
from nbjudge.kernel.protocol import calls_for, read_reply
from nbjudge.probe import respond

pytestmark = [
    pytest.mark.filterwarnings("ignore:flex_attention called without:UserWarning"),
    pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning"),
]
ALIAS = torch.softmax
FETCHED = getattr(F, "soft" + "max")


def accused(function, *families, shape=(3, 4)):
    """Whether a call of `function` on a table of scores ran a step of these families."""
    scores = torch.arange(math.prod(shape), dtype=torch.float32).view(shape) / 10
    calls = calls_for([Case((scores,))], [None])
    (answer,) = read_reply(respond.answer_calls(function, calls, WATCH), 1).answers
    step = forbidden_step([STEPS[family] for family in families], answer.ran)
    assert step or answer.status == "value", f"{answer.error}: {answer.message}"
    return step is not None


def by_hand(scores):
    exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


def helper_of_the_student(scores):
    return by_another_name(scores)


def by_another_name(scores):
    return [F.softmax(row, dim=-1) for row in scores][0]


class Inside(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = nn.Softmax(dim=-1)

    def forward(self, scores):
        return self.step(scores)


def scripted(expression):
    """A scripted step: what runs is no Python of the student's."""
    return torch.jit.CompilationUnit(f"def answer(x):\n    return {expression}\n").answer


READY_MADE = {
    "torch.softmax": lambda x: torch.softmax(x, dim=-1),
    "F.softmax": lambda x: F.softmax(x, dim=-1),
    "a method": lambda x: x.softmax(-1),
    "a module": lambda x: nn.Softmax(dim=-1)(x),
    "a module inside a module": lambda x: Inside()(x),
    "a module over channels": lambda x: nn.Softmax2d()(x[None, :, :, None]),
    "an alias": lambda x: ALIAS(x, -1),
    "fetched by a built name": lambda x: FETCHED(x, dim=-1),
    "fetched from the tensor": lambda x: getattr(x, "soft" + "max")(-1),
    "the unbound method": lambda x: torch.Tensor.softmax(x, -1),
    "torch.special": lambda x: torch.special.softmax(x, -1),
    "the operator itself": lambda x: torch.ops.aten._softmax(x, -1, False),
    "the overload itself": lambda x: torch.ops.aten.softmax.int(x, -1),
    "from C": lambda x: torch._C._VariableFunctions.softmax(x, -1),
    "a student's helper": helper_of_the_student,
    "scripted": scripted("torch.softmax(x, -1)"),
    "vmapped": lambda x: torch.vmap(lambda row: torch.softmax(row, 0))(x),
    "softmin": lambda x: F.softmin(-x, dim=-1),
    "nn.Softmin": lambda x: nn.Softmin(dim=-1)(-x),
    "log_softmax": lambda x: torch.log_softmax(x, dim=-1).exp(),
    "nn.LogSoftmax": lambda x: nn.LogSoftmax(dim=-1)(x).exp(),
    "cross_entropy": lambda x: torch.exp(-F.cross_entropy(x, torch.tensor([0, 1, 2]), reduction="none")),
    "logsumexp": lambda x: torch.exp(x - torch.logsumexp(x, dim=-1, keepdim=True)),
    "a logsumexp method": lambda x: torch.exp(x - x.logsumexp(-1, keepdim=True)),
    "torch.special.logsumexp": lambda x: torch.exp(x - torch.special.logsumexp(x, -1, keepdim=True)),
    "logcumsumexp": lambda x: torch.exp(x - x.logcumsumexp(-1)[..., -1:]),
    "gumbel": lambda x: F.gumbel_softmax(x, tau=1.0),
    "sparse": lambda x: torch.sparse.softmax(x.to_sparse(), dim=1).to_dense(),
    "sparse log": lambda x: torch.sparse.log_softmax(x.to_sparse(), dim=1).to_dense().exp(),
    "masked": lambda x: torch._masked_softmax(x, torch.zeros_like(x, dtype=torch.bool), -1, 0),
    "torch.masked": lambda x: torch.masked.softmax(x, -1, mask=torch.ones_like(x, dtype=torch.bool)),
    "scipy's": lambda x: torch.from_numpy(scipy.special.softmax(x.numpy(), axis=-1)),
    "in a thread": lambda x: ThreadPoolExecutor(1).submit(torch.softmax, x, -1).result(),
    "fused attention": lambda x: F.scaled_dot_product_attention(x, torch.eye(4), torch.eye(4), scale=1.0),
}
FUSED = {
    "F.scaled_dot_product_attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "an alias": lambda x, attend=F.scaled_dot_product_attention: attend(x, x, x),
    "fetched by a built name": lambda x: getattr(F, "scaled_dot_" + "product_attention")(x, x, x),
    "its inner function": lambda x: torch.ops.aten._scaled_dot_product_attention_math(x, x, x)[0],
    "in batches": lambda x: F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None]),
    "with a mask": lambda x: F.scaled_dot_product_attention(x, x, x, torch.ones(3, 3, dtype=torch.bool)),
    "of more than it needs": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    "nn.MultiheadAttention": lambda x: nn.MultiheadAttention(4, 2)(x, x, x)[0],
    "nn.MultiheadAttention in eval mode": lambda x: nn.MultiheadAttention(4, 2).eval()(x, x, x)[0],
    "F.multi_head_attention_forward": lambda x: F.multi_head_attention_forward(
        *(x[:, None],) * 3, 4, 2, torch.ones(12, 4), None, None, None, False, 0.0, torch.eye(4), None
    )[0],
    "a transformer layer": lambda x: nn.TransformerEncoderLayer(4, 2, dim_feedforward=8)(x[None]),
    "scripted": scripted("torch._C._nn.scaled_dot_product_attention(x, x, x)"),
    "flex_attention": lambda x: flex_attention(*(x[None, None],) * 3),
}


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


DIFFERENTIATED = {
    "a backward method": by_backward,
    "autograd.grad": by_autograd_grad,
    "autograd.functional.jacobian": lambda x: torch.autograd.functional.jacobian(by_hand, x),
    "autograd.functional.vjp": lambda x: torch.autograd.functional.vjp(by_hand, x, x)[1],
    "func.jacrev": lambda x: torch.func.jacrev(by_hand)(x),
    "func.jacfwd": lambda x: torch.func.jacfwd(by_hand)(x),
    "func.vjp": lambda x: torch.func.vjp(by_hand, x)[1](x)[0],
    "func.jvp": lambda x: torch.func.jvp(by_hand, (x,), (x,))[1],
    "func.grad, vmapped": lambda x: torch.vmap(torch.func.grad(lambda row: by_hand(row).sum()))(x),
    "forward mode": by_dual_numbers,
}
OF_ONES_OWN = {
    "a softmax by hand": by_hand,
    "a helper called softmax": lambda x, softmax=by_hand: softmax(x),
    "row by row": lambda x: torch.stack([by_hand(row) for row in x]),
    "by logarithms": lambda x: torch.exp(x - x.exp().sum(-1, keepdim=True).log()),
    "by einsum": lambda x: torch.einsum("qk,kd->qd", by_hand(torch.einsum("qd,kd->qk", x, x)), x),
    "by bmm": lambda x: torch.bmm(by_hand(torch.bmm(x[None], x[None].mT)), x[None])[0],
    "a layer": lambda x: nn.Linear(4, 2)(x),
    "a normalisation": lambda x: F.normalize(x.exp(), p=1, dim=-1),
    "cumsum": lambda x: x.exp() / x.exp().cumsum(-1)[:, -1:],
    "a mask": lambda x: by_hand(x.masked_fill(torch.ones(3, 4).triu(1).bool(), -math.inf)).nan_to_num(),
    "other non-linear functions": lambda x: torch.sigmoid(x) + x.tanh() + F.relu(x) + F.gelu(x),
    "a Jacobian by formula": lambda x: torch.diag_embed(x) - x[..., None] * x[..., None, :],
    "leaving the graph": lambda x: x.clone().requires_grad_().detach() + x.data,
    "without gradients": torch.no_grad()(by_hand),
}


@pytest.mark.parametrize("answer", READY_MADE.values(), ids=READY_MADE)
def test_a_ready_made_softmax_is_seen(answer):
    assert accused(answer, "softmax")


@pytest.mark.parametrize("answer", FUSED.values(), ids=FUSED)
def test_ready_made_attention_is_seen_as_attention_and_as_a_softmax(answer):
    assert accused(answer, "fused_attention")
    assert accused(answer, "softmax")


@pytest.mark.parametrize("answer", DIFFERENTIATED.values(), ids=DIFFERENTIATED)
def test_automatic_differentiation_is_seen(answer):
    assert accused(answer, "automatic_differentiation")


@pytest.mark.parametrize("answer", OF_ONES_OWN.values(), ids=OF_ONES_OWN)
def test_no_one_is_accused_of_writing_their_own(answer):
    assert not accused(answer, "softmax", "fused_attention", "automatic_differentiation")


@pytest.mark.parametrize("name", [name for name in READY_MADE if name != "fused attention"])
def test_a_softmax_alone_is_neither_attention_nor_differentiation(name):
    assert not accused(READY_MADE[name], "fused_attention", "automatic_differentiation")


def test_comparing_with_torch_before_the_question_accuses_no_one():
    assert torch.allclose(by_hand(torch.ones(3, 4)), torch.softmax(torch.ones(3, 4), -1))
    assert not accused(by_hand, "softmax")
