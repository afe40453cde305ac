"""From a checks file to an answer cell: the text of a mistake or a right answer, under the exercise's name.

The text is moved, not rewritten, so that it reads as its author wrote it.
"""

from __future__ import annotations

import ast
import copy
import inspect
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator, Mapping
from functools import cached_property

from attention_lab.authoring import vocabulary

Definition = ast.FunctionDef | ast.ClassDef
AUTHORING = "attention_lab.authoring"


class ChecksFile:
    """The source of one file under `checks/`, and the answers that hang on its exercises.

    `given` holds the names that every answer may rely on: those of the lesson's set-up cell. `exercises`
    holds the names of the file's exercises by the variables that hold them.
    """

    def __init__(self, text: str, given: frozenset[str]) -> None:
        self._given = given
        if (
            f"from {AUTHORING} import" in text
        ):  # what an answer uses of it comes along, as the file's own helpers do
            text = f"{_vocabulary()}\n\n{text}"
        self.exercises = _exercises(text)
        text = _without_calls(text, self.exercises)
        self._lines = text.splitlines()
        self._statements = ast.parse(text).body

    def answers(self, role: str) -> Iterator[tuple[str, str, str]]:
        """(exercise, name of the answer, text of its cell) for everything decorated with `role`.

        `role` is "mistake" or "accepted_alternative".
        """
        for statement in self._statements:
            if isinstance(statement, Definition):
                for decorator in statement.decorator_list:
                    exercise, found = self._hangs_on(decorator)
                    if found == role:
                        yield exercise, statement.name, self._cell(statement, exercise)

    def _hangs_on(self, decorator: ast.expr) -> tuple[str, str]:
        """The exercise and the role of `@exercise.role` or `@exercise.role(...)`; empty for any other."""
        hook = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(hook, ast.Attribute) and isinstance(hook.value, ast.Name):
            exercise = self.exercises.get(hook.value.id)
            return (exercise, hook.attr) if exercise else ("", "")
        return "", ""

    def _cell(self, definition: Definition, exercise: str) -> str:
        """The definition under the exercise's name, after the file's own helpers that it uses."""
        needed = self._needed_by(self._undecorated(definition))
        # Two answers may bring helpers of one name from two files: each keeps its own.
        renamed = {
            name: f"{name}_for_{exercise}"
            for statement in needed
            if not isinstance(statement, (ast.Import, ast.ImportFrom))
            for name in _bound_by(statement)
        }
        renamed[definition.name] = exercise
        bare = self._undecorated(definition)
        parts = [self._text(helper, renamed, _docstring_lines(helper)) for helper in needed]
        return "\n\n\n".join([*parts, self._text(bare, renamed)])

    def _undecorated(self, definition: Definition) -> Definition:
        """Without the exercise's decorators; others, such as `torch.no_grad`, belong to the answer."""
        bare = copy.copy(definition)
        bare.decorator_list = [each for each in definition.decorator_list if not self._hangs_on(each)[0]]
        return bare

    @cached_property
    def _helpers(self) -> dict[str, ast.stmt]:
        """What the file binds for itself, by name: no exercise, no case group, nothing of the set-up cell."""
        helpers: dict[str, ast.stmt] = {}
        for statement in self._statements:
            is_group = isinstance(statement, Definition) and any(
                self._hangs_on(decorator)[1] == "group" for decorator in statement.decorator_list
            )
            is_vocabulary = isinstance(statement, ast.ImportFrom) and statement.module == AUTHORING
            if not is_group and not is_vocabulary:
                bare = self._undecorated(statement) if isinstance(statement, Definition) else statement
                found = dict.fromkeys(_bound_by(bare), bare)
                # Files that build on each other import the same things: all uses come after the first.
                is_import = isinstance(bare, (ast.Import, ast.ImportFrom))
                helpers = found | helpers if is_import else helpers | found
        return {
            name: statement
            for name, statement in helpers.items()
            if name not in self.exercises and name not in self._given
        }

    def _needed_by(self, definition: ast.stmt) -> list[ast.stmt]:
        """The helpers that a definition uses, and those that they use, in the order of the file."""
        needed: list[ast.stmt] = []
        waiting = [definition]
        while waiting:
            for name in _free_names(waiting.pop()):
                helper = self._helpers.get(name)
                known = helper is None or helper.lineno in [each.lineno for each in (definition, *needed)]
                if helper is not None and not known:
                    needed.append(helper)
                    waiting.append(helper)
        return sorted(needed, key=lambda statement: statement.lineno)

    def _text(self, statement: ast.stmt, renamed: Mapping[str, str], left_out: range = range(0)) -> str:
        """The statement's own lines, with names replaced where the syntax tree has them as names."""
        numbers = [number for number in _line_numbers(statement) if number not in left_out]
        lines = {number: self._lines[number - 1].encode() for number in numbers}
        places = [place for node in ast.walk(statement) for place in self._places(node)]
        for line, column, name in sorted(places, reverse=True):
            before, rest = lines[line][:column], lines[line][column:]
            # Python 3.11 misplaces what is inside an f-string.
            if name in renamed and rest.startswith(name.encode()):
                lines[line] = before + renamed[name].encode() + rest[len(name.encode()) :]
        return "\n".join(line.decode() for line in lines.values())

    def _places(self, node: ast.AST) -> Iterator[tuple[int, int, str]]:
        """(line, column in bytes, name) of a name, or of the name that a definition gives."""
        if isinstance(node, ast.Name):
            yield node.lineno, node.col_offset, node.id
        elif isinstance(node, Definition):
            line = self._lines[node.lineno - 1]
            found = re.search(rf"\b(?:def|class)\s+({re.escape(node.name)})\b", line)
            if found is not None:
                yield node.lineno, len(line[: found.start(1)].encode()), node.name


def _exercises(text: str) -> dict[str, str]:
    """The names of a file's exercises by their variables; a function of the file may make one."""
    statements = ast.parse(text).body
    makers = {
        each.name for each in statements if isinstance(each, ast.FunctionDef) and _calls(each, "Exercise")
    }
    return {
        target.id: str(ast.literal_eval(statement.value.args[0]))
        for statement in statements
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Name)
        and statement.value.func.id in {"Exercise", *makers}
        for target in statement.targets
        if isinstance(target, ast.Name)
    }


def _calls(definition: ast.FunctionDef, name: str) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
        for node in ast.walk(definition)
    )


def _without_calls(text: str, exercises: Mapping[str, str]) -> str:
    """The text with the body of a function in place of each call that hands it an exercise.

    Such a call is `add_mistakes(exercise, cut)`. The arguments must be names; they replace the parameters,
    so that the answers read as if they were written at that place.
    """
    lines = text.splitlines()
    statements = ast.parse(text).body
    functions = {each.name: each for each in statements if isinstance(each, ast.FunctionDef)}
    for statement in reversed(statements):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            continue
        names = [each.id for each in call.args if isinstance(each, ast.Name)]
        function = functions.get(call.func.id)
        if function is not None and len(names) == len(call.args) and exercises.keys() & set(names):
            parameters = [each.arg for each in function.args.args]
            body = _renamed(_body_text(function, text), dict(zip(parameters, names, strict=True)))
            lines[statement.lineno - 1 : statement.end_lineno] = body.splitlines()
    return "\n".join(lines)


def _body_text(function: ast.FunctionDef, text: str) -> str:
    """A function's body without its docstring, as lines of their own."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    numbers = [number for statement in body for number in _line_numbers(statement)]
    return textwrap.dedent("\n".join(text.splitlines()[min(numbers) - 1 : max(numbers)]))


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """The text with other names; a name in a string or after a dot stays."""
    lines = text.splitlines()
    before = None
    found = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME and token.string in names and before != ".":
            found.append(token)
        before = token.string
    for token in reversed(found):
        (number, start), (_, end) = token.start, token.end
        line = lines[number - 1]
        lines[number - 1] = line[:start] + names[token.string] + line[end:]
    return "\n".join(lines)


def _vocabulary() -> str:
    """What checks repeat, without the line that must be the first of a file."""
    return inspect.getsource(vocabulary).replace("from __future__ import annotations\n", "")


def _line_numbers(statement: ast.stmt) -> list[int]:
    """A statement's lines, its remaining decorators first."""
    nodes: list[ast.expr | ast.stmt] = [statement]
    if isinstance(statement, Definition):
        nodes = [*statement.decorator_list, statement]
    return [number for node in nodes for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)]


def _docstring_lines(statement: ast.stmt) -> range:
    """The lines of a helper's docstring, which speaks of the checks and not of an answer."""
    if not isinstance(statement, Definition) or ast.get_docstring(statement) is None:
        return range(0)
    docstring = statement.body[0]
    return range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1)


def _bound_by(statement: ast.stmt) -> list[str]:
    """The names that a statement of a module binds."""
    if isinstance(statement, Definition):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.partition(".")[0] for alias in statement.names]
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return [
            node.id
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ]
    return []


def _free_names(statement: ast.stmt) -> set[str]:
    """The names that a statement reads and neither binds nor takes as arguments."""
    nodes = list(ast.walk(statement))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    own = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    own |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return {node.id for node in names} - own
