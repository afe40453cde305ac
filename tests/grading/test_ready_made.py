"""The names of ready-made steps are those of the torch that is installed: a new one needs a new look."""

import importlib
import re

import pytest
import torch
from every_step import FUNCTIONS, OPERATORS

RELATIVES = re.compile(
    r"softmax|logsumexp|logcumsumexp|logaddexp|attention|_sdp_|transformer_encoder_layer|bias_rescale|_make_dual$"
)
# Where a processor computes. What has no kernel here is made of operators that have.
KEYS = ("CPU", "MkldnnCPU", "SparseCPU", "SparseCsrCPU", "NestedTensorCPU", "QuantizedCPU")
FUNCTION_NAMES = [(module, name) for module, names in FUNCTIONS.items() for name in names]


def test_every_relative_that_has_a_kernel_of_its_own_is_watched():
    for operator in torch._C._dispatch_get_all_op_names():
        if RELATIVES.search(operator):
            own = {k for k in KEYS if torch._C._dispatch_has_kernel_for_dispatch_key(operator, k)}
            assert own <= set(OPERATORS.get(operator, ())), operator


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_watched_operator_is_one_of_torchs(operator):
    for key in OPERATORS[operator]:
        assert torch._C._dispatch_has_computed_kernel_for_dispatch_key(operator, key)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("module", "name"), FUNCTION_NAMES)
def test_a_watched_function_exists(module, name):
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    assert callable(found)
