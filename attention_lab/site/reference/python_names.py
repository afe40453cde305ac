"""Which Python names the reference shows: those of `nbjudge.authoring`, and those that lessons import.

What stands under a name is its docstring: Sphinx's autodoc writes it there.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterable, Sequence

from attention_lab.site.pages import release_path
from nbjudge.course.course import Lesson, read_notebook

COURSE = "attention_lab"
AUTHORING = "nbjudge.authoring"
# What every file of checks begins with; the other names follow by the alphabet.
FIRST = ("Exercise", "ask", "build", "Draw")
# What stands in signatures by its name, not by what it is made of. Lessons need not import it.
ALIASES = {"Values": "attention_lab.plots.Values", "plots.Values": "attention_lab.plots.Values"}

LONGEST_VALUE = 100  # characters; of a constant


def authoring_names() -> str:
    """All that `nbjudge.authoring` offers, in Markdown."""
    names = importlib.import_module(AUTHORING).__all__
    return _documented(
        AUTHORING, [*(name for name in FIRST if name in names), *sorted(set(names) - set(FIRST))]
    )


def lesson_modules(lessons: Sequence[Lesson]) -> str:
    """A section in Markdown for each module of the course's that lessons import: what they meet there."""
    return "\n".join(
        f"## `{module}`\n\nUsed in {', '.join(_link(lesson) for lesson in names_by_lesson)}.\n"
        + _documented(module, _names_in(module, names_by_lesson.values()))
        for module, names_by_lesson in sorted(_imported(lessons).items())
    )


def _imported(lessons: Iterable[Lesson]) -> dict[str, dict[Lesson, set[str]]]:
    """By module of the course's own and by lesson: the names that the release's cells import."""
    found: dict[str, dict[Lesson, set[str]]] = {}
    for lesson in lessons:
        for cell in read_notebook(release_path(lesson)).cells:
            if cell.cell_type != "code":
                continue
            for node in ast.walk(ast.parse(cell.source)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{COURSE}."):
                    names = found.setdefault(str(node.module), {}).setdefault(lesson, set())
                    names.update(alias.name for alias in node.names)
    return found


def _names_in(module: str, used: Iterable[set[str]]) -> list[str]:
    """What a module says it offers; or else what lessons use of it, and the aliases in its signatures."""
    aliases = {name.rpartition(".")[2] for name in ALIASES.values() if name.rpartition(".")[0] == module}
    return sorted(getattr(importlib.import_module(module), "__all__", aliases.union(*used)), key=str.casefold)


def _documented(module: str, names: Iterable[str]) -> str:
    """The docstring of a module, and an entry for each of these names."""
    entries = "".join(_entry(module, name) for name in names)
    return f"\n```{{eval-rst}}\n.. automodule:: {module}\n{entries}```\n"


def _entry(module: str, name: str) -> str:
    thing = getattr(importlib.import_module(module), name)
    if inspect.isclass(thing):
        return f"\n.. autoclass:: {module}.{name}\n   :members:\n   :member-order: bysource\n"
    if inspect.isroutine(thing):
        return f"\n.. autofunction:: {module}.{name}\n"
    shown = "" if len(repr(thing)) < LONGEST_VALUE else "   :no-value:\n"
    return f"\n.. autodata:: {module}.{name}\n{shown}"


def _link(lesson: Lesson) -> str:
    """To its page; Sphinx puts the title in."""
    return f"[](../{lesson.folder}/{lesson.name}.ipynb)"
