"""Additions to Python files: an answer at the end of a page, and names to an import."""

from __future__ import annotations

import re
from collections.abc import Iterable

MARKERS = re.compile(r"^ *### (BEGIN|END) SOLUTION\n?", re.MULTILINE)
DOCSTRING = re.compile(r'\A(""".*?"""\n)\s*', re.DOTALL)
LEADING_IMPORT = re.compile(r"\Afrom (\S+) import (.+)\n+")
LONGEST_LINE = 110


def with_answer(page: str, answer: str, imports: str = "") -> str:
    """Return the page with one more answer at its end, and what that imports at its top, once."""
    if imports and imports not in page:
        page = DOCSTRING.sub(rf"\g<1>\n{imports}\n\n\n", page, count=1)
    return f"{page.rstrip()}\n\n\n{MARKERS.sub('', answer).rstrip()}\n"


def with_test(tests: str, test: str) -> str:
    """Return the module with one more test at its end, whose import joins the module's own."""
    found = LEADING_IMPORT.match(test)
    if found is not None:
        test = test[found.end() :]
        tests = with_import(tests, found[1], found[2].split(", "))
    return f"{tests.rstrip()}\n\n\n{test.rstrip()}\n"


def with_import(code: str, module: str, names: Iterable[str]) -> str:
    """Return the code with names imported from a module, in one statement.

    Parameters
    ----------
    code
        A module or a set-up cell.
    module, names
        What is imported. If the code does not import from the module yet, the line comes behind the last
        import of a whole module.
    """
    known = re.search(rf"^from {re.escape(module)} import (?:\(([^)]*)\)|(.*))$", code, re.MULTILINE)
    listed = (known[1] or known[2]).replace("\n", " ").split(",") if known else []
    all_names = sorted({name.strip() for name in [*listed, *names]} - {""}, key=str.lower)
    statement = f"from {module} import {', '.join(all_names)}"
    if len(statement) > LONGEST_LINE:
        lines = "".join(f"    {name},\n" for name in all_names)
        statement = f"from {module} import (\n{lines})"
    if known:
        return code[: known.start()] + statement + code[known.end() :]
    imports = list(re.finditer(r"^import .*\n", code, re.MULTILINE))
    place = imports[-1].end() if imports else 0
    return f"{code[:place]}{statement}\n{code[place:]}"
