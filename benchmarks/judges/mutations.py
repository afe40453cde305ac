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


def mutations_of(reference: Answer, count: int) -> list[Answer]:
    """Make at most `count` mutations of a reference.

    Parameters
    ----------
    reference
        An answer whose last definition is the exercise; only this definition is changed.
    count
        How many to choose. The operators take turns, and the exercise's name seeds the choice.

    Returns
    -------
    list of Answer
        Answers of kind "mutation", not validated yet: some may be equivalent to the reference.
    """
    module = cst.parse_module(reference.code)
    chance = random.Random(reference.exercise)
    by_operator: dict[str, list[Answer]] = {}
    for operator, code, change in _changes(module, reference.exercise):
        digest = hashlib.sha256(code.encode()).hexdigest()[:8]
        answer = replace(
            reference,
            id=f"{reference.exercise}/mutation/{digest}",
            kind="mutation",
            code=code,
            sentence=change,
        )
        by_operator.setdefault(operator, []).append(answer)
    for answers in by_operator.values():
        chance.shuffle(answers)
    turns = itertools.chain.from_iterable(itertools.zip_longest(*by_operator.values()))
    different = {each.id: each for each in turns if each is not None and each.code != reference.code}
    return list(itertools.islice(different.values(), count))


def _changes(module: cst.Module, name: str) -> Iterator[tuple[str, str, str]]:
    """(operator, code, description) of every mutation of the definition called `name`."""
    definition = next(
        each
        for each in reversed(module.body)
        if isinstance(each, (cst.FunctionDef, cst.ClassDef)) and each.name.value == name
    )
    for node in _nodes(definition):
        for kind, operator in mutation_operators:
            if isinstance(node, kind):
                for changed in operator(node):
                    title = operator.__name__.removeprefix("operator_")
                    yield title, *_result(module, node, changed)
        if isinstance(node, cst.IndentedBlock):
            lines = [each for each in node.body if not isinstance(each, cst.FunctionDef)]
            for line in lines if len(node.body) > 1 else ():
                body = [each for each in node.body if each is not line]
                text = module.code_for_node(line.with_changes(leading_lines=[])).strip()
                if not text.startswith(('"', "'")):
                    changed = module.deep_replace(node, node.with_changes(body=body))
                    yield "dropped_line", changed.code, f"Dropped: {_short(text)}"


def _nodes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all below it that may be mutated."""
    if isinstance(node, NOT_MUTATED):
        return
    yield node
    for child in node.children:
        yield from _nodes(child)


def _result(module: cst.Module, node: cst.CSTNode, changed: cst.CSTNode) -> tuple[str, str]:
    """The mutated code, and what was changed to what."""
    before, after = (_short(module.code_for_node(each)) for each in (node, changed))
    return module.deep_replace(node, changed).code, f"{before} became {after}"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:77]}..."
