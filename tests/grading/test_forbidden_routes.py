"""In a real kernel: a ready-made step is seen by whatever route it runs, and so is another process's work."""

from __future__ import annotations

import nbformat
import pytest
import torch
from every_step import STEPS, WATCH
from routes import BEFORE, CLEAN
from routes.elsewhere import ELSEWHERE
from routes.foreign import FOREIGN
from routes.other_steps import NOT_ACCUSED, SEEN
from routes.own import OF_ONES_OWN
from routes.softmax import SOFTMAXES

from attention_lab.authoring import FUSED_ATTENTION, SOFTMAX, Case
from nbjudge.judge.group_result import forbidden_step, unseen_work
from nbjudge.kernel.client import KernelClient, open_kernel
from nbjudge.kernel.process import KernelEnvironment
from nbjudge.kernel.protocol import Answer, calls_for
from nbjudge.settings import Limits

pytestmark = pytest.mark.integration

SCORES = torch.arange(12.0).view(3, 4) / 10
EXPECTED = torch.softmax(SCORES, -1)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    with open_kernel(folder, KernelEnvironment(limits=Limits(cell=60, answer=30, notebook=600))) as kernel:
        run(kernel, BEFORE)
        yield kernel


def run(kernel: KernelClient, code: str) -> None:
    cell = nbformat.v4.new_code_cell(code)
    assert kernel.run_cell(cell) == "done"
    assert not [output for output in cell.outputs if output.output_type == "error"], cell.outputs


def answered(kernel: KernelClient, code: str, *, gradients: bool = False) -> Answer:
    """What comes of a call after the cell has run."""
    run(kernel, code)
    cotangents = [torch.ones(3, 4)] if gradients else None
    reply = kernel.call("answer", calls_for([Case((SCORES,))], [cotangents]), WATCH)
    run(kernel, CLEAN)
    return reply.answers[0]


def cells(table: dict[str, dict[str, str]]) -> list:
    return [
        pytest.param(family, code, id=f"{family}: {name}")
        for family, codes in table.items()
        for name, code in codes.items()
    ]


@pytest.mark.parametrize("code", SOFTMAXES.values(), ids=SOFTMAXES)
def test_a_ready_made_softmax_is_seen_by_whatever_route_it_runs(kernel, code):
    answer = answered(kernel, code, gradients="Later.apply" in code)
    assert forbidden_step([SOFTMAX], answer.ran), answer
    # What a call through ctypes runs cannot be seen, so it is reported as well.
    assert bool(unseen_work([SOFTMAX], answer.ran)) == ("ctypes" in code)


@pytest.mark.parametrize(("family", "code"), cells(SEEN))
def test_the_other_steps_are_seen_by_whatever_route_they_run(kernel, family, code):
    answer = answered(kernel, code)
    assert answer.status == "value", answer
    assert forbidden_step([STEPS[family]], answer.ran)


@pytest.mark.parametrize("code", FOREIGN.values(), ids=FOREIGN)
def test_work_that_ctypes_does_is_seen(kernel, code):
    answer = answered(kernel, code)
    assert answer.status == "value", answer
    assert torch.allclose(answer.value, EXPECTED)
    assert "ctypes" in unseen_work([SOFTMAX], answer.ran)


@pytest.mark.parametrize("code", ELSEWHERE.values(), ids=ELSEWHERE)
def test_work_that_another_process_does_is_seen(kernel, code):
    answer = answered(kernel, code)
    assert answer.status == "value", answer
    assert torch.allclose(answer.value, EXPECTED)
    assert unseen_work([SOFTMAX], answer.ran)


@pytest.mark.parametrize("code", OF_ONES_OWN.values(), ids=OF_ONES_OWN)
def test_no_answer_with_a_step_of_its_own_is_accused(kernel, code):
    answer = answered(kernel, code)
    assert answer.status == "value", answer
    assert torch.allclose(answer.value, EXPECTED)
    assert not forbidden_step([SOFTMAX, FUSED_ATTENTION], answer.ran)
    assert not unseen_work([SOFTMAX], answer.ran)


@pytest.mark.parametrize(("family", "code"), cells(NOT_ACCUSED))
def test_no_answer_that_does_without_a_step_is_accused_of_it(kernel, family, code):
    answer = answered(kernel, code)
    assert answer.status == "value", answer
    assert not forbidden_step([STEPS[family]], answer.ran)
    assert not unseen_work([STEPS[family]], answer.ran)


@pytest.mark.parametrize(
    ("code", "steps"),
    [
        ("answer = by_hand", [*STEPS.values()]),
        ("answer = ready_made", [FUSED_ATTENTION, STEPS["automatic_differentiation"]]),
    ],
    ids=["of one's own", "ready-made, where that is allowed"],
)
def test_what_autograd_runs_for_the_judge_accuses_no_one(kernel, code, steps):
    answer = answered(kernel, code, gradients=True)
    assert answer.status == "value", answer
    assert not forbidden_step(steps, answer.ran)
