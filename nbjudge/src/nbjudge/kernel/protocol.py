"""Messages between grader and kernel: requests to call an answer, and the kernel's replies, checked.

A request is packed text and an expression that runs the probe on it; the printed value is the reply. The text
is a part of Jupyter's message, because Python reads a literal of megabytes slowly. The names in the kernel
belong to the student, so the expression uses none of them. The first expression contains the probe and keeps
it in the kernel; later ones run what was kept, if it is still the same. The reply is text in which nothing is
evaluated.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import marshal
import re
import string
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from nbjudge.calls import Call
from nbjudge.probe.watching import WatchedCalls
from nbjudge.values import packing

# The modules of the probe. They are sent as one program, without their imports of each other.
PARTS = ["nbjudge.values.kinds", "nbjudge.values.packing", "nbjudge.values.tables"]
PARTS += ["nbjudge.probe.watching", "nbjudge.probe.respond"]
_OWN_IMPORT = re.compile(r"^from (?:nbjudge[\w.]*|__future__) import (?:\([^)]*\)|[^(\n]+)$", re.MULTILINE)
_SPACE = {"__name__": "nbjudge_respond", "__file__": "<nbjudge>"}
_PACKED = string.ascii_letters.encode() + string.digits.encode() + b"+/= "
NO_PROBE = "'the kernel has no probe'"  # as it is printed
_RUN = (
    "(__import__('builtins').exec(__import__('marshal').loads(program), space), "
    "space['Printed'](space['respond'](__import__('IPython').get_ipython().kernel.get_parent('shell')"
    "['content']['request'], __import__('sys').modules['__main__'].__dict__)))[1]"
)
_KEEP = (
    "(lambda sys, program: (sys.__setattr__('nbjudge_probe', program), program)[1])(__import__('sys'), "
    "__import__('zlib').decompress(__import__('base64').b64decode({sent!r})))"
)
# Student code can reach what is kept, so that it counts only unchanged.
_KEPT = (
    "(lambda built_in, program: program if built_in.type(program) is built_in.bytes and "
    "__import__('hashlib').sha256(program).hexdigest() == {digest!r} else None)"
    "(__import__('builtins'), __import__('sys').__dict__.get('nbjudge_probe'))"
)
LARGEST_REPLY = 64 * 2**20  # characters


def send_along(module: str) -> None:
    """Add a module, by its full name, to the probe, for a library whose values it knows.

    It must import from `nbjudge` as `from … import …`, and no two modules of the probe may define the same
    name.
    """
    if module not in PARTS:
        PARTS.append(module)


def expression(with_probe: bool = True) -> str:
    """Return an expression whose value is the packed reply to the request that came in the same message.

    Without the probe in it, the kernel must have kept that of an earlier request; the value is `NO_PROBE` if
    it has not, or if it has been changed.
    """
    sent, digest = _program(tuple(PARTS))
    program = _KEEP.format(sent=sent) if with_probe else _KEPT.format(digest=digest)
    return f"(lambda program, space: {NO_PROBE} if program is None else {_RUN})({program}, {_SPACE!r})"


def request(name: str, calls: list[Call], watched_calls: WatchedCalls) -> str:
    """Return the packed request for these calls (`nbjudge.calls.calls_for`) of the answer of this name."""
    return packing.pack({"target": name, "calls": calls, "watched_calls": watched_calls})


def program() -> str:
    """Return the source text of the probe, whose `respond` answers requests."""
    return _source(tuple(PARTS))


def read_printed(printed: str) -> Any:
    """Return the reply in the printed value of a request. Raises ValueError for anything else."""
    if len(printed) > LARGEST_REPLY:
        raise ValueError("more than is read")
    text = printed[1:-1].encode()
    if printed != f"'{printed[1:-1]}'" or text.translate(None, _PACKED):
        raise ValueError("not of the agreed form")
    return packing.unpack(text)


@lru_cache(maxsize=4)
def _program(parts: tuple[str, ...]) -> tuple[str, str]:
    """The probe as it is sent, and its digest: compiled, because compiling takes longer than most answers."""
    program = marshal.dumps(compile(_source(parts), "<nbjudge>", "exec", dont_inherit=True))
    sent = base64.b64encode(zlib.compress(program, 9)).decode()
    return sent, hashlib.sha256(program).hexdigest()


@lru_cache(maxsize=4)
def _source(parts: tuple[str, ...]) -> str:
    files = (Path(str(importlib.import_module(part).__file__)) for part in parts)
    text = "".join(_OWN_IMPORT.sub("", file.read_text("utf-8")) for file in files)
    return f"from __future__ import annotations\n{text}"
