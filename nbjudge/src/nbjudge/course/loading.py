"""Load what the author of a course writes: notebooks, the code of their cells as Python, and checks.

The code runs in this process, in a folder where it finds its files as in a kernel.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import random
import re
import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from nbjudge.authoring.exercise import Exercise
from nbjudge.cell_metadata import LEFT_OUT_TAG
from nbjudge.errors import CourseError
from nbjudge.parsing import parsed
from nbjudge.plain_text import cell_label

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
        """Whether its author has left it out of grading."""
        return LEFT_OUT_TAG in self.tags

    @property
    def name(self) -> str:
        """Its id for nbgrader; empty where it has none."""
        return str(self.marks.get("grade_id", ""))

    @property
    def label(self) -> str:
        """What its author finds it by."""
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
    """What cells find defined in a kernel without defining it: here, it shows and does nothing."""
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
    with importing_from(folder), contextlib.chdir(folder):
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
