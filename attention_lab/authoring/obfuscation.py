"""Functions that an answer is to try, made so that their code does not tell what they do.

The checks are public, and an answer that is asked about a function has its code at hand. So all functions
of a case group share one code, which holds what any of them does; what is done is decided by numbers
that are drawn for each. And the code is rewritten whenever it is drawn: its order, its names, and how
each expression is put. A table of code, from whatever source, fits nothing.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nbjudge.authoring import Draw, MadeInKernel, parsed, parsed_expression

NUMBERS = "n"  # under this name the code finds them
LARGEST_NUMBER = 9_999
NAMES = "abcdefghijklmnopqrstuvwxyz"
PLACE = re.compile(r"^( *)<(\w+)>$", re.MULTILINE)
# Of `first` and `second`, two of the function's numbers, and two more that the code holds.
CONDITIONS = (
    "{first} % {low} > {second} % {high}",
    "{first} * {second} % {high} < {low}",
    "({first} ^ {second}) % {high} > {low}",
    "{low} < ({first} + {second}) % {high}",
)
ODDS_OF_A_WRAPPING = 9  # one expression in so many


class Obfuscation:
    """One code for many functions.

    `template` holds a line `<name>` for each of the `choices`, whose ways may hold such lines, too.
    """

    def __init__(self, draw: Draw, template: str, choices: Mapping[str, Sequence[str]]) -> None:
        self.draw = draw
        self.choices = choices
        self.conditions: list[str] = []
        self._decides: dict[str, list[tuple[int, int]]] = {}  # by choice: (way, the condition for it)
        text = template
        while PLACE.search(text):
            text = PLACE.sub(self._chain, text)
        self.code = self._rewritten(text)

    def draw_function(
        self, chosen: Mapping[str, int], given: Mapping[str, Any] | None = None
    ) -> MadeInKernel:
        """The function that goes these ways; any way where none is chosen."""
        ways = {
            name: chosen.get(name, self.draw.integer(0, len(ways) - 1)) for name, ways in self.choices.items()
        }
        truths = [True] * len(self.conditions)  # those that only make the code longer are always true
        for name, conditions_of_name in self._decides.items():
            for way, condition in conditions_of_name:
                truths[condition] = way == ways[name]
        return MadeInKernel(self.code, {**(given or {}), NUMBERS: self._numbers(truths)})

    def _chain(self, place: re.Match[str]) -> str:
        """All ways of a choice, in an order that is drawn, one behind each condition."""
        indent, name = place.groups()
        order = self.draw.shuffled(range(len(self.choices[name])))
        conditions_of_name = self._decides.setdefault(name, [])
        lines = []
        for position, way in enumerate(order):
            if position < len(order) - 1:
                conditions_of_name.append((way, len(self.conditions)))
                lines.append(f"{'elif' if position else 'if'} {self._condition()}:")
            else:
                lines.append("else:" if position else "if True:")
            lines.append(textwrap.indent(self.choices[name][way].strip("\n"), "    "))
        return textwrap.indent("\n".join(lines), indent)

    def _condition(self) -> str:
        """A new condition, on two numbers that no other one asks for."""
        at = 2 * len(self.conditions)
        low, high = self.draw.integer(11, 40), self.draw.integer(60, 97)
        form = CONDITIONS[self.draw.integer(0, len(CONDITIONS) - 1)]
        pair = self.draw.shuffled((f"{NUMBERS}[{at}]", f"{NUMBERS}[{at + 1}]"))
        self.conditions.append(form.format(first=pair[0], second=pair[1], low=low, high=high))
        return self.conditions[-1]

    def _numbers(self, truths: Sequence[bool]) -> list[int]:
        numbers: list[int] = []
        for condition, truth in zip(self.conditions, truths, strict=True):
            compiled = compile(condition, "<condition>", "eval")
            while True:
                pair = [self.draw.integer(2, LARGEST_NUMBER) for _ in range(2)]
                if bool(eval(compiled, {NUMBERS: [*numbers, *pair]})) is truth:
                    break
            numbers += pair
        return numbers

    def _rewritten(self, text: str) -> str:
        tree = parsed(text)
        nodes = list(ast.walk(tree))
        used = {node.id for node in nodes if isinstance(node, ast.Name)} | {NUMBERS}
        arguments = {node.arg for node in nodes if isinstance(node, ast.arg)}
        bound = {node.id for node in nodes if isinstance(node, ast.Name) and _is_bound(node)}
        own = sorted(bound - arguments - {"made"})
        free = [name for name in NAMES if name not in used - set(own)]
        names = dict(zip(own, self.draw.shuffled(free)[: len(own)], strict=True))
        return ast.unparse(ast.fix_missing_locations(_Rewriting(self, names).visit(tree)))


class _Rewriting(ast.NodeTransformer):
    """Other names, and other ways to put the same expression: not a bit of any result changes."""

    def __init__(self, obfuscation: Obfuscation, names: Mapping[str, str]) -> None:
        self.obfuscation, self.names = obfuscation, names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        renamed = ast.Name(self.names.get(node.id, node.id), node.ctx)
        return renamed if _is_bound(node) else self._wrapped(renamed)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        node = self._inside(node)
        return self._wrapped(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        node = self._inside(node)
        if isinstance(node.op, ast.Mult) and self._coin():
            node.left, node.right = node.right, node.left
        if isinstance(node.op, ast.MatMult) and self._coin():
            matmul = ast.Attribute(node.left, "__matmul__", ast.Load())
            return self._wrapped(ast.Call(matmul, [node.right], []))
        return self._wrapped(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        node = self._inside(node)
        if self._coin():
            return ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        # The conditions that decide are new already, and are counted.
        return node if any(_is_numbers(each) for each in ast.walk(node)) else self._inside(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AugAssign:
        node.target = ast.Name(self.names.get(node.target.id, node.target.id), ast.Store())  # type: ignore[union-attr]
        node.value = self.visit(node.value)
        return node

    def _inside(self, node: Any) -> Any:
        return self.generic_visit(node)

    def _coin(self) -> bool:
        return self.obfuscation.draw.integer(0, 1) == 0

    def _wrapped(self, node: ast.expr) -> ast.expr:
        """Now and then the same behind something that never matters."""
        if self.obfuscation.draw.integer(1, ODDS_OF_A_WRAPPING) > 1:
            return node
        inner, numbers = ast.unparse(node), NUMBERS
        forms: tuple[Callable[[], str], ...] = (
            lambda: f"({inner}, {numbers})[0]",
            lambda: f"[{numbers}, {inner}][1]",
            lambda: f"({inner} if {self.obfuscation._condition()} else {numbers})",
            lambda: f"({inner},)[-1]",
        )
        form = forms[self.obfuscation.draw.integer(0, len(forms) - 1)]
        return parsed_expression(form())


def _is_bound(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _is_numbers(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == NUMBERS
