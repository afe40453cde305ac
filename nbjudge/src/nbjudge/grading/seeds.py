"""The seed from which the inputs for a submission are drawn, and the secret key behind it."""

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
    """Return the seed of a submission: the same each time that it is graded, and another for other code.

    The seed depends on all submitted code and files that reach the kernel, and on a key that only the course
    has. So students cannot predict the inputs, nor get inputs again that feedback has shown, with other code.

    Parameters
    ----------
    root
        The course's folder, which holds the key; it is made if it does not exist.
    student
        The student's id.
    notebook
        The merged notebook.
    files
        The student's own files, by path.

    Raises
    ------
    CourseError
        If the file of the key is empty.
    """
    digest = hmac.new(_course_key(root), digestmod=hashlib.sha256)
    for part in _parts(student, notebook, files):
        # With its length, so that no two submissions give the same bytes.
        digest.update(len(part).to_bytes(8, "big") + part)
    return int.from_bytes(digest.digest()[:6], "big")


def _parts(student: str, notebook: NotebookNode, files: Mapping[str, bytes]) -> Iterator[bytes]:
    yield os.fsencode(student)
    yield b"%d cells" % len(notebook.cells)
    for cell in notebook.cells:
        yield cell.cell_type.encode()
        yield cell.source.encode("utf-8", "surrogatepass")
    # Sorted: the order in which a disk lists them does not matter.
    for name, content in sorted((os.fsencode(name), content) for name, content in files.items()):
        yield name
        yield content


def _course_key(root: Path) -> bytes:
    """The course's key, made once and kept beside its gradebook."""
    file = root / KEY_FILE
    if not file.exists():
        # Written to another file and then linked: of several graders one wins, and none reads half a key.
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
