"""Wrong answers that a program makes: mutmut's operators, and dropped lines, applied to the references.

The operators are mutmut's own (`mutmut.mutation.mutators`), so no person chose them to fit our checks.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Iterator
from dataclasses import replace

import libcst as cst
from mutmut.mutation.mutators import mutation_operators

from answers import Answer

# Texts and annotations decide no result; a mutated docstring is the same program.
NOT_MUTATED = (cst.Annotation, cst.Decorator, cst.SimpleString, cst.FormattedString)
Change = tuple[cst.CSTNode, cst.CSTNode, str]  # the node before and after, and the description


def mutations_of(reference: Answer, count: int) -> list[Answer]:
    """Make at most `count` mutations of a reference; some may be equivalent to it.

    Only its last definition, which is the exercise, is changed. The operators take turns, and the exercise's
    name seeds the choice.
    """
    module = cst.parse_module(reference.code)
    chance = random.Random(reference.exercise)
    by_operator: dict[str, list[Change]] = {}
    for operator, *change in _changes(module, reference.exercise):
        by_operator.setdefault(operator, []).append(tuple(change))
    for changes in by_operator.values():
        chance.shuffle(changes)
    different: dict[str, Answer] = {}
    for change in itertools.chain.from_iterable(itertools.zip_longest(*by_operator.values())):
        if len(different) == count:
            break
        if change is not None:  # replacing is slow: only what is chosen is replaced
            before, after, description = change
            code = module.deep_replace(before, after).code
            answer = replace(
                reference,
                id=f"{reference.exercise}/mutation/{hashlib.sha256(code.encode()).hexdigest()[:8]}",
                kind="mutation",
                code=code,
                sentence=description,
            )
            if code != reference.code:
                different.setdefault(answer.id, answer)
    return list(different.values())


def _changes(module: cst.Module, name: str) -> Iterator[tuple[str, cst.CSTNode, cst.CSTNode, str]]:
    """(operator, node before, node after, description) of each change of the definition called `name`."""
    definition = next(
        each
        for each in reversed(module.body)
        if isinstance(each, (cst.FunctionDef, cst.ClassDef)) and each.name.value == name
    )
    for node in _nodes(definition):
        for kind, operator in mutation_operators:
            if isinstance(node, kind):
                for changed in operator(node):
                    before, after = (_short(module.code_for_node(each)) for each in (node, changed))
                    title = operator.__name__.removeprefix("operator_")
                    yield title, node, changed, f"{before} became {after}"
        if isinstance(node, cst.IndentedBlock):
            lines = [each for each in node.body if not isinstance(each, cst.FunctionDef)]
            for line in lines if len(node.body) > 1 else ():
                body = [each for each in node.body if each is not line]
                text = module.code_for_node(line.with_changes(leading_lines=[])).strip()
                if not text.startswith(('"', "'")):
                    yield "dropped_line", node, node.with_changes(body=body), f"Dropped: {_short(text)}"


def _nodes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all below it that may be mutated."""
    if isinstance(node, NOT_MUTATED):
        return
    yield node
    for child in node.children:
        yield from _nodes(child)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:77]}..."
