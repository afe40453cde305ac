"""Start this package's own processes sooner: less is imported, and without collecting garbage."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def skip_address_grammar() -> None:
    """Let jsonschema do without the grammar of web addresses, if it has not been imported yet.

    jsonschema, which nbformat imports, compiles the grammar of international web addresses (RFC 3987) if
    the package `rfc3987_syntax` is installed, and JupyterLab installs it. That takes 2.4 s of CPU time in
    each process that reads a notebook, more than nbgrader and torch's core together. No notebook holds such
    an address where its schema asks for one.
    """
    # With None there, an import raises ImportError, which jsonschema takes for "not installed".
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]


@contextmanager
def no_collection() -> Iterator[None]:
    """Collect no garbage in this block, and never look for any among the objects that it leaves.

    Modules stay. While torch and nbgrader are imported, a fifth of the time goes into looking for garbage
    among them, and later every full collection would look there again.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()
