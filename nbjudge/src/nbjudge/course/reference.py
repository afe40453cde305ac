"""The reference answers of a notebook, run as the notebook would run, and no more than they need.

A notebook trains and draws, which takes minutes. Here only those statements run that a function or class
depends on: the statements that bind a name that it looks up, and so on, in any cell. For a variable all run,
because what one statement draws at random changes what the next one draws.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import contextlib
import io
import random
import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from nbjudge.course import loading
from nbjudge.errors import CourseError
from nbjudge.parsing import compiled, global_names, parsed
from nbjudge.values.packing import copy_value

NOT_LOADED = "The reference answer `{name}` cannot be loaded: {reason}"
NOT_DEFINED = "no cell of {path} up to the graded one defines `{name}`, which its checks use: fix the name."
STOPS = "{cell} of {path} stops with {error}. {advice}"
CHECK = "check"  # what asks the judge, which asks for the reference
_BUILTINS = frozenset(vars(builtins))
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class _StoppedError(Exception):
    """A statement that the answer needs has stopped with an error."""

    def __init__(self, statement: Statement, error: BaseException) -> None:
        self.statement, self.error = statement, error


class Notebook:
    """A notebook whose answers are references.

    Its cells run in `folder`, which has the data files and modules that they use. `advice` is a sentence
    for errors: what to do after the author has changed a cell.
    """

    def __init__(self, path: Path, folder: Path, advice: str = "") -> None:
        self.path, self._folder, self._advice = path, folder, advice
        self._cells = loading.read_plain_cells(path)
        self._statements, self._unreadable = statements_of(self._cells, str(path))

    def load(self, name: str, called_in: Collection[str] = ()) -> Any:
        """An answer, as it is when the notebook has run as far as the last of the graded cells `called_in`.

        Only the statements run that the answer depends on. If one of them fails, all earlier cells run,
        as they do for a student, because one may have had an effect that no name shows. Raises
        CourseError, which names the cell and the cause, if a cell that it needs fails or no cell defines
        it.
        """
        needed = needed_statements(self._statements, {name}, self._end(called_in))
        last = max((each.position for each in needed), default=len(self._cells))
        with loading.in_folder(self._folder):
            try:
                statements = (each for each in self._statements if each in needed)
                return self._run(statements, needed, self._new_names())[name]
            except (_StoppedError, KeyError):
                others = (s for s in self._statements if s.position <= last and _may_run(s, needed))
            try:
                with loading.without_windows(), contextlib.redirect_stdout(io.StringIO()):
                    return self._run(others, needed, self._new_names())[name]
            except _StoppedError as stopped:
                raise CourseError(
                    NOT_LOADED.format(name=name, reason=self._cause(stopped))
                ) from stopped.error
            except KeyError:
                raise CourseError(NOT_LOADED.format(name=name, reason=self._nothing_defines(name))) from None

    def values(
        self, wanted: Mapping[str, Collection[str]], called_in: Mapping[str, Collection[str]]
    ) -> dict[str, dict[str, Any]]:
        """Copies of the `wanted` names of each variable that is an answer, at the last of its graded cells.

        The notebook runs once, and all its cells up to there run: what they draw, they draw in their
        order. Raises CourseError if a cell that they need fails or no cell defines a name in time.
        """
        ends = {answer: self._end(called_in[answer]) for answer in wanted}
        needed = set[Statement]().union(
            *(needed_statements(self._statements, names, ends[answer]) for answer, names in wanted.items())
        )
        names, found, start = self._new_names(), dict[str, dict[str, Any]](), 0
        with loading.importing_from(self._folder), _in_a_copy(self._folder), loading.without_windows():
            random.seed()  # as in a new kernel: what is drawn without a seed differs from run to run
            for answer in sorted(ends, key=ends.__getitem__):
                part = (s for s in self._statements if start <= s.position <= ends[answer])
                try:
                    with contextlib.redirect_stdout(io.StringIO()):
                        self._run((each for each in part if _may_run(each, needed)), needed, names)
                    found[answer] = {name: copy_value(names[name]) for name in wanted[answer]}
                except _StoppedError as stopped:
                    reason = self._cause(stopped)
                    raise CourseError(NOT_LOADED.format(name=answer, reason=reason)) from stopped.error
                except KeyError as error:
                    reason = NOT_DEFINED.format(name=error.args[0], path=self.path)
                    raise CourseError(NOT_LOADED.format(name=answer, reason=reason)) from None
                start = ends[answer] + 1
        return found

    def _end(self, called_in: Collection[str]) -> int:
        """The position of the last of these graded cells; behind all cells where there is none."""
        graded = [position for position, cell in enumerate(self._cells) if cell.name in called_in]
        return max(graded, default=len(self._cells))

    def _new_names(self) -> dict[str, Any]:
        # Answer cells must know their module's name, or a class defined in one cannot be found again.
        return vars(ModuleType(f"reference_{self.path.stem}")) | loading.kernel_names()

    def _run(
        self, statements: Iterable[Statement], needed: Collection[Statement], names: dict[str, Any]
    ) -> dict[str, Any]:
        """Run statements with these names, which are returned; errors count in needed ones only."""
        for statement in statements:
            try:
                exec(statement.code, names)
            except (Exception, SystemExit) as error:
                if statement in needed:
                    raise _StoppedError(statement, error) from error
        return names

    def _cause(self, stopped: _StoppedError) -> str:
        error = stopped.error
        if isinstance(error, ModuleNotFoundError):
            advice = f"Install {error.name!r} where nbjudge runs, or put its file into {self._folder}."
        elif isinstance(error, FileNotFoundError):
            advice = f"Put the file into {self._folder}: cells run in that folder."
        elif isinstance(error, NameError):
            advice = "Define the name in a cell above."
        else:
            advice = "Fix that cell."
        message = f"{type(error).__name__}: {error}"
        advice = f"{advice} {self._advice}".rstrip()
        return STOPS.format(cell=stopped.statement.cell.label, path=self.path, error=message, advice=advice)

    def _nothing_defines(self, name: str) -> str:
        sentence = f"no cell of {self.path} defines it: give the answer cell's function or class that name."
        unreadable = [f"{cell.label}: {error}" for cell, error in self._unreadable]
        if unreadable:
            sentence += f" These cells are no Python: {', '.join(unreadable)}."
        return f"{sentence} {self._advice}".rstrip()


@contextlib.contextmanager
def _in_a_copy(folder: Path) -> Iterator[None]:
    """Run in a copy of a folder, as a kernel does: what cells write is not to be in the course."""
    with tempfile.TemporaryDirectory() as copied:
        shutil.copytree(folder, copied, dirs_exist_ok=True)
        with contextlib.chdir(copied):
            yield


def _may_run(statement: Statement, needed: Collection[Statement]) -> bool:
    """Whether a statement runs when all do: a test, or a question to the judge, defines no answer."""
    return statement in needed or (CHECK not in statement.reads and not statement.cell.marks.get("grade"))


@dataclass(frozen=True, eq=False)
class Statement:
    """One statement at the top level of a cell, the `position`-th: what it does with the notebook's names.

    It `reads` names, in functions and classes too, and `binds` others. It `changes` the values of some:
    `table["x"] = 1`, `words.append("a")`, `np.random.seed(0)`.
    """

    cell: loading.PlainCell
    position: int
    code: CodeType
    reads: frozenset[str]
    binds: frozenset[str]
    changes: frozenset[str]
    is_import: bool
    imports_all: bool


def statements_of(
    cells: Sequence[loading.PlainCell], file: str
) -> tuple[list[Statement], list[tuple[loading.PlainCell, SyntaxError]]]:
    """The statements of all code cells but those left out of grading, in the notebook's order.

    The cells that no Python could be read from come besides, each with the reason. Tracebacks name the
    `file`.
    """
    statements, unreadable, flags = list[Statement](), list[tuple[loading.PlainCell, SyntaxError]](), 0
    for position, cell in enumerate(cells):
        if cell.cell_type != "code" or cell.is_left_out:
            continue
        try:
            nodes = parsed(loading.as_python(cell.source)).body
            for node in nodes:
                flags |= _future_flags(node)  # they hold for all that a kernel runs later
            codes = [compiled(node, f"{file}#{cell.label}", flags) for node in nodes]
        except SyntaxError as error:
            unreadable.append((cell, error))
            continue
        statements += [
            _statement(cell, position, node, code) for node, code in zip(nodes, codes, strict=True)
        ]
    return statements, unreadable


def needed_statements(statements: Sequence[Statement], names: Collection[str], until: int) -> set[Statement]:
    """The statements that the names of answers depend on, directly or through others.

    The answers are called at the cell `until`: what a later cell binds again is not what they see. A name
    that only later cells bind is taken from there.
    """
    bound = {name for each in statements if each.position <= until for name in each.binds}
    modules = {name for each in statements if each.is_import for name in each.binds}
    wanted, needed, before = set(names), set[Statement](), -1
    while before != len(needed):
        before = len(needed)
        for each in statements:
            if each not in needed and _is_needed(each, wanted, bound, modules, until):
                needed.add(each)
                wanted |= each.reads
    return needed


def _is_needed(
    statement: Statement, wanted: set[str], bound: set[str], modules: set[str], until: int
) -> bool:
    is_earlier = statement.position <= until
    if wanted & (statement.binds if is_earlier else statement.binds - bound):
        return True
    changed = statement.changes & wanted if is_earlier else frozenset[str]()
    if changed - modules:
        return True
    # Of a module's functions those that set it up, `np.random.seed(0)`: not all that is drawn or trained.
    if changed and statement.reads <= wanted | _BUILTINS:
        return True
    return statement.imports_all and is_earlier


def _statement(cell: loading.PlainCell, position: int, node: ast.stmt, code: CodeType) -> Statement:
    reads, *binds = global_names(ast.unparse(node))
    is_import = isinstance(node, (ast.Import, ast.ImportFrom))
    imports_all = isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    names = (frozenset(reads), frozenset[str]().union(*binds), frozenset(_changed(node)))
    return Statement(cell, position, code, *names, is_import, imports_all)


def _changed(node: ast.AST) -> Iterator[str]:
    """The names whose values a statement changes without binding them, outside of definitions."""
    if isinstance(node, _DEFINITIONS):
        return
    target: ast.AST | None = None
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        target = node.value.func
    elif isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
        target = node
    if isinstance(target, (ast.Subscript, ast.Attribute)):
        while isinstance(target, (ast.Subscript, ast.Attribute, ast.Call)):
            target = target.func if isinstance(target, ast.Call) else target.value
        if isinstance(target, ast.Name):
            yield target.id
    for child in ast.iter_child_nodes(node):
        yield from _changed(child)


def _future_flags(node: ast.stmt) -> int:
    if not isinstance(node, ast.ImportFrom) or node.module != "__future__":
        return 0
    features = (getattr(__future__, alias.name, None) for alias in node.names)
    return sum(feature.compiler_flag for feature in features if feature is not None)
