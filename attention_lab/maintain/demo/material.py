"""What an invented class writes with: for each exercise its stub, its right answers and its mistakes.

A mistake or a right answer of the checks becomes an answer cell under the exercise's name. Its text is moved,
not rewritten, so that it reads as its author wrote it.
"""

from __future__ import annotations

import ast
import inspect
import io
import sys
import textwrap
import tokenize
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from nbformat import NotebookNode

from nbjudge.authoring import Exercise
from nbjudge.course import Assignment, global_names, reached, read_notebook, source_of


@dataclass(frozen=True)
class Material:
    """The texts of answer cells for one exercise.

    The reference may call the student's earlier answers; `right` and `mistakes` are on their own.
    """

    exercise: Exercise
    stub: str
    reference: str
    uses: int  # cells of the notebook that call it
    right: list[str] = field(default_factory=list)
    mistakes: dict[str, str] = field(default_factory=dict)


def material_of(lesson: Assignment, release: NotebookNode) -> dict[str, Material]:
    """The material for every exercise of a lesson, in the order of its notebook."""
    solution = read_notebook(lesson.solution_path)
    references, stubs = answer_cells(solution), answer_cells(release)
    found = {
        name: Material(lesson.exercises[name], stub, references[name], _uses(release, name))
        for name, stub in stubs.items()
        if name in lesson.exercises
    }
    given = _given_names(release)
    for name, material in found.items():
        for answer in material.exercise.accepted_alternatives:
            if cell := cell_of(answer, name, given):
                material.right.append(with_docstring(cell, name, material.stub))
        for mistake in material.exercise.mistakes:
            if cell := cell_of(mistake.answer, name, given):
                material.mistakes[mistake.name] = with_docstring(cell, name, material.stub)
    for name, material in found.items():
        if not names_in(material.reference) & (found.keys() - {name}):
            material.right.append(material.reference)
    return found


def with_docstring(cell: str, name: str, stub: str) -> str:
    """The answer with the docstring that its author found in the stub and had no reason to delete."""
    docstring = definition(stub, name).body[0]
    first = definition(cell, name).body[0]
    is_docstring = isinstance(docstring, ast.Expr) and isinstance(docstring.value, ast.Constant)
    lines = cell.splitlines()
    starts = min([first.lineno, *(node.lineno for node in getattr(first, "decorator_list", []))]) - 1
    shares_a_line = lines[first.lineno - 1][: first.col_offset].strip() != ""
    if not is_docstring or shares_a_line:
        return cell
    given = stub.splitlines()[docstring.lineno - 1 : docstring.end_lineno]
    return "\n".join([*lines[:starts], *given, *lines[starts:]])


def definition(code: str, name: str) -> ast.FunctionDef | ast.ClassDef:
    """The last definition of a function or class of that name; raises ValueError if there is none."""
    for statement in reversed(ast.parse(code).body):
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)) and statement.name == name:
            return statement
    raise ValueError(f"The code defines no {name}.")


def answer_cells(notebook: NotebookNode) -> dict[str, str]:
    """The code cells that students write, by their id for nbgrader."""
    return {
        cell.metadata.nbgrader["grade_id"]: cell.source
        for cell in notebook.cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution")
    }


def _uses(release: NotebookNode, name: str) -> int:
    return sum(cell.cell_type == "code" and f"{name}(" in cell.source for cell in release.cells)


def _given_names(release: NotebookNode) -> frozenset[str]:
    """Return what the set-up cell imports."""
    return frozenset(
        alias.asname or alias.name.partition(".")[0]
        for cell in release.cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade_id") == "setup"
        for statement in ast.parse(cell.source).body
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for alias in statement.names
    )


def names_in(source: str) -> set[str]:
    """The names that code reads or binds, without those behind a dot."""
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


HOOKS = {"mistake", "accepted_alternative", "cause"}
OWN = ("checks", "attention_lab.authoring")  # what comes along as text: students have neither


@dataclass(frozen=True)
class _Part:
    """A definition, a constant or an import of the checks, and what its names stand for there."""

    name: str
    text: str
    defines: str = ""  # the name in the text
    scope: Mapping[str, Any] = field(default_factory=dict, compare=False)


def cell_of(answer: Callable[..., Any], exercise: str, given: frozenset[str]) -> str | None:
    """Return an answer of the checks as a cell, under the exercise's name and behind its helpers.

    None for an answer without a text of its own, as a loop makes it; a row of a table has one. `given` holds
    the names that every answer may rely on: those of the lesson's set-up cell.
    """
    plain = inspect.unwrap(answer)
    try:
        whole = _from_a_table(plain, exercise) or _definition(plain, exercise, keeps_docstring=True)
    except (OSError, TypeError):
        return None
    if whole.defines != getattr(plain, "__name__", None):
        return None

    def leads_to(part: _Part) -> Iterator[_Part]:
        for name in sorted((global_names(part.text)[0] & part.scope.keys()) - given - {part.defines}):
            yield _part(name, part.scope)

    parts = reached([whole], leads_to)
    # Two answers may bring helpers of one name from two files: each keeps its own.
    renamed = {part.name: f"{part.name}_for_{exercise}" for part in parts if part.defines}
    renamed[exercise] = exercise
    imports = [part.text for part in parts if not part.defines]
    others = [
        _renamed(part.text, renamed | {part.defines: renamed[part.name]}) for part in parts if part.defines
    ]
    return "\n\n\n".join([*(["\n".join(sorted(imports))] if imports else []), *others])


def _part(name: str, scope: Mapping[str, Any]) -> _Part:
    value = scope[name]
    if isinstance(value, ModuleType):
        return _Part(name, f"import {value.__name__}" + ("" if value.__name__ == name else f" as {name}"))
    plain = inspect.unwrap(value) if callable(value) else value
    if isinstance(plain, (type, FunctionType)):
        if _is_own(plain.__module__):
            return _definition(plain, name)
        return _Part(name, f"from {plain.__module__} import {plain.__name__} as {name}")
    for module in [module for key, module in sys.modules.items() if _is_own(key)]:
        if vars(module).get(name) is value:
            for statement in _parsed(module).body:
                targets = getattr(statement, "targets", [getattr(statement, "target", None)])
                if name in [getattr(target, "id", None) for target in targets]:
                    return _Part(name, ast.unparse(statement), name, vars(module))
    return _Part(name, f"{name} = {value!r}", name)


def _from_a_table(answer: Any, name: str) -> _Part | None:
    """Write out a row of `add_mistakes`, where the answer is one: its change as a definition."""
    module = sys.modules[answer.__module__]
    for call in ast.walk(_parsed(module)):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "add_mistakes":
            row = next((keyword.value for keyword in call.keywords if keyword.arg == answer.__name__), None)
            if isinstance(row, ast.Tuple):
                right = ast.unparse(call.args[1]) if len(call.args) > 1 else ""
                text = _written_out(row.elts[1], answer.__name__, right, vars(module).get(right))
                return text and _Part(name, text, answer.__name__, vars(module))
    return None


def _written_out(change: ast.expr, name: str, right: str, value: Any) -> Any:
    """A change as a definition: a class with other attributes, a function with other keyword arguments."""
    if isinstance(change, ast.Lambda):
        return f"def {name}({ast.unparse(change.args)}):\n    return {ast.unparse(change.body)}"
    if not isinstance(change, ast.Dict):
        return None
    steps = {key.value: step for key, step in zip(change.keys, change.values, strict=True)}  # type: ignore[union-attr]
    if isinstance(value, type):
        lines = [
            _written_out(step, key, "", None)
            if isinstance(step, ast.Lambda)
            else f"{key} = {ast.unparse(step)}"
            for key, step in steps.items()
        ]
        return f"class {name}({right}):\n" + textwrap.indent("\n".join(lines) or "pass", "    ")
    given = [
        parameter for parameter in inspect.signature(value).parameters.values() if parameter.name not in steps
    ]
    own = [
        each.replace(annotation=each.empty)
        for each in given
        if each.kind is each.POSITIONAL_OR_KEYWORD
        and (each.default is each.empty or not callable(each.default))
    ]
    arguments = [each.name for each in own] + [f"{key}={ast.unparse(step)}" for key, step in steps.items()]
    return f"def {name}({', '.join(map(str, own))}):\n    return {right}({', '.join(arguments)})"


@cache
def _parsed(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def _is_own(module: str) -> bool:
    return module.startswith(OWN)


def _definition(thing: Any, name: str, keeps_docstring: bool = False) -> _Part:
    """Take the text of a function or class without decorators of exercises; a helper's docstring goes, too.

    It speaks of the checks and not of an answer.
    """
    source = source_of(thing)
    (node,) = ast.parse(source).body
    if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        raise OSError
    left_out: list[ast.expr | ast.stmt] = [hook for hook in node.decorator_list if _is_hook(hook)]
    if not keeps_docstring and ast.get_docstring(node) is not None:
        left_out.append(node.body[0])
    numbers = {line for part in left_out for line in range(part.lineno, (part.end_lineno or 0) + 1)}
    lines = [line for number, line in enumerate(source.rstrip().splitlines(), 1) if number not in numbers]
    scope = dict(vars(sys.modules[thing.__module__]))
    for function in [thing, *vars(thing).values()] if isinstance(thing, type) else [thing]:
        code = getattr(function, "__code__", None)
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True) if code else ()
        scope |= {free: cell.cell_contents for free, cell in cells if free != "__class__"}
    return _Part(name, "\n".join(lines), node.name, scope)


def _is_hook(decorator: ast.expr) -> bool:
    hook = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(hook, ast.Attribute) and hook.attr in HOOKS


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Replace names, but not in a string, behind a dot or as the keyword of an argument."""
    lines = text.splitlines()
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.string.strip()]
    depth, found = 0, []
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        depth += (token.string in ("(", "[", "{")) - (token.string in (")", "]", "}"))
        is_keyword = depth > 0 and after is not None and after.string == "="
        is_attribute = before is not None and before.string == "."
        if token.type == tokenize.NAME and token.string in names and not is_keyword and not is_attribute:
            found.append(token)
    for token in reversed(found):
        (number, start), (_, end) = token.start, token.end
        line = lines[number - 1]
        lines[number - 1] = line[:start] + names[token.string] + line[end:]
    return "\n".join(lines)
