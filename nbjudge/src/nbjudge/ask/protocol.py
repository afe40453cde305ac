"""How a kernel is asked: one expression that brings all it needs, and one printed value that is read.

The kernel's names are the student's: the expression uses none of them, and what it prints is text
in which nothing is evaluated.
"""

from __future__ import annotations

import base64
import marshal
import re
import zlib
from pathlib import Path
from typing import Any

from nbjudge.ask.program import processes, ready_made, recording, respond, watching
from nbjudge.values import packing

# One program, so the imports of its parts from each other are dropped. It is sent with every question,
# and compiled and packed, because to compile it takes longer than most answers.
_TEXT = "".join(
    re.sub(r"^from nbjudge\..*$", "", Path(str(part.__file__)).read_text(), flags=re.MULTILINE)
    for part in (packing, ready_made, watching, processes, recording, respond)
)
_PROGRAM = marshal.dumps(compile(_TEXT, "<nbjudge>", "exec", dont_inherit=True))
_RESPONDER = base64.b64encode(zlib.compress(_PROGRAM, 9)).decode()
_SPACE = {"__name__": "nbjudge_respond", "__file__": "<nbjudge>"}
_PACKED = re.compile(r"'[A-Za-z0-9+/= ]*'")  # a string as Python prints it, with nothing to evaluate
LARGEST_REPLY = 64 * 2**20  # characters


def question(name: str, calls: list[dict[str, Any]], trace: bool) -> str:
    """The expression whose value is the packed reply of the answer `name` to these calls."""
    request = packing.pack({"target": name, "calls": calls, "trace": trace})
    return (
        "(lambda space: (__import__('builtins').exec(__import__('marshal').loads("
        f"__import__('zlib').decompress(__import__('base64').b64decode({_RESPONDER!r}))), space), "
        f"space['respond']({request!r}, __import__('sys').modules['__main__'].__dict__))[1])"
        f"({_SPACE!r})"
    )


def read_printed(printed: str) -> Any:
    """The reply in the printed form of the expression's value. Raises ValueError for anything else."""
    if len(printed) > LARGEST_REPLY:
        raise ValueError("more than is read")
    if not _PACKED.fullmatch(printed):
        raise ValueError("not of the agreed form")
    return packing.unpack(printed[1:-1])
