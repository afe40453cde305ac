"""Load what the author of a course writes: notebooks, the code of their cells as Python, and checks.

The code runs in this process, in a folder where it finds its files as in a kernel. A notebook trains and
draws, which takes minutes. Of the notebook with the reference answers only those statements run that a
function or class depends on: the statements that bind a name that it looks up, and so on, in any cell. For a
variable all run, because what one statement draws at random changes what the next one draws.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import hashlib
import importlib.util
import io
import json
import os
import random
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from nbjudge.authoring.exercise import Exercise
from nbjudge.cell_metadata import LEFT_OUT_TAG
from nbjudge.errors import CourseError
from nbjudge.parsing import compiled, global_names, parsed
from nbjudge.plain_text import cell_label
from nbjudge.values.packing import copy_value

if TYPE_CHECKING:
    from nbformat import NotebookNode

# Cell magics whose body is Python that defines names like any other cell.
TRANSPARENT = ("time", "capture", "prun", "debug")
_CELL_MAGIC = re.compile(r"\A\s*%%(\w*)[^\n]*\n?")
_TIMED_LINE = re.compile(r"^([ \t]*)%time[ \t]+", re.MULTILINE)


@dataclass(frozen=True)
class PlainCell:
    """A cell of a notebook, read without the library for notebooks, which takes seconds to load."""

    cell_type: str
    source: str
    marks: Mapping[str, Any]  # nbgrader's
    tags: Collection[str] = ()  # Jupyter's
    position: int = 1  # in the notebook

    @property
    def is_left_out(self) -> bool:
        """Return whether its author has left it out of grading."""
        return LEFT_OUT_TAG in self.tags

    @property
    def name(self) -> str:
        """Its id for nbgrader; empty where it has none."""
        return str(self.marks.get("grade_id", ""))

    @property
    def label(self) -> str:
        """Return what its author finds it by."""
        return cell_label(self.position, self.source)


def read_plain_cells(path: Path) -> list[PlainCell]:
    """The cells of a notebook of the course's own, in any format; raises CourseError if the file is none."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        cells = notebook["cells"] if notebook["nbformat"] == 4 else None
    except (OSError, ValueError, KeyError, TypeError):
        cells = None
    if cells is None:  # an older format, or no notebook at all, which nbformat says best
        cells = read_notebook(path).cells
    try:
        return [_plain_cell(cell, position) for position, cell in enumerate(cells, 1)]
    except (KeyError, TypeError, AttributeError) as error:
        raise CourseError(f"{path} cannot be read as a notebook ({error!r}): restore it.") from error


def _plain_cell(cell: Mapping[str, Any], position: int) -> PlainCell:
    metadata = cell.get("metadata", {})
    return PlainCell(
        cell["cell_type"],
        "".join(cell["source"]),
        metadata.get("nbgrader", {}),
        metadata.get("tags", []),
        position,
    )


def read_notebook(path: Path) -> NotebookNode:
    """A notebook of the course's own; CourseError if it is none."""
    import nbformat  # takes two seconds, which the tutor can do without

    try:
        notebook: NotebookNode = nbformat.read(path, as_version=4)
    except Exception as error:  # a file can fail to be a notebook in many ways
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CourseError(
            f"{path} cannot be read as a notebook ({reason[:200]}): fix it or restore it."
        ) from error
    return notebook


def as_python(source: str) -> str:
    """The code of a cell without IPython's own syntax; what is no Python either way stays as it is.

    `%matplotlib inline`, `!ls` and `help?` become calls of `get_ipython()`, which `kernel_names` provides
    and which do nothing. A cell of another language (`%%bash`) becomes empty.
    """
    try:
        parsed(source)
        return source
    except SyntaxError:
        pass
    magic = _CELL_MAGIC.match(source)
    if magic is not None:
        # The empty line keeps the numbers of the others.
        source = "\n" + source[magic.end() :] if magic.group(1) in TRANSPARENT else ""
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        return TransformerManager().transform_cell(_TIMED_LINE.sub(r"\1", source))
    except SyntaxError:
        return source


def kernel_names() -> dict[str, Any]:
    """Return what cells find defined in a kernel without defining it: here, it shows and does nothing."""
    return {"get_ipython": lambda: _NoShell(), "display": lambda *values, **options: None}


class _NoShell:
    """A shell whose magics do nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **options: None


_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w., \t]+)", re.MULTILINE)
_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import\b", re.MULTILINE)
# What is imported only at first use, and slowly.
_COMES_LATER = {
    "torch": "torch.fx.experimental.symbolic_shapes",  # by the first backward pass, with all of sympy
    "torch.optim": "torch._dynamo",
    "matplotlib": "matplotlib.backends.backend_agg",
}


def imported_modules(code: str) -> set[str]:
    """The modules named by import statements, indented ones included; magics and errors don't matter."""
    found = set(_FROM.findall(code)) - {"__future__"}
    for names in _IMPORT.findall(code):
        found |= {name.split()[0] for name in names.split(",") if name.strip()}
    return found | {later for word, later in _COMES_LATER.items() if word in code}


_alone = threading.RLock()
_folders = set[Path]()  # those that code was imported from


def load_checks(checks: Path) -> list[ModuleType]:
    """The modules of `checks/NAME.py` and of `checks/NAME/`, a package whose files may import each other."""
    name, file = f"checks_{hashlib.sha256(str(checks).encode()).hexdigest()[:12]}", checks.with_suffix(".py")
    for loaded in [other for other in list(sys.modules) if other == name or other.startswith(f"{name}.")]:
        del sys.modules[loaded]
    modules = [_load(file, name)] if file.exists() else []
    if checks.is_dir():
        package = sys.modules.setdefault(name, ModuleType(name))
        package.__path__ = [str(checks)]
        modules += [_load(each, f"{name}.{each.stem}") for each in sorted(checks.glob("*.py"))]
    return modules


def _load(file: Path, name: str) -> ModuleType:
    if name in sys.modules:  # another file of the package has imported it
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise CourseError(f"{file} does not load: {type(error).__name__}: {error}") from error
    return module


def put_in_order(exercise: Exercise) -> None:
    """Have an exercise's mistakes looked for in the order that it gives for its files.

    Raises CourseError where several files hold some and it gives none.
    """
    files = [mistake.file for mistake in exercise.mistakes]
    unlisted = [file for file in dict.fromkeys(files) if file not in exercise.mistakes_from]
    if len(set(files)) > 1 and unlisted:
        found = tuple(dict.fromkeys(files))
        raise CourseError(
            f"The mistakes of `{exercise.name}` are in {', '.join(found)}, and the first that fits is "
            f"named: say in which order they are looked for, mistakes_from={found}."
        )
    places = {file: place for place, file in enumerate(exercise.mistakes_from)}
    ordered = sorted(zip(files, exercise.mistakes, strict=True), key=lambda pair: places.get(pair[0], 0))
    exercise.mistakes[:] = [mistake for _, mistake in ordered]


@contextmanager
def importing_from(folder: Path) -> Iterator[None]:
    """Assignments may bring files of their own, which their set-up cell imports.

    One assignment at a time: where to look is the same for all threads, and a service loads assignments in
    several.
    """
    with _alone:
        _forget_namesakes(folder)
        _folders.add(folder)
        sys.path.insert(0, str(folder))
        try:
            yield
        finally:
            sys.path.remove(str(folder))


def _forget_namesakes(folder: Path) -> None:
    """Drop modules of other folders that have the name of a file in this one, so that it is imported."""
    for file in folder.glob("*.py"):
        loaded = Path(getattr(sys.modules.get(file.stem), "__file__", None) or file)
        if loaded.parent != folder and loaded.parent in _folders:
            del sys.modules[file.stem]


@contextmanager
def in_folder(folder: Path) -> Iterator[None]:
    """Code of the assignment in `folder` runs, and finds its data files and modules as in a kernel.

    A process has one working folder: other threads that load or judge wait, and those that do not must name
    files by their full paths meanwhile.
    """
    with importing_from(folder), chdir(folder):
        yield


@contextmanager
def without_windows() -> Iterator[None]:
    """Nothing is drawn on a screen, and chance is afterwards as it was."""
    state, backend = random.getstate(), os.environ.get("MPLBACKEND")
    os.environ["MPLBACKEND"] = "agg"
    try:
        yield
    finally:
        random.setstate(state)
        os.environ.pop("MPLBACKEND", None)
        if backend is not None:
            os.environ["MPLBACKEND"] = backend


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
        self._cells = read_plain_cells(path)
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
        with in_folder(self._folder):
            try:
                statements = (statement for statement in self._statements if statement in needed)
                return self._run(statements, needed, self._new_names())[name]
            except (_StoppedError, KeyError):
                others = (statement for statement in self._statements if statement.position <= last)
            with without_windows():
                names = self._run_all(name, others, needed, self._new_names())
        if name not in names:
            raise CourseError(NOT_LOADED.format(name=name, reason=self._nothing_defines(name)))
        return names[name]

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
        with importing_from(self._folder), _in_a_copy(self._folder), without_windows():
            random.seed()  # as in a new kernel: what is drawn without a seed differs from run to run
            for answer in sorted(ends, key=ends.__getitem__):
                part = (s for s in self._statements if start <= s.position <= ends[answer])
                self._run_all(answer, part, needed, names)
                try:
                    found[answer] = {name: copy_value(names[name]) for name in wanted[answer]}
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
        return vars(ModuleType(f"reference_{self.path.stem}")) | kernel_names()

    def _run_all(
        self,
        answer: str,
        statements: Iterable[Statement],
        needed: Collection[Statement],
        names: dict[str, Any],
    ) -> dict[str, Any]:
        """Run as `_run` does, in silence; raises CourseError if a statement stops that an answer needs."""
        try:
            with redirect_stdout(io.StringIO()):
                return self._run(
                    (statement for statement in statements if _may_run(statement, needed)), needed, names
                )
        except _StoppedError as stopped:
            reason = self._cause(stopped)
            raise CourseError(NOT_LOADED.format(name=answer, reason=reason)) from stopped.error

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


@contextmanager
def _in_a_copy(folder: Path) -> Iterator[None]:
    """Run in a copy of a folder, as a kernel does: what cells write is not to be in the course."""
    with tempfile.TemporaryDirectory() as copied:
        shutil.copytree(folder, copied, dirs_exist_ok=True)
        with chdir(copied):
            yield


def _may_run(statement: Statement, needed: Collection[Statement]) -> bool:
    """Return whether a statement runs when all do: a test, or a question to the judge, defines no answer."""
    return statement in needed or (CHECK not in statement.reads and not statement.cell.marks.get("grade"))


@dataclass(frozen=True, eq=False)
class Statement:
    """One statement at the top level of a cell, the `position`-th: what it does with the notebook's names.

    It `reads` names, in functions and classes too, and `binds` others. It `changes` the values of some:
    `table["x"] = 1`, `words.append("a")`, `np.random.seed(0)`.
    """

    cell: PlainCell
    position: int
    code: CodeType
    reads: frozenset[str]
    binds: frozenset[str]
    changes: frozenset[str]
    is_import: bool
    imports_all: bool


def statements_of(
    cells: Sequence[PlainCell], file: str
) -> tuple[list[Statement], list[tuple[PlainCell, SyntaxError]]]:
    """The statements of all code cells but those left out of grading, in the notebook's order.

    The cells that no Python could be read from come besides, each with the reason. Tracebacks name the
    `file`.
    """
    statements, unreadable, flags = list[Statement](), list[tuple[PlainCell, SyntaxError]](), 0
    for position, cell in enumerate(cells):
        if cell.cell_type != "code" or cell.is_left_out:
            continue
        try:
            nodes = parsed(as_python(cell.source)).body
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
    bound = {name for statement in statements if statement.position <= until for name in statement.binds}
    modules = {name for statement in statements if statement.is_import for name in statement.binds}
    wanted, needed, before = set(names), set[Statement](), -1
    while before != len(needed):
        before = len(needed)
        for statement in statements:
            if statement not in needed and _is_needed(statement, wanted, bound, modules, until):
                needed.add(statement)
                wanted |= statement.reads
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


def _statement(cell: PlainCell, position: int, node: ast.stmt, code: CodeType) -> Statement:
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
