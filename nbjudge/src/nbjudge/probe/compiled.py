"""Notes that compiled code runs: foreign functions of ctypes, compiled classes, reductions of NumPy's ufuncs.

Part of what runs in the student's kernel, see `nbjudge.kernel.protocol`. Code that is not
called costs nothing.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from nbjudge.probe.watching import WATCHERS, ExchangedCode, Note, WatchedCalls, Watcher, attribute

FOREIGN_CODE = "compiled code by way of ctypes"
# What Python reports, in any thread, before ctypes does it.
FOREIGN_EVENTS = {"ctypes.call_function", "ctypes.dlopen", "ctypes.dlsym", "ctypes.dlsym/handle"}
COMPILERS = "torch._inductor."  # what torch.compile starts or has written takes no part in an answer
_OWN_FILE = sys._getframe().f_code.co_filename
_FOREIGN_FUNCTION: Any = vars(ctypes)["_CFuncPtr"]  # what all classes of foreign functions are made of
_CTYPES = os.path.dirname(ctypes.__file__)
_STANDARD_LIBRARY = os.path.dirname(os.__file__)
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_REPLACE_LOOP = 30  # the place of `PyUFunc_ReplaceLoopBySignature` in NumPy's table of functions for C


def used_by_a_library() -> bool:
    """Whether a library uses ctypes right now, such as one that is being imported.

    To be called by the second function above what uses it.
    """
    frame: FrameType | None = sys._getframe(3)
    while frame is not None and frame.f_code.co_filename.startswith(_CTYPES):
        frame = frame.f_back
    if frame is None:
        return False
    file = frame.f_code.co_filename
    return (
        file.startswith((_STANDARD_LIBRARY, "<frozen importlib", _OWN_FILE))
        or is_installed(file)
        or str(frame.f_globals.get("__name__")).startswith(COMPILERS)
    )


def is_installed(file: str) -> bool:
    """Whether a file of code is one of the installed packages'."""
    return any(packages in file for packages in _PACKAGES)


class ForeignFunctions(Watcher):
    """Calls of ctypes functions, whenever and wherever these were fetched."""

    def __init__(self, note: Note, watched_calls: WatchedCalls) -> None:
        super().__init__(note, watched_calls)
        self._exchanged = ExchangedCode(self._note_students)
        self._classes: list[type] = []

    def start(self) -> None:
        for make in (ctypes.CFUNCTYPE, ctypes.PYFUNCTYPE):  # a class for a function at an address
            self._exchanged.exchange(make, [FOREIGN_CODE])  # type: ignore[arg-type]
        self.begin()

    def begin(self) -> None:
        """Have all classes of foreign functions note calls: ctypes makes one for each library."""
        for class_ in list(_subclasses(_FOREIGN_FUNCTION)):
            if "__call__" not in vars(class_):
                type.__setattr__(class_, "__call__", self._noting_call())
                self._classes.append(class_)

    def stop(self) -> None:
        self._exchanged.give_back()
        while self._classes:
            type.__delattr__(self._classes.pop(), "__call__")

    def _noting_call(self) -> Callable[..., Any]:
        call = _FOREIGN_FUNCTION.__call__

        def noting(function: Any, *arguments: Any, **named: Any) -> Any:
            self._note_students(FOREIGN_CODE)
            return call(function, *arguments, **named)

        return noting

    def _note_students(self, name: str) -> None:
        if not used_by_a_library():
            self.note(name)


def _subclasses(base: Any) -> Iterator[Any]:
    for class_ in type.__subclasses__(base):
        yield class_
        yield from _subclasses(class_)


class CompiledClasses(Watcher):
    """The classes of `watched_calls["compiled"]`, by module. Each of their methods notes that it runs."""

    def __init__(self, note: Note, watched_calls: WatchedCalls) -> None:
        super().__init__(note, watched_calls)
        self._names = watched_calls.get("compiled", {})
        self._methods: list[tuple[type, str, Any]] = []

    def start(self) -> None:
        self.begin()

    def begin(self) -> None:
        for module, names in self._names.items():
            for name in names:
                owner = attribute(sys.modules.get(module), name)
                if isinstance(owner, type) and not any(owner is each for each, _, _ in self._methods):
                    self._exchange(owner, f"{module}.{name}")

    def stop(self) -> None:
        while self._methods:
            owner, name, method = self._methods.pop()
            _set_method(owner, name, method)

    def _exchange(self, owner: type, noted: str) -> None:
        for name, method in list(vars(owner).items()):
            if callable(method) and (name.startswith("__pyx_fuse") or not name.startswith("__")):
                self._methods.append((owner, name, method))
                _set_method(owner, name, _noting_method(method, noted, self.note))


def _noting_method(method: Any, noted: str, note: Note) -> Callable[..., Any]:
    def noting(instance: Any, *arguments: Any, **named: Any) -> Any:
        note(noted)
        return method.__get__(instance, type(instance))(*arguments, **named)

    return noting


def _set_method(owner: type, name: str, method: Any) -> None:
    """Set a method of a class that compiled code has closed."""
    (methods,) = gc.get_referents(vars(owner))
    methods[name] = method
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))


class UfuncReductions(Watcher):
    """The ufuncs of `watched_calls["ufuncs"]`, by module: noted where one reduces or accumulates numbers.

    NumPy lets the loop behind a ufunc be replaced; code that fetched the ufunc earlier runs the new one, too.
    """

    def __init__(self, note: Note, watched_calls: WatchedCalls) -> None:
        super().__init__(note, watched_calls)
        self._names = watched_calls.get("ufuncs", {})
        self._loops: list[tuple[Any, Any, Any]] = []  # ufunc, types, the loop that it had
        self._kept: list[Any] = []  # what NumPy calls must stay

    def start(self) -> None:
        ufuncs = [
            (f"{module}.{name}", ufunc)
            for module, names in self._names.items()
            for name in names
            if (ufunc := attribute(sys.modules.get(module), name)) is not None
        ]
        replace = _replace_loop() if ufuncs else None
        if replace is None:
            return
        for noted, ufunc in ufuncs:
            for signature in ufunc.types:
                characters = signature.replace("->", "")
                if not set(characters) <= set("efdg"):
                    continue
                types = (ctypes.c_int * len(characters))(*map(_type_number, characters))
                before = ctypes.c_void_p()
                loop = _Loop(self._noting_loop(noted, before))
                self._kept.append(loop)
                if replace(ufunc, ctypes.cast(loop, ctypes.c_void_p), types, ctypes.byref(before)) == 0:
                    self._loops.append((ufunc, types, before))

    def stop(self) -> None:
        replace = _replace_loop() if self._loops else None
        while self._loops and replace is not None:
            ufunc, types, before = self._loops.pop()
            replace(ufunc, before, types, None)

    def _noting_loop(self, noted: str, before: Any) -> Callable[..., None]:
        def loop(arguments: int, counts: int, steps: int, data: int) -> None:
            (first, _, result), (step, _, next_step) = (
                (ctypes.c_ssize_t * 3).from_address(each) for each in (arguments, steps)
            )
            # A reduction has its result for an argument; an accumulation, the result before.
            if step == next_step and result - first in (0, step):
                self.note(f"{noted}.reduce")
            _Loop(before.value)(arguments, counts, steps, data)

        return loop


_Loop = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


def _type_number(character: str) -> int:
    return int(sys.modules["numpy"].dtype(character).num)


def _replace_loop() -> Callable[..., int] | None:
    """NumPy's own function that replaces a loop of a ufunc; None where this NumPy shows none."""
    numpy = sys.modules.get("numpy._core._multiarray_umath") or sys.modules.get(
        "numpy.core._multiarray_umath"
    )
    table = attribute(numpy, "_UFUNC_API")
    if table is None:
        return None
    pointer = ctypes.pythonapi["PyCapsule_GetPointer"]  # one of its own, whose types no other code shares
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer(table, None)
    place: Any = ctypes.c_void_p.from_address(address + _REPLACE_LOOP * ctypes.sizeof(ctypes.c_void_p)).value
    kinds = (ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    return ctypes.PYFUNCTYPE(ctypes.c_int, *kinds)(place)


WATCHERS += [CompiledClasses, UfuncReductions]
