"""What an author writes for an assignment, as digests: whether it has changed since a notebook was graded."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from nbjudge.course.loading import read_plain_cells
from nbjudge.plain_text import first_few
from nbjudge.submission.files import plain_file_names

LENGTH = 16  # of the hexadecimal digits; no one gains by two that are equal


def material_digests(root: Path, source: Path, checks: Iterable[Path]) -> dict[str, str]:
    """Digests of what the points of a notebook depend on besides the submission, by path in the course.

    That is the source notebook without its outputs, each file of checks, and, under the name of their
    folder, the files beside the notebook.
    """
    cells = [(c.cell_type, c.source, dict(c.marks), list(c.tags)) for c in read_plain_cells(source)]
    contents = {source: json.dumps(cells, sort_keys=True).encode()}
    for path in checks:
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        contents |= {file: file.read_bytes() for file in files}
    extra = b"".join(_parts(source.parent))
    if extra:
        contents[source.parent] = extra
    return {
        os.path.relpath(path, root): hashlib.sha256(content).hexdigest()[:LENGTH]
        for path, content in contents.items()
    }


def changed_sentence(assignment: str, students: int, changed: Collection[str], command: str) -> str:
    """Say that work was graded before its author changed these files, and which command grades it again."""
    were = "1 submission was" if students == 1 else f"{students} submissions were"
    before = f"graded before {first_few(sorted(changed))} changed"
    it = "it" if students == 1 else "them"
    return f"{assignment}: {were} {before}: `{command} {shlex.quote(assignment)} --force` grades {it} again."


def _parts(folder: Path) -> Iterator[bytes]:
    for name in sorted(plain_file_names(folder)):
        yield os.fsencode(name) + hashlib.sha256((folder / name).read_bytes()).digest()
