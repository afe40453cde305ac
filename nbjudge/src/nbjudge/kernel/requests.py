"""How a kernel is asked: one expression that brings all it needs, and one printed value that is read.

The kernel's names are the student's: the expression uses none of them, and what it prints is text
in which nothing is evaluated.
"""

from __future__ import annotations

import base64
import importlib
import marshal
import re
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from nbjudge.probe.watching import Watch
from nbjudge.values import packing

# One program, so the imports of its parts from each other are dropped.
PARTS = ["nbjudge.values.kinds", "nbjudge.values.packing", "nbjudge.values.arrays", "nbjudge.values.tables"]
PARTS += [
    f"nbjudge.probe.{name}"
    for name in (
        "names",
        "chance",
        "handed_in",
        "watching",
        "compiled",
        "processes",
        "recording",
        "building",
        "respond",
    )
]
_OWN_IMPORT = re.compile(r"^from (?:nbjudge[\w.]*|__future__) import (?:\([^)]*\)|[^(\n]+)$", re.MULTILINE)
_SPACE = {"__name__": "nbjudge_respond", "__file__": "<nbjudge>"}
_PACKED = re.compile(r"'[A-Za-z0-9+/= ]*'")  # a string as Python prints it, with nothing to evaluate
LARGEST_REPLY = 64 * 2**20  # characters


def send_along(module: str) -> None:
    """Make a module part of what runs in the kernel, for a library whose values it knows.

    Its imports from `nbjudge` have the form `from … import …`, and its names are its own among all parts.
    """
    if module not in PARTS:
        PARTS.append(module)


def expression(name: str, calls: list[dict[str, Any]], watch: Watch) -> str:
    """The expression whose value is the packed reply of the answer `name` to these calls.

    `watch` holds the names of the steps that are noted where they run meanwhile, see `Step.watch`.
    """
    program, packed = _program(tuple(PARTS)), request(name, calls, watch)
    return (
        "(lambda space: (__import__('builtins').exec(__import__('marshal').loads("
        f"__import__('zlib').decompress(__import__('base64').b64decode({program!r}))), space), "
        f"space['respond']({packed!r}, __import__('sys').modules['__main__'].__dict__))[1])"
        f"({_SPACE!r})"
    )


def request(name: str, calls: list[dict[str, Any]], watch: Watch) -> str:
    """The packed request alone: data, for a kernel that has the program already."""
    return packing.pack({"target": name, "calls": calls, "watch": watch})


def program() -> str:
    """The source text of the program whose `respond` answers requests."""
    return _source(tuple(PARTS))


def read_printed(printed: str) -> Any:
    """The reply in the printed form of the expression's value. Raises ValueError for anything else."""
    if len(printed) > LARGEST_REPLY:
        raise ValueError("more than is read")
    if not _PACKED.fullmatch(printed):
        raise ValueError("not of the agreed form")
    return packing.unpack(printed[1:-1])


@lru_cache(maxsize=4)
def _program(parts: tuple[str, ...]) -> str:
    """What is sent with every question: compiled and packed, for compiling takes longer than most answers."""
    code = compile(_source(parts), "<nbjudge>", "exec", dont_inherit=True)
    return base64.b64encode(zlib.compress(marshal.dumps(code), 9)).decode()


@lru_cache(maxsize=4)
def _source(parts: tuple[str, ...]) -> str:
    files = (Path(str(importlib.import_module(part).__file__)) for part in parts)
    text = "".join(_OWN_IMPORT.sub("", file.read_text("utf-8")) for file in files)
    return f"from __future__ import annotations\n{text}"
