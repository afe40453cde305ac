"""Which Python names the reference shows: those that checks are written with, and those that lessons import.

What is under a name is its docstring: Sphinx's autodoc writes it there.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterable, Sequence

from nbjudge.course.course import Assignment
from nbjudge.course.loading import read_notebook

COURSE = "attention_lab"
AUTHORING = "nbjudge.authoring"
# What is written with besides, by its heading: only what is not one of `nbjudge.authoring`'s own.
OTHER_MODULES = {
    "With torch": "nbjudge.torch",
    "In this course": "attention_lab.authoring",
}
# What every file of checks begins with; the other names follow by the alphabet.
FIRST = ("Exercise", "case", "build", "Draw")
# What is in signatures by its name, not by what it is made of. Lessons need not import it.
ALIASES = {"Values": "attention_lab.plots.Values", "plots.Values": "attention_lab.plots.Values"}

SHARED = re.compile(rf"{COURSE}\.(?!lesson_\d)")  # modules that several lessons import
LONGEST_VALUE = 100  # characters; of a constant


def authoring_names() -> str:
    """All that `nbjudge.authoring` offers and what comes to it, in Markdown."""
    core = importlib.import_module(AUTHORING)
    names = core.__all__
    sections = [
        _documented(AUTHORING, [*(name for name in FIRST if name in names), *sorted(set(names) - set(FIRST))])
    ]
    known = {id(getattr(core, name)) for name in names}
    for heading, module in OTHER_MODULES.items():
        home = importlib.import_module(module)
        own = {name: getattr(home, name) for name in sorted(home.__all__)}
        new = [name for name, thing in own.items() if id(thing) not in known]
        known |= {id(thing) for thing in own.values()}
        sections.append(f"\n## {heading}\n{_documented(module, new)}")
    return "".join(sections)


def lesson_modules(lessons: Sequence[Assignment]) -> str:
    """A section in Markdown for each module of the course's that lessons import: what they meet there."""
    return "\n".join(
        f"## `{module}`\n\nUsed in {', '.join(_link(lesson) for lesson in names_by_lesson)}.\n"
        + _documented(module, _names_in(module, names_by_lesson.values()))
        for module, names_by_lesson in sorted(_imported(lessons).items())
    )


def _imported(lessons: Iterable[Assignment]) -> dict[str, dict[Assignment, set[str]]]:
    """By module of the course's own and by lesson: the names that the release's cells import."""
    found: dict[str, dict[Assignment, set[str]]] = {}
    for lesson in lessons:
        for cell in read_notebook(lesson.release_path).cells:
            if cell.cell_type != "code":
                continue
            for node in ast.walk(ast.parse(cell.source)):
                # A lesson's own modules are beside its page.
                if isinstance(node, ast.ImportFrom) and SHARED.match(f"{node.module}."):
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


def _link(lesson: Assignment) -> str:
    """To its page; Sphinx puts the title in."""
    return f"[](../{lesson.folder}/{lesson.name}.ipynb)"
