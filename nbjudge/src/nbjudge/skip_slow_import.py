"""Start this package's own processes without the slowest import of all.

jsonschema, which nbformat imports, compiles the grammar of international web addresses (RFC 3987) if
the package `rfc3987_syntax` is installed, and JupyterLab installs it. That takes 2.4 s of CPU time in each
process that reads a notebook, more than nbgrader and torch's core together. No notebook holds such an
address where its schema asks for one.
"""

from __future__ import annotations

import sys


def skip_address_grammar() -> None:
    """Let jsonschema do without the grammar in this process, if it has not been imported yet."""
    # With None there, an import raises ImportError, which jsonschema takes for "not installed".
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
