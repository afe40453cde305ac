"""Which modules a piece of notebook code imports."""

from __future__ import annotations

import re

_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w., \t]+)", re.MULTILINE)
_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import\b", re.MULTILINE)
# What is imported only at first use, and slowly.
_COMES_LATER = {"torch.optim": "torch._dynamo", "matplotlib": "matplotlib.backends.backend_agg"}


def imported_modules(code: str) -> set[str]:
    """The modules named by import statements, indented ones included; magics and errors don't matter."""
    found = set(_FROM.findall(code)) - {"__future__"}
    for names in _IMPORT.findall(code):
        found |= {name.split()[0] for name in names.split(",") if name.strip()}
    return found | {later for word, later in _COMES_LATER.items() if word in code}
