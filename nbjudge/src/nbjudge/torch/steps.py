"""Steps that torch computes itself, below every function of Python's."""

from __future__ import annotations

from dataclasses import dataclass, field

from nbjudge.authoring.steps import Names, together
from nbjudge.authoring.steps import Step as PlainStep


@dataclass(frozen=True)
class Step(PlainStep):
    """A step that is not allowed, as functions of Python's and as operators of torch's.

    `operators` holds, for each operator ("aten::_sort"), the dispatch keys under which torch has a
    kernel of its own for it. Every alias, method, module, scripted or compiled form and C++ caller of a
    step ends in one of these.
    """

    operators: Names = field(default_factory=dict)

    def watch(self) -> dict[str, dict[str, tuple[str, ...]]]:
        return together([super().watch(), {"operators": dict(self.operators)}])

    def _own_patterns(self) -> tuple[str, ...]:
        return (*super()._own_patterns(), *self.operators)
