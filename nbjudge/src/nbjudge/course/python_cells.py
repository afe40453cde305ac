"""The code of notebook cells as Python: magics taken out, names for what a kernel would provide."""

from __future__ import annotations

import re
from typing import Any

from nbjudge.parsing import parsed

# Cell magics whose body is Python that defines names like any other cell.
TRANSPARENT = ("time", "capture", "prun", "debug")
_CELL_MAGIC = re.compile(r"\A\s*%%(\w*)[^\n]*\n?")
_TIMED_LINE = re.compile(r"^([ \t]*)%time[ \t]+", re.MULTILINE)


def as_python(source: str) -> str:
    """The code of a cell without IPython's own syntax.

    Parameters
    ----------
    source : str
        A code cell. `%matplotlib inline`, `!ls` and `help?` become calls of `get_ipython()`, which
        `kernel_names` provides and which do nothing. A cell of another language (`%%bash`) becomes empty.

    Returns
    -------
    str
        Python, or what is no Python either way: its parser says where.
    """
    try:
        parsed(source)
        return source
    except SyntaxError:
        pass
    magic = _CELL_MAGIC.match(source)
    if magic is not None:
        # The empty line keeps the numbers of the others.
        source = "\n" + source[magic.end() :] if magic.group(1) in TRANSPARENT else ""
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        return TransformerManager().transform_cell(_TIMED_LINE.sub(r"\1", source))
    except SyntaxError:
        return source


def kernel_names() -> dict[str, Any]:
    """What cells find defined in a kernel without defining it: here, it shows and does nothing."""
    return {"get_ipython": lambda: _NoShell(), "display": lambda *values, **options: None}


class _NoShell:
    """A shell whose magics do nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **options: None


_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w., \t]+)", re.MULTILINE)
_FROM = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import\b", re.MULTILINE)
# What is imported only at first use, and slowly.
_COMES_LATER = {
    "torch": "torch.fx.experimental.symbolic_shapes",  # by the first backward pass, with all of sympy
    "torch.optim": "torch._dynamo",
    "matplotlib": "matplotlib.backends.backend_agg",
}


def imported_modules(code: str) -> set[str]:
    """The modules named by import statements, indented ones included; magics and errors don't matter."""
    found = set(_FROM.findall(code)) - {"__future__"}
    for names in _IMPORT.findall(code):
        found |= {name.split()[0] for name in names.split(",") if name.strip()}
    return found | {later for word, later in _COMES_LATER.items() if word in code}
