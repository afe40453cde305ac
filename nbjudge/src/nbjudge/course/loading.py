"""How the checks of an assignment are loaded, and the folder in which its code runs."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from nbjudge.authoring.exercise import Exercise
from nbjudge.errors import CourseError

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
