"""Steps that torch computes itself, below every function of Python's."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import torch

from nbjudge.authoring.steps import Names, merge_watches
from nbjudge.authoring.steps import Step as PlainStep
from nbjudge.torch.watching import CALLED


@dataclass(frozen=True)
class Step(PlainStep):
    """A step that is not allowed, as functions of Python's and as operators of torch's.

    `operators` holds, for each operator ("aten::_sort"), the dispatch keys under which torch has a
    kernel of its own for it. Every alias, method, module, scripted or compiled form and C++ caller of a
    step ends in one of these. `called_operators` holds operators that give the step away where they run
    outside of a backward pass: what autograd computes for the judge is not the student's.
    """

    operators: Names = field(default_factory=dict)
    called_operators: Names = field(default_factory=dict)

    def watch(self) -> dict[str, dict[str, tuple[str, ...]]]:
        own = {"operators": self.operators, "called_operators": self.called_operators}
        return merge_watches([super().watch(), own])

    def _own_patterns(self) -> tuple[str, ...]:
        called = (operator + CALLED for operator in self.called_operators)
        return (*super()._own_patterns(), *self.operators, *called)


# Where a processor computes.
_KEYS = ("CPU", "MkldnnCPU", "SparseCPU", "SparseCsrCPU", "NestedTensorCPU", "QuantizedCPU")


def operators_named(pattern: str) -> dict[str, tuple[str, ...]]:
    """The operators of the installed torch that have a kernel of their own on the CPU, by their names.

    An operator that torch composes of others is left out: the others run, and autograd goes through them.

    Parameters
    ----------
    pattern : str
        A regular expression that is searched for in names such as "aten::_sort.out".

    Returns
    -------
    dict[str, tuple[str, ...]]
        The dispatch keys of each operator, as `Step` takes them.
    """
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    found = {}
    for operator in sorted(torch._C._dispatch_get_all_op_names()):
        if operator.startswith(("aten::", "quantized::")) and re.search(pattern, operator):
            keys = [key for key in _KEYS if has_kernel(operator, key)]
            if "CPU" not in keys and has_kernel(operator, "CompositeExplicitAutograd"):
                keys.insert(0, "CPU")
            if keys:
                found[operator] = tuple(keys)
    return found
