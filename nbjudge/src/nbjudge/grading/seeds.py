"""The seed that a submission's inputs are drawn from, and the key that keeps it from being guessed."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from nbformat import NotebookNode

from nbjudge.errors import CourseError

KEY_FILE = ".grading-key"


def submission_seed(root: Path, student: str, notebook: NotebookNode, files: Mapping[str, bytes]) -> int:
    """Fresh inputs for every submission, and the same again when it is graded again.

    Derived from all that reaches the kernel of what was handed in, the student's own files among it, and
    from a key that only the course has: nobody can predict the inputs, or meet again those that feedback
    has shown with other code.
    """
    digest = hmac.new(_course_key(root), digestmod=hashlib.sha256)
    for part in _parts(student, notebook, files):
        # With its length, so that no two submissions are one stream of bytes.
        digest.update(len(part).to_bytes(8, "big") + part)
    return int.from_bytes(digest.digest()[:6], "big")


def _parts(student: str, notebook: NotebookNode, files: Mapping[str, bytes]) -> Iterator[bytes]:
    yield os.fsencode(student)
    yield b"%d cells" % len(notebook.cells)
    for cell in notebook.cells:
        yield cell.cell_type.encode()
        yield cell.source.encode("utf-8", "surrogatepass")
    # In one order, whatever order a disk lists them in.
    for name, content in sorted((os.fsencode(name), content) for name, content in files.items()):
        yield name
        yield content


def _course_key(root: Path) -> bytes:
    """The course's own key, made once and kept beside its gradebook."""
    file = root / KEY_FILE
    if not file.exists():
        # Written aside and then linked, so that of several graders one wins and none reads half a key.
        draft = root / f"{KEY_FILE}-{secrets.token_hex(8)}"
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
            stream.write(secrets.token_hex(32))
        with suppress(FileExistsError):
            os.link(draft, file)
        draft.unlink()
    key = file.read_bytes()
    if not key:
        raise CourseError(
            f"{file} is empty: put back this course's key, or delete the file to get a new one."
        )
    return key
