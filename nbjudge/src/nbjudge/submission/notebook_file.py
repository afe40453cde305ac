"""A notebook's file as plain data, within bounded memory, whatever it holds.

Outputs are thrown away while it is read. An honest file is large because of them, and a small one can be
made that grows a hundredfold in memory: so the lists and entries in it are counted before.
"""

from __future__ import annotations

import errno
import json
import re
from collections import Counter
from itertools import islice
from typing import Any

from nbjudge.plain_text import plain_line
from nbjudge.submission.folder import LARGEST_NOTEBOOK

MOST_GROUPS = 300_000  # lists and mappings; a cell has about ten
MOST_NAMES = 500_000  # of entries in mappings; a cell has about ten
MOST_MARKS = 6_000_000  # those, texts, and the commas between them: a printed line is two
# A text never fails once it has begun, so that one without an end is gone through once.
MARK = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[{,:]', re.DOTALL)
CONFLICT = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)  # a line that Git puts around what it cannot merge
ARCHIVES = (b"PK\x03\x04", b"\x1f\x8b", b"7z\xbc\xaf\x27\x1c", b"Rar!")  # how they begin
NOT_THE_STUDENTS = (errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
OUT_OF_REACH = (
    "{} was not graded, as it cannot be read ({}): make it readable and run the same command again."
)


class Unreadable(Exception):
    """Completes the sentence "The file NAME ..."."""


class OutOfReachError(Exception):
    """The grader cannot get at what was handed in, in a sentence: that is no student's fault."""


def read_notebook_file(raw: bytes | OSError) -> dict[str, Any]:
    """Parse a notebook's file.

    Parameters
    ----------
    raw
        Its content, or why that could not be read.

    Returns
    -------
    dict
        What the file holds, without outputs.

    Raises
    ------
    Unreadable
        If it is no notebook.
    OutOfReachError
        If the grader could not read it.
    """
    if isinstance(raw, OSError):
        raise _unread(raw) from raw
    if raw.startswith(ARCHIVES):
        raise Unreadable("is not a notebook but an archive: unpack it and hand in the notebook")
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    try:
        text = raw.decode(encoding).strip("\ufeff \r\n\t")
    except UnicodeDecodeError as error:
        raise Unreadable("is not a notebook: it is not text") from error
    if not text:
        raise Unreadable("is empty")
    _refuse_memory_bomb(raw if encoding == "utf-8" else text.encode("utf-8", "surrogatepass"))
    del raw
    content = _parsed(text)
    if not isinstance(content, dict):
        raise Unreadable("is not a notebook: it holds no cells")
    return content


def _unread(error: OSError) -> Exception:
    if error.errno == errno.EFBIG:
        return Unreadable(f"is larger than {LARGEST_NOTEBOOK // 2**20} MiB: clear its outputs and try again")
    if error.errno == errno.ELOOP:
        return Unreadable("is a link, not a file: hand in the notebook itself")
    if error.errno in NOT_THE_STUDENTS:
        return OutOfReachError(f"{error.strerror}")
    return Unreadable(f"cannot be read: {error.strerror}")


def _refuse_memory_bomb(raw: bytes) -> None:
    marks = Counter(raw[found.start()] for found in islice(MARK.finditer(raw), MOST_MARKS + 1))
    groups, names = marks[ord("[")] + marks[ord("{")], marks[ord(":")]
    if marks.total() > MOST_MARKS or groups > MOST_GROUPS or names > MOST_NAMES:
        raise Unreadable("holds more entries than any notebook: clear its outputs and try again")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, object_hook=_without_outputs)
    except json.JSONDecodeError as error:
        if conflict := CONFLICT.search(text):
            line = text.count("\n", 0, conflict.start()) + 1
            raise Unreadable(
                f"holds Git's conflict markers ({conflict.group().strip()!r} in line {line}): resolve the "
                "conflict and hand it in again"
            ) from error
        if text.startswith("<"):
            raise Unreadable(
                "is not a notebook but a web page: download the notebook itself and hand that in"
            ) from error
        # An unterminated string is reported where it starts, anything else where the text ends.
        at_the_end = error.msg.startswith("Unterminated") or error.pos >= len(text) - 1
        if text.startswith("{") and at_the_end:
            raise Unreadable("breaks off in the middle") from error
        raise Unreadable(f"is not a notebook: {plain_line(error.msg)} in line {error.lineno}") from error
    except ValueError as error:
        raise Unreadable("is not a notebook: it holds a number of thousands of digits") from error
    except RecursionError as error:
        raise Unreadable("is not a notebook: it is nested too deeply") from error


def _without_outputs(found: dict[str, Any]) -> dict[str, Any]:
    if "outputs" in found:
        found["outputs"] = []  # older formats cannot be converted without
    return found
